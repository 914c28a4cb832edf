"""A pricer of policy noisy-newton on disk: the belief, and the exact sums of the batch at hand. No record is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from hushprice.engine.newton_learner import NewtonLearner
from hushprice.engine.newton_quoter import NewtonQuoter
from hushprice.engine.saved_state import State, common, restore_slots, sound_slots
from hushprice.errors import InvalidInput
from hushprice.numerics.linear import packed_size
from hushprice.releasers.batches import IdealBatch
from hushprice.releasers.exact_batches import ExactBatch
from hushprice.releases import CurvatureRelease, ScoreRelease

if TYPE_CHECKING:
    from hushprice.engine.pricer import Pricer


class _Released(msgspec.Struct, forbid_unknown_fields=True):
    """A release, and the number of records it came after."""

    numbers: np.ndarray
    records: int


class NewtonState(State, kw_only=True, forbid_unknown_fields=True, tag="noisy-newton"):
    """A pricer that runs noisy-newton."""

    learned: int
    batch: bytes  # the releaser's own; released noise is in it
    level: int  # of the batch
    blocks: int  # looked at
    curvature: _Released | None  # the batch's last
    score: _Released | None  # the batch's, where the next one has not begun
    theta: np.ndarray
    precision: np.ndarray
    inverse: np.ndarray
    ready: bool
    version: int
    follows: int  # slots learned before the batch began
    look: int


def state_of(pricer: Pricer) -> NewtonState:
    """All of a pricer."""
    learner: NewtonLearner = pricer.learner
    quoter: NewtonQuoter = pricer.quoter
    curvature, score = learner.last_curvature, learner.last_score
    return NewtonState(
        **common(pricer, (learner.clipped_features, learner.clipped_demands, pricer.clipped_attributes)),
        learned=learner.count,
        batch=learner.batch.state(),
        level=learner.level,
        blocks=learner.blocks,
        curvature=None if curvature is None else _Released(curvature.packed, curvature.records),
        score=None if score is None else _Released(score.score, score.records),
        theta=quoter.theta,
        precision=quoter.precision,
        inverse=quoter.inverse,
        ready=quoter.ready,
        version=quoter.version,
        follows=quoter.batch,
        look=quoter.look,
    )


def restore(state: NewtonState, pricer: Pricer) -> None:
    """Make a pricer that nothing happened to the one that was saved."""
    learner: NewtonLearner = pricer.learner
    quoter: NewtonQuoter = pricer.quoter
    _check(state, pricer)
    quoter.follow(state.follows)
    if not _planned(state, quoter):
        raise InvalidInput("the saved look does not fit the rest of the pricer")
    quoter.look, quoter.ready, quoter.version = state.look, state.ready, state.version
    quoter.theta, quoter.precision, quoter.inverse = state.theta, state.precision, state.inverse
    learner.begin(state.level)
    learner.batch.restore(state.batch, state.level)
    learner.count, learner.blocks = state.learned, state.blocks
    learner.clipped_features, learner.clipped_demands, pricer.clipped_attributes = state.clipped
    if state.curvature is not None:
        learner.last_curvature = CurvatureRelease(state.curvature.numbers, state.curvature.records, learner.event)
    if state.score is not None:
        learner.last_score = ScoreRelease(state.score.numbers, state.score.records, learner.event)
    restore_slots(state, pricer, state.learned)


def own_parts(pricer: Pricer) -> dict[str, bool]:
    """Which parts are hushprice's own, by name."""
    return {"batch": type(pricer.learner.batch) in (IdealBatch, ExactBatch)}


def _check(state: NewtonState, pricer: Pricer) -> None:
    """What types cannot say. A file that fails this was written by something else than `save`."""
    assert pricer.policy.newton is not None  # as checked before
    d, learned = pricer.features.dimension, state.learned
    sound = {
        "learned": learned >= 0,
        **sound_slots(state, pricer, learned),
        "level": 0 <= state.level <= pricer.policy.newton.noise.levels,
        "follows": 0 <= state.follows <= learned and (state.follows == 0) == (state.version == 0),
        "version": 0 <= state.version <= learned,
        "theta": _finite(state.theta, (d,)) and float(state.theta @ state.theta) <= 1.0 + 1e-9,
        "precision": _finite(state.precision, (d, d)),
        "inverse": _finite(state.inverse, (d, d)),
        "curvature": _released(state.curvature, packed_size(d), learned),
        "score": _released(state.score, d, learned),
    }
    for field, fits in sound.items():
        if not fits:
            raise InvalidInput(f"the saved {field} does not fit the rest of the pricer")


def _planned(state: NewtonState, quoter: NewtonQuoter) -> bool:
    """Is the next look one of the batch's, not behind what was learned, and were there no more blocks than it has?"""
    regular = (state.look - quoter.batch) % quoter.block == 0 or state.look == quoter.end
    return (
        regular
        and max(state.learned, quoter.batch + 1) <= state.look <= quoter.end
        and (0 <= state.blocks <= 1 << state.level)
    )


def _finite(numbers: np.ndarray, shape: tuple[int, ...]) -> bool:
    return numbers.shape == shape and bool(np.isfinite(numbers).all())


def _released(release: _Released | None, size: int, learned: int) -> bool:
    return release is None or (_finite(release.numbers, (size,)) and 1 <= release.records <= learned)
