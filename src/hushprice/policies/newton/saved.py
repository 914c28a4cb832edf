"""Policy noisy-newton on disk: the belief, and the exact sums of the batch at hand. No record is in it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import numpy as np

from hushprice.errors import InvalidInput
from hushprice.numerics.linear import packed_size
from hushprice.policies.newton.engine import NewtonEngine
from hushprice.policies.newton.policy import NewtonPolicy
from hushprice.policies.newton.pricing.quoter import NewtonQuoter
from hushprice.policies.newton.rules import NewtonRules
from hushprice.policies.protocol import Basis
from hushprice.policies.saved_pricer import (
    SavablePricer,
    SavedPricer,
    Sensitive,
    common,
    is_finite,
    refuse_unsound,
    restore_slots,
    sound_slots,
)
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.releases import CurvatureRelease, ScoreRelease


class _Released(msgspec.Struct, forbid_unknown_fields=True):
    """A release, and the number of records it came after."""

    numbers: np.ndarray
    records: int


class EngineState(Sensitive, kw_only=True, forbid_unknown_fields=True):
    """A NewtonEngine, whoever drives it."""

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
    clipped: tuple[int, int]  # features, demands
    early: int = 0  # batches that ended early; older files do not say, and a few more may end so


class _Policy(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A NewtonPolicy, under the names that files of format 5 have."""

    name: str
    code: Literal[4] = 4
    calibration: None = None
    tuning: None = None
    noise: None = None
    newton: NewtonRules
    horizon: int | None
    basis: Basis | None
    adjacency: Adjacency
    price: None = None
    input_noise: Annotated[float, msgspec.Meta(ge=0.0, le=0.0)] = 0.0
    claimed: EpsilonDelta | None
    proven: EpsilonDelta | None


class State(SavedPricer, kw_only=True, forbid_unknown_fields=True, tag="noisy-newton"):
    """A pricer that runs noisy-newton."""

    policy: _Policy
    newton: EngineState


def engine_state(engine: NewtonEngine) -> EngineState:
    """The engine's state as it is written."""
    learner, quoter = engine.learner, engine.quoter
    curvature, score = learner.last_curvature, learner.last_score
    return EngineState(
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
        clipped=(learner.clipped_features, learner.clipped_demands),
        early=quoter.ended_early,
    )


def restore_engine(state: EngineState, engine: NewtonEngine) -> None:
    """Make an engine that nothing happened to the one that was saved."""
    learner, quoter = engine.learner, engine.quoter
    _check(state, engine)
    quoter.ready, quoter.version, quoter.ended_early = state.ready, state.version, state.early
    quoter.theta, quoter.precision, quoter.inverse = state.theta, state.precision, state.inverse
    quoter.follow(state.follows)  # by the belief: the batch may be a probe
    if not _planned(state, quoter):
        raise InvalidInput("the saved look does not fit the rest of the pricer")
    quoter.look = state.look
    learner.begin(state.level)
    learner.batch.restore(state.batch, state.level)
    learner.count, learner.blocks = state.learned, state.blocks
    learner.clipped_features, learner.clipped_demands = state.clipped
    if state.curvature is not None:
        learner.last_curvature = CurvatureRelease(state.curvature.numbers, state.curvature.records, learner.event)
    if state.score is not None:
        learner.last_score = ScoreRelease(state.score.numbers, state.score.records, learner.event)


def state_of(pricer: SavablePricer) -> State:
    """The pricer's state as it is written."""
    state, policy = engine_state(pricer.engine), pricer.policy
    saved = _Policy(
        name=policy.name,
        newton=policy.rules,
        horizon=policy.horizon,
        basis=policy.basis,
        adjacency=policy.adjacency,
        claimed=policy.claimed,
        proven=policy.proven,
    )
    every = common(pricer, (*state.clipped, pricer.clipped_attributes), state.learned)
    return State(**every, policy=saved, newton=state)


def policy_of(state: State) -> NewtonPolicy:
    """The policy that was saved."""
    saved = state.policy
    return NewtonPolicy(
        name=saved.name,
        rules=saved.newton,
        horizon=saved.horizon,
        basis=saved.basis,
        adjacency=saved.adjacency,
        claimed=saved.claimed,
        proven=saved.proven,
    )


def restore(state: State, pricer: SavablePricer) -> None:
    """Make a pricer that nothing happened to the one that was saved."""
    learned = state.newton.learned
    fits = sound_slots(state, pricer, learned) | {
        "follows": (state.newton.follows == 0) == (state.newton.version == 0),
        "clipped": min(state.clipped) >= 0 and state.clipped[:2] == state.newton.clipped,
    }
    refuse_unsound(fits)
    restore_engine(state.newton, pricer.engine)
    pricer.clipped_attributes = state.clipped[2]
    restore_slots(state, pricer, learned)


def _check(state: EngineState, engine: NewtonEngine) -> None:
    """What types cannot say. A state that fails this was written by something else than `engine_state`."""
    d, learned = engine.quoter.theta.size, state.learned
    refuse_unsound(
        {
            "learned": learned >= 0,
            "level": 0 <= state.level <= engine.learner.levels,
            "follows": 0 <= state.follows <= learned and (state.follows > 0 or state.version == 0),
            "version": 0 <= state.version <= learned,
            "early": 0 <= state.early <= state.version,
            "theta": is_finite(state.theta, d) and float(state.theta @ state.theta) <= 1.0 + 1e-9,
            "precision": is_finite(state.precision, d, d),
            "inverse": is_finite(state.inverse, d, d),
            "curvature": _released(state.curvature, packed_size(d), learned),
            "score": _released(state.score, d, learned),
            "clipped": min(state.clipped) >= 0,
        }
    )


def _planned(state: EngineState, quoter: NewtonQuoter) -> bool:
    """Is the next look one of the batch's, not behind what was learned, and were there no more blocks than it has?"""
    regular = (state.look - quoter.batch) % quoter.block == 0 or state.look == quoter.end
    return (
        regular
        and max(state.learned, quoter.batch + 1) <= state.look <= quoter.end
        and (0 <= state.blocks <= 1 << state.level)
    )


def _released(release: _Released | None, size: int, learned: int) -> bool:
    return release is None or (is_finite(release.numbers, size) and 1 <= release.records <= learned)
