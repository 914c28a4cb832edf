"""What every saved pricer has, whatever its policy: its settings, and the slots that were quoted.

A policy's `saved.py` adds the rest: `State`, a SavedPricer with what the policy knows; `state_of(pricer)`;
`policy_of(state)`; and `restore(state, pricer)`, which refuses a state that does not fit. Where states have changed
within a format, `outdated(body)` tells those of before, and `OUTDATED` is what is said of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Literal, Protocol, TypeVar

import msgspec
import numpy as np

from hushprice.demand.families import BUILT_IN
from hushprice.demand.features import FeatureMap, by_name
from hushprice.demand.schema import Schema
from hushprice.errors import InvalidInput
from hushprice.noise import NoiseSource, System, Tape
from hushprice.policies.protocol import Policy
from hushprice.slots import Pending, Slots


class SavablePricer(Protocol):
    """A live pricer, as far as its saved form asks."""

    policy: Any
    demand: Any
    features: FeatureMap
    horizon: int
    schema: Schema | None
    source: NoiseSource
    slots: Slots
    clipped_attributes: int
    engine: Any


AnyPricer = TypeVar("AnyPricer")


class Sensitive(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What holds records or exact sums of them: it is not printed."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(<sensitive>)"

    def __rich_repr__(self) -> list[tuple[str, Any]]:  # msgspec's own lists every field
        return []


class SavedPricer(Sensitive, kw_only=True, forbid_unknown_fields=True, tag_field="engine"):
    """Everything a pricer is, and everything that happened to it; each policy adds its own."""

    horizon: int
    delay: int
    family: Literal["logistic", "gaussian", "poisson"]
    demand: dict[str, float]
    map: str
    contexts: int
    schema: dict[str, Any] | None
    tape: Tape | None  # None: the operating system's noise, which has no state
    key: bytes
    status: bytes  # one byte a quote
    last: int
    waiting: np.ndarray  # phi of the slots that wait to be learned, one a row
    outcomes: np.ndarray  # of these slots; NaN where there is none yet
    clipped: tuple[int, int, int]  # features, demands, attributes
    by_hand: int = 0  # records that the engine learned and no quote was given for


def common(pricer: SavablePricer, clipped: tuple[int, int, int], learned: int) -> dict[str, Any]:
    """The fields of `SavedPricer`, where the engine has learned so many records."""
    slots = pricer.slots
    return {
        "horizon": pricer.horizon,
        "delay": slots.delay,
        "family": pricer.demand.name,
        "demand": asdict(pricer.demand),
        "map": pricer.features.name,
        "contexts": pricer.features.contexts,
        "schema": None if pricer.schema is None else pricer.schema.to_dict(),
        "tape": pricer.source if isinstance(pricer.source, Tape) else None,
        "key": slots.key,
        "status": bytes(slots.status),
        "last": slots.last,
        "waiting": np.array([each.phi for each in slots.pending]).reshape(-1, pricer.features.dimension),
        "outcomes": np.array([np.nan if each.demand is None else each.demand for each in slots.pending]),
        "clipped": clipped,
        "by_hand": learned - slots.learned,
    }


def rebuilt(kind: Callable[..., AnyPricer], state: SavedPricer, policy: Policy, simulation: bool) -> AnyPricer:
    """A pricer with these settings, before anything happened to it."""
    return kind(
        policy=policy,
        demand=msgspec.convert(state.demand, type=BUILT_IN[state.family]),
        features=by_name(state.map, state.contexts),
        horizon=state.horizon,
        schema=None if state.schema is None else Schema.from_dict(state.schema),
        delay=state.delay,
        source=System() if state.tape is None else state.tape,
        simulation=simulation,
    )


def refuse_unsound(sound: dict[str, bool]) -> None:
    """Refuse a state by the first field that does not fit."""
    for field, fits in sound.items():
        if not fits:
            raise InvalidInput(f"the saved {field} does not fit the rest of the pricer")


def is_finite(numbers: np.ndarray, *shape: int) -> bool:
    """Are these numbers, all of them, of that shape?"""
    return numbers.shape == shape and bool(np.isfinite(numbers).all())


def sound_slots(state: SavedPricer, pricer: SavablePricer, learned: int) -> dict[str, bool]:
    """Do the slots fit each other, `learned` records, those learned by hand with them, being learned? By field."""
    waiting = state.outcomes.size
    learned -= state.by_hand
    return {
        "by_hand": state.by_hand >= 0,
        "status": set(state.status) <= set(range(4)) and learned + waiting == min(len(state.status), state.last),
        "last": state.last in (learned, pricer.slots.last),
        "waiting": state.waiting.shape == (waiting, pricer.features.dimension)
        and bool(np.isfinite(state.waiting).all()),
        "outcomes": state.outcomes.shape == (waiting,) and not np.isinf(state.outcomes).any(),
        "key": len(state.key) == len(pricer.slots.key),
        "clipped": min(state.clipped) >= 0,
    }


def restore_slots(state: SavedPricer, pricer: SavablePricer, learned: int) -> None:
    """Take up after `learned` records were learned."""
    slots = pricer.slots
    learned -= state.by_hand
    slots.key, slots.status, slots.last = state.key, bytearray(state.status), state.last
    slots.count, slots.learned = len(state.status), learned
    outcomes = [None if np.isnan(outcome) else float(outcome) for outcome in state.outcomes]
    slots.pending = deque(map(Pending, state.waiting, outcomes))


def plain(value: Any) -> Any:
    """NumPy's arrays and numbers in types MessagePack has."""
    if isinstance(value, np.ndarray):
        return value.shape, value.astype("<f8").tobytes()
    return value.item()


def array(kind: type, value: Any) -> np.ndarray:
    """The array that `plain` took apart."""
    shape, numbers = value
    return np.frombuffer(numbers, dtype="<f8").reshape(shape).astype(np.float64)
