"""The parts of a certificate that every policy's has: what they say, from the facts they follow from."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import importlib.metadata
import math
import platform
from collections.abc import Mapping
from typing import Any

from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand, lowest
from hushprice.errors import InvalidInput
from hushprice.privacy import accountant
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.certificates import canonical
from hushprice.privacy.earlier import loss_in_histories
from hushprice.privacy.ledger import Entry

SOURCE = "exact discrete Gaussian, operating system randomness"  # the one source of noise that is certified


# What no arithmetic can check, and nothing proven depends on: the field, and what it says.
STATED = {
    "mechanism.issued": "when it was issued",
    "mechanism.versions.hushprice": "the version of hushprice that ran",
    "mechanism.versions.numpy": "the version of NumPy",
    "mechanism.versions.opendp": "the version of OpenDP, which draws the noise",
    "mechanism.versions.python": "the version of Python",
    "mechanism.versions.scipy": "the version of SciPy",
}
DELAY = {"parameters.delay": "how many customers late an outcome may come; nothing proven depends on it"}


def versions() -> dict[str, str]:
    """The software whose arithmetic a certificate rests on."""
    libraries = ("hushprice", "numpy", "scipy", "opendp")
    return {"python": platform.python_version(), **{name: _installed(name) for name in libraries}}


@functools.cache
def _installed(library: str) -> str:
    """Its version, read once: to read it takes most of the time that a certificate takes to be checked."""
    return importlib.metadata.version(library)


def mechanism(releasers: Mapping[str, str], issued: datetime.date, versions: Mapping[str, str]) -> dict[str, Any]:
    """What ran, and when and with what this was said."""
    return {
        **releasers,
        "guarantee": "anticipating (epsilon, delta)-differential privacy: prices after a record, about that record",
        "noise_source": {"label": SOURCE, "secure": True},
        "issued": issued.isoformat(),
        "versions": dict(versions),
    }


def constants(demand: Demand) -> dict[str, Any]:
    """What a built-in demand family is known by, and the bounds its records are held to."""
    noise = getattr(demand, "noise", None)
    return {
        "name": demand.name,
        "slope": float(demand.slope),
        "bound": float(demand.bound),
        "lowest": lowest(demand),
        "noise": None if noise is None else float(noise),
    }


def bounded(features: FeatureMap) -> dict[str, Any]:
    """A built-in feature map, and the norm its features are held to."""
    return {"map": features.name, "contexts": int(features.contexts), "largest_norm": 1.0}


def costs(
    allowance: tuple[Entry, ...],
    spent: tuple[Entry, ...],
    claimed: EpsilonDelta,
    adjacency: Adjacency,
    histories: int = 1,
) -> dict[str, dict[str, Any]]:
    """The sections `events` and `result`. A claim that does not cover what one history proves is refused.

    `histories` of one store may hold the same record, after backups were restored: then more is proven than claimed.
    """
    delta = claimed.delta

    def epsilon(entries: tuple[Entry, ...], times: int = 1) -> float:
        return float(accountant.epsilon_of(loss_in_histories(entries, adjacency, times), delta))

    alone, proven, so_far = epsilon(allowance), epsilon(allowance, histories), epsilon(spent, histories)
    if not alone <= claimed.epsilon * (1.0 + canonical.CLOSE):
        raise InvalidInput(f"result.claimed.epsilon is {claimed.epsilon!r}, below what is proven, {alone!r}")
    return {
        "events": {"allowance": plain(allowance), "spent": plain(spent)},
        "result": {
            "claimed": {"epsilon": float(claimed.epsilon), "delta": float(delta)},
            "proven": {"epsilon": proven, "delta": float(delta)},
            "spent": {"epsilon": so_far, "delta": float(delta)},
        },
    }


def plain(value: Any) -> Any:
    """Events and what they are made of, as JSON has it: each object says its class."""
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    if isinstance(value, Entry):
        return {"event": plain(value.event), "count": int(value.count)}
    if dataclasses.is_dataclass(value):
        said = {each: getattr(value, each.name) for each in dataclasses.fields(value)}
        return {
            "class": type(value).__name__,
            **{each.name: _typed(own, each) for each, own in said.items() if not (own is None and each.metadata)},
        }
    return None if value == math.inf else value  # a scale of numbers that are left out: JSON has no infinity


def _typed(value: Any, field: dataclasses.Field[Any]) -> Any:
    """The value in the field's own type: 10 and NumPy's 10.0 are 10.0 where a float belongs."""
    kind = {"float": float, "int": int}.get(str(field.type), plain)
    return kind(value)
