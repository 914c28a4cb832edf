"""A pricer on disk: one versioned file, written in one piece or not at all, and no pickle.

One line of text (what it is, the format, a checksum), then MessagePack of `_State` or `NewtonState`. It holds raw
records or exact sums of them, and the key of the quote ids, so it is readable by its owner alone. A pricer with parts
of the user's own (a demand family, a feature map, a releaser, a noise source) cannot be rebuilt from a file, and saving
it is refused rather than half done.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import msgspec
import numpy as np

from hushprice.errors import InvalidInput
from hushprice.live.saved_state import State, array, common, own_parts, plain, rebuilt, restore_slots, sound_slots
from hushprice.policies.newton import saved
from hushprice.policies.newton.saved import NewtonState
from hushprice.policies.paper.pricing.quoter import Quoter
from hushprice.policies.paper.private.covariance import PrivateCov
from hushprice.policies.paper.private.estimate import PrivateMLE
from hushprice.policies.paper.private.exact_covariance import ExactCov
from hushprice.policies.paper.private.learner import Learner
from hushprice.policies.protocol import NEWTON
from hushprice.releases import CovarianceRelease, EstimateRelease

if TYPE_CHECKING:
    from hushprice.live.pricer import Pricer

FORMAT = 5
_HEAD = re.compile(rb"hushprice pricer ([0-9]{1,9}) ([0-9a-f]{64})\n")
AnyPricer = TypeVar("AnyPricer", bound="Pricer")


class _Accepted(msgspec.Struct, forbid_unknown_fields=True):
    """The releases that prices are made of."""

    theta: np.ndarray
    covariance: np.ndarray
    records: int
    version: int


class _State(State, kw_only=True, forbid_unknown_fields=True, tag="framework"):
    """A pricer that runs alg:framework."""

    phi: np.ndarray
    demands: np.ndarray
    covariance: bytes  # the releaser's own; released noise is in it
    estimates_left: int
    indefinite: int
    accepted: _Accepted | None


def save(pricer: Pricer, path: Path) -> None:
    """Write `pricer` to `path`, replacing what was there only when all of it is on disk."""
    _refuse_foreign_parts(pricer)
    body = msgspec.msgpack.encode(_state(pricer), enc_hook=plain)
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
        return _pricer(kind, msgspec.msgpack.decode(body, type=_State | NewtonState, dec_hook=array), simulation)
    except (msgspec.DecodeError, OverflowError) as problem:
        raise InvalidInput(f"path {str(path)!r} does not describe a pricer: {problem}") from None


def _state(pricer: Pricer) -> _State | NewtonState:
    if pricer.policy.code == NEWTON:
        return saved.state_of(pricer)
    learner: Learner = pricer.learner
    quoter: Quoter = pricer.quoter
    records, release = learner.records, quoter.covariance
    return _State(
        **common(pricer, (records.clipped_features, records.clipped_demands, pricer.clipped_attributes)),
        phi=records.phi[:, : records.count],
        demands=records.demand[: records.count],
        covariance=cast(PrivateCov | ExactCov, learner.covariance).state(),
        estimates_left=learner.estimates_left,
        indefinite=quoter.indefinite,
        accepted=None if release is None else _Accepted(quoter.theta, release.packed, release.records, quoter.version),
    )


def _pricer(kind: type[AnyPricer], state: _State | NewtonState, simulation: bool) -> AnyPricer:
    pricer = rebuilt(kind, state, simulation)
    if (pricer.policy.code == NEWTON) != isinstance(state, NewtonState):
        raise InvalidInput(f"the saved policy {pricer.policy.name!r} does not fit the rest of the pricer")
    if isinstance(state, NewtonState):
        saved.restore(state, pricer)
        return pricer
    _check(state, pricer)
    learner: Learner = pricer.learner
    quoter: Quoter = pricer.quoter
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
    restore_slots(state, pricer, state.demands.size)
    return pricer


def _check(state: _State, pricer: Pricer) -> None:
    """What types cannot say. A file that fails this was written by something else than `save`."""
    learned = state.demands.size
    spent = pricer.learner.estimates_left - state.estimates_left
    sound = {
        **sound_slots(state, pricer, learned),
        "estimates_left": 0 <= state.estimates_left <= pricer.learner.estimates_left,
        "accepted": state.accepted is None or _sound(state.accepted, learned, spent),
        "indefinite": state.indefinite >= 0,
    }
    for field, fits in sound.items():
        if not fits:
            raise InvalidInput(f"the saved {field} does not fit the rest of the pricer")


def _sound(accepted: _Accepted, learned: int, spent: int) -> bool:
    """Prices come from estimates that were paid for, and from records that were learned."""
    return 1 <= accepted.version <= spent and 1 <= accepted.records <= learned


def _refuse_foreign_parts(pricer: Pricer) -> None:
    own = own_parts(pricer)
    if pricer.policy.code == NEWTON:
        own |= saved.own_parts(pricer)
    else:
        own["covariance"] = type(pricer.learner.covariance) in (PrivateCov, ExactCov)
        own["estimates"] = type(pricer.learner.estimates) is PrivateMLE
    for part, known in own.items():
        if not known:
            raise InvalidInput(f"{part} is not one of hushprice's own, so the pricer cannot be saved to a file")


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
