"""A pricer on disk: one versioned file, written in one piece or not at all, and no pickle.

One line of text (what it is, the format, a checksum), then MessagePack of `_State`. It holds raw records and the key of
the quote ids, so it is readable by its owner alone. A pricer with parts of the user's own (a demand family, a feature
map, a releaser, a noise source) cannot be rebuilt from a file, and saving it is refused rather than half done.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import tempfile
from collections import deque
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import msgspec
import numpy as np

from hushprice.demand.families import BUILT_IN
from hushprice.demand.features import MAPS, by_name
from hushprice.demand.schema import Schema
from hushprice.engine.slots import Pending
from hushprice.errors import InvalidInput
from hushprice.policies.protocol import Policy
from hushprice.releasers.covariance import PrivateCov
from hushprice.releasers.estimate import PrivateMLE
from hushprice.releasers.exact import ExactCov
from hushprice.releasers.noise import System, Tape
from hushprice.releases import CovarianceRelease, EstimateRelease

if TYPE_CHECKING:
    from hushprice.engine.pricer import Pricer

FORMAT = 2
_HEAD = re.compile(rb"hushprice pricer ([0-9]{1,9}) ([0-9a-f]{64})\n")
AnyPricer = TypeVar("AnyPricer", bound="Pricer")


class _Accepted(msgspec.Struct, forbid_unknown_fields=True):
    """The releases that prices are made of."""

    theta: np.ndarray
    covariance: np.ndarray
    records: int
    version: int


class _State(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Everything a pricer is, and everything that happened to it."""

    horizon: int
    delay: int
    policy: Policy
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
    phi: np.ndarray
    demands: np.ndarray
    clipped: tuple[int, int, int]  # features, demands, attributes
    covariance: bytes  # the releaser's own; released noise is in it
    estimates_left: int
    indefinite: int
    accepted: _Accepted | None

    def __repr__(self) -> str:
        return "_State(<sensitive>)"

    def __rich_repr__(self) -> list[tuple[str, Any]]:  # msgspec's own lists every field
        return []


def save(pricer: Pricer, path: Path) -> None:
    """Write `pricer` to `path`, replacing what was there only when all of it is on disk."""
    _refuse_foreign_parts(pricer)
    body = msgspec.msgpack.encode(_state(pricer), enc_hook=_plain)
    head = f"hushprice pricer {FORMAT} {hashlib.sha256(body).hexdigest()}\n"
    try:
        _write(path, head.encode() + body)
    except (OSError, ValueError) as problem:
        raise InvalidInput(f"path {str(path)!r} cannot be written: {problem}") from None


def load(kind: type[AnyPricer], path: Path, *, simulation: bool) -> AnyPricer:
    """The pricer that `save` wrote."""
    try:
        with open(path, "rb") as file:
            head, body = file.readline(100), file.read()
    except (OSError, ValueError) as problem:
        raise InvalidInput(f"path {str(path)!r} cannot be read: {problem}") from None
    found = _HEAD.fullmatch(head)
    if found is None:
        raise InvalidInput(f"path {str(path)!r} is not a saved pricer")
    if int(found[1]) != FORMAT:
        raise InvalidInput(f"path {str(path)!r} has format {int(found[1])}; this version reads format {FORMAT}")
    if hashlib.sha256(body).hexdigest().encode() != found[2]:
        raise InvalidInput(f"path {str(path)!r} is damaged: its checksum does not match")
    try:
        return _pricer(kind, msgspec.msgpack.decode(body, type=_State, dec_hook=_array), simulation)
    except (msgspec.DecodeError, OverflowError) as problem:
        raise InvalidInput(f"path {str(path)!r} does not describe a pricer: {problem}") from None


def _state(pricer: Pricer) -> _State:
    learner, quoter, slots = pricer.learner, pricer.quoter, pricer.slots
    records, release = learner.records, quoter.covariance
    return _State(
        horizon=pricer.horizon,
        delay=slots.delay,
        policy=pricer.policy,
        family=pricer.demand.name,  # type: ignore[arg-type]  # one of ours, as checked before
        demand=asdict(pricer.demand),  # type: ignore[call-overload]
        map=pricer.features.name,
        contexts=pricer.features.contexts,
        schema=None if pricer.schema is None else pricer.schema.to_dict(),
        tape=pricer.source if isinstance(pricer.source, Tape) else None,
        key=slots.key,
        status=bytes(slots.status),
        last=slots.last,
        waiting=np.array([each.phi for each in slots.pending]).reshape(-1, pricer.features.dimension),
        outcomes=np.array([np.nan if each.demand is None else each.demand for each in slots.pending]),
        phi=records.phi[:, : records.count],
        demands=records.demand[: records.count],
        clipped=(records.clipped_features, records.clipped_demands, pricer.clipped_attributes),
        covariance=cast(PrivateCov | ExactCov, learner.covariance).state(),
        estimates_left=learner.estimates_left,
        indefinite=quoter.indefinite,
        accepted=None if release is None else _Accepted(quoter.theta, release.packed, release.records, quoter.version),
    )


def _pricer(kind: type[AnyPricer], state: _State, simulation: bool) -> AnyPricer:
    pricer = kind(
        policy=state.policy,
        demand=msgspec.convert(state.demand, type=BUILT_IN[state.family]),
        features=by_name(state.map, state.contexts),
        horizon=state.horizon,
        schema=None if state.schema is None else Schema.from_dict(state.schema),
        delay=state.delay,
        source=System() if state.tape is None else state.tape,
        simulation=simulation,
    )
    _check(state, pricer)
    learner, quoter, slots = pricer.learner, pricer.quoter, pricer.slots
    learner.records.restore(state.phi, state.demands)
    learner.records.clipped_features, learner.records.clipped_demands, pricer.clipped_attributes = state.clipped
    cast(PrivateCov | ExactCov, learner.covariance).restore(state.covariance, state.demands.size)
    if state.estimates_left < learner.estimates_left:
        learner.ledger = learner.ledger.spend(learner.estimate_event, learner.estimates_left - state.estimates_left)
    if state.accepted is not None:
        quoter.accept(
            EstimateRelease(state.accepted.theta, learner.estimate_event),
            CovarianceRelease(state.accepted.covariance, state.accepted.records, learner.stream_event),
        )
        quoter.version = state.accepted.version
    quoter.indefinite = state.indefinite
    cast(PrivateMLE, learner.estimates).start = quoter.theta.copy()  # the warm start is the last release
    slots.key, slots.status, slots.last = state.key, bytearray(state.status), state.last
    slots.count, slots.learned = len(state.status), state.demands.size
    outcomes = [None if np.isnan(outcome) else float(outcome) for outcome in state.outcomes]
    slots.pending = deque(map(Pending, state.waiting, outcomes))
    return pricer


def _check(state: _State, pricer: Pricer) -> None:
    """What types cannot say. A file that fails this was written by something else than `save`."""
    learned, waiting = state.demands.size, state.outcomes.size
    spent = pricer.learner.estimates_left - state.estimates_left
    sound = {
        "status": set(state.status) <= set(range(4)) and learned + waiting == min(len(state.status), state.last),
        "last": state.last in (learned, pricer.slots.last),
        "waiting": state.waiting.shape == (waiting, pricer.features.dimension) and np.isfinite(state.waiting).all(),
        "outcomes": state.outcomes.shape == (waiting,) and not np.isinf(state.outcomes).any(),
        "estimates_left": 0 <= state.estimates_left <= pricer.learner.estimates_left,
        "accepted": state.accepted is None or _sound(state.accepted, learned, spent),
        "key": len(state.key) == len(pricer.slots.key),
        "clipped": min(state.clipped) >= 0 and state.indefinite >= 0,
    }
    for field, fits in sound.items():
        if not fits:
            raise InvalidInput(f"the saved {field} does not fit the rest of the pricer")


def _sound(accepted: _Accepted, learned: int, spent: int) -> bool:
    """Prices come from estimates that were paid for, and from records that were learned."""
    return 1 <= accepted.version <= spent and 1 <= accepted.records <= learned


def _refuse_foreign_parts(pricer: Pricer) -> None:
    demand, features = pricer.demand, pricer.features
    own = {
        "demand": type(demand) is BUILT_IN.get(demand.name),
        "features": features.name in MAPS and features == by_name(features.name, features.contexts),
        "source": type(pricer.source) in (System, Tape),
        "covariance": type(pricer.learner.covariance) in (PrivateCov, ExactCov),
        "estimates": type(pricer.learner.estimates) is PrivateMLE,
    }
    for part, known in own.items():
        if not known:
            raise InvalidInput(f"{part} is not one of hushprice's own, so the pricer cannot be saved to a file")


def _plain(value: Any) -> Any:
    """NumPy's arrays and numbers in types MessagePack has."""
    if isinstance(value, np.ndarray):
        return value.shape, value.astype("<f8").tobytes()
    return value.item()


def _array(kind: type, value: Any) -> np.ndarray:
    shape, numbers = value
    return np.frombuffer(numbers, dtype="<f8").reshape(shape).astype(np.float64)


def _write(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # readable by its owner alone
    try:
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
        _sync_folder(path.parent)
    finally:
        Path(name).unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make the replacement last: the old file, back after a power cut, would be stale and spend again."""
    if os.name == "nt":  # opens no folder
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as problem:
        if problem.errno != errno.EINVAL:  # a file system that cannot sync a folder
            raise
    finally:
        os.close(handle)
