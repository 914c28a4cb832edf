"""A pricer on disk: one versioned file, written in one piece or not at all, and no pickle.

A zip of plain arrays (numpy's .npz) with a JSON header. It holds raw records and the key of the quote ids, so it is
readable by its owner alone. A pricer with parts of the user's own (a demand family, a feature map, a releaser, a noise
source) cannot be rebuilt from a file, and saving it is refused rather than half done.
"""

from __future__ import annotations

import os
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np

from hushprice.accounting.budget import EpsilonDelta
from hushprice.accounting.calibration import Noise
from hushprice.accounting.ledger import Entry
from hushprice.demand import families
from hushprice.demand.features import MAPS, by_name
from hushprice.demand.schema import Schema
from hushprice.errors import InvalidInput
from hushprice.policies.protocol import Policy
from hushprice.policies.tuning import Tuning
from hushprice.releasers.covariance import PrivateCov
from hushprice.releasers.estimate import PrivateMLE
from hushprice.releasers.noise import NoiseSource, System, Tape

if TYPE_CHECKING:
    from hushprice.engine.pricer import Pricer

FORMAT = 1
_FAMILIES = {"logistic": families.Logistic, "gaussian": families.Gaussian, "poisson": families.Poisson}
AnyPricer = TypeVar("AnyPricer", bound="Pricer")


def save(pricer: Pricer, path: Path) -> None:
    """Write `pricer` to `path`, replacing what was there only when all of it is on disk."""
    _refuse_foreign_parts(pricer)
    learner, quoter, slots = pricer.learner, pricer.quoter, pricer.slots
    records = learner.records
    assert isinstance(learner.covariance, PrivateCov)
    assert isinstance(learner.estimates, PrivateMLE)
    header = {
        "format": FORMAT,
        "horizon": pricer.horizon,
        "delay": slots.delay,
        "policy": asdict(pricer.policy),
        "demand": {"family": pricer.demand.name, **asdict(pricer.demand)},  # type: ignore[call-overload]
        "features": {"map": pricer.features.name, "contexts": pricer.features.contexts},
        "schema": None if pricer.schema is None else pricer.schema.to_dict(),
        "source": {"seed": pricer.source.seed, "trial": pricer.source.trial} if isinstance(pricer.source, Tape) else None,
        "slots": {"count": slots.count, "key": slots.key.hex()},
        "spent": [entry.count for entry in learner.ledger.spent],
        "estimates_left": learner.estimates_left,
        "records": {
            "count": records.count,
            "clipped_features": records.clipped_features,
            "clipped_demands": records.clipped_demands,
            "clipped_attributes": pricer.clipped_attributes,
        },
        "quoter": {
            "version": quoter.version,
            "indefinite": quoter.indefinite,
            "log_determinant": quoter.log_determinant,
        },
    }
    pending = slots.pending()
    arrays = {
        "header": np.frombuffer(msgspec.json.encode(header), dtype=np.uint8),
        "phi": records.phi[:, : records.count],
        "demand": records.demand[: records.count],
        "theta": quoter.theta,
        "inverse": quoter.inverse,
        "start": learner.estimates.start,
        "status": np.frombuffer(bytes(slots.status), dtype=np.uint8),
        "pending_contexts": np.array([entry[0] for entry in pending]).reshape(len(pending), pricer.features.contexts),
        "pending_prices": np.array([entry[1] for entry in pending], dtype=np.float64),
        "pending_demands": np.array([np.nan if entry[2] is None else entry[2] for entry in pending], dtype=np.float64),
        **{f"tree_{name}": value for name, value in learner.covariance.state().items()},
    }
    _write(path, arrays)


def load(kind: type[AnyPricer], path: Path, *, simulation: bool) -> AnyPricer:
    """The pricer that `save` wrote."""
    header, arrays = _read(path)
    policy, demand = header["policy"], dict(header["demand"])
    source: NoiseSource = System() if header["source"] is None else Tape(**header["source"])
    pricer = kind(
        policy=_policy(policy),
        demand=_FAMILIES[demand.pop("family")](**demand),
        features=by_name(header["features"]["map"], header["features"]["contexts"]),
        horizon=header["horizon"],
        schema=None if header["schema"] is None else Schema.from_dict(header["schema"]),
        delay=header["delay"],
        source=source,
        simulation=simulation,
    )
    learner, quoter, slots = pricer.learner, pricer.quoter, pricer.slots
    count = header["records"]["count"]
    learner.records.restore(arrays["phi"], arrays["demand"])
    learner.records.clipped_features = header["records"]["clipped_features"]
    learner.records.clipped_demands = header["records"]["clipped_demands"]
    pricer.clipped_attributes = header["records"]["clipped_attributes"]
    learner.covariance.restore({"exact": arrays["tree_exact"], "running": arrays["tree_running"]}, count)
    assert isinstance(learner.estimates, PrivateMLE)
    learner.estimates.start = arrays["start"].copy()
    learner.estimates_left = header["estimates_left"]
    # The covariance stream was spent when the learner was made; what the file adds are the estimates.
    for entry, spent in zip(_allowed(pricer), header["spent"], strict=False):
        already = learner.ledger.count(entry.event)
        if spent > already:
            learner.ledger = learner.ledger.spend(entry.event, spent - already)
    quoter.theta = arrays["theta"].copy()
    quoter.inverse = arrays["inverse"].copy()
    quoter.version = header["quoter"]["version"]
    quoter.indefinite = header["quoter"]["indefinite"]
    quoter.log_determinant = header["quoter"]["log_determinant"]
    slots.key = bytes.fromhex(header["slots"]["key"])
    demands = [None if np.isnan(value) else float(value) for value in arrays["pending_demands"]]
    pending = list(zip(arrays["pending_contexts"], map(float, arrays["pending_prices"]), demands, strict=True))
    slots.restore(header["slots"]["count"], arrays["status"].tobytes(), pending)
    return pricer


def _allowed(pricer: Pricer) -> tuple[Entry, ...]:
    return pricer.ledger.allowance


def _policy(stored: dict[str, Any]) -> Policy:
    noise = dict(stored["noise"])
    for pair in (noise, stored):
        pair["claimed"] = None if pair["claimed"] is None else EpsilonDelta(**pair["claimed"])
    proven = None if stored["proven"] is None else EpsilonDelta(**stored["proven"])
    return Policy(**{**stored, "tuning": Tuning(**stored["tuning"]), "noise": Noise(**noise), "proven": proven})


def _refuse_foreign_parts(pricer: Pricer) -> None:
    own = {
        "demand": pricer.demand.name in _FAMILIES and isinstance(pricer.demand, _FAMILIES[pricer.demand.name]),
        "features": pricer.features.name in MAPS,
        "source": isinstance(pricer.source, (System, Tape)),
        "covariance": isinstance(pricer.learner.covariance, PrivateCov),
        "estimates": isinstance(pricer.learner.estimates, PrivateMLE),
    }
    for part, known in own.items():
        if not known:
            raise InvalidInput(f"{part} is not one of hushprice's own, so the pricer cannot be saved to a file")


def _write(path: Path, arrays: dict[str, np.ndarray]) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = msgspec.json.decode(arrays.pop("header").tobytes())
    except OSError as problem:
        raise InvalidInput(f"{str(path)!r} cannot be read: {problem.strerror or problem}") from None
    except (ValueError, KeyError, zipfile.BadZipFile, msgspec.DecodeError, EOFError):
        raise InvalidInput(f"{str(path)!r} is not a saved pricer") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        found = header.get("format") if isinstance(header, dict) else None
        raise InvalidInput(f"{str(path)!r} has format {found!r}; this version reads format {FORMAT}")
    return header, arrays
