"""Policies paper and nonprivate on disk: the records, and what was released of them."""

from __future__ import annotations

from typing import Literal, cast

import msgspec
import numpy as np

from hushprice.mechanisms.exact_covariance import ExactCov
from hushprice.policies.paper.engine import Framework
from hushprice.policies.paper.noise import Noise
from hushprice.policies.paper.policy import PaperPolicy
from hushprice.policies.paper.private.covariance import PrivateCov
from hushprice.policies.paper.private.estimate import PrivateMLE
from hushprice.policies.paper.rules import PaperRules
from hushprice.policies.protocol import Basis
from hushprice.policies.saved_pricer import (
    SavablePricer,
    SavedPricer,
    common,
    refuse_unsound,
    restore_slots,
    sound_slots,
)
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.releases import CovarianceRelease, EstimateRelease


class _Policy(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A PaperPolicy, under the names that files of format 5 have."""

    name: str
    code: Literal[3] = 3
    calibration: str | None
    tuning: PaperRules
    noise: Noise
    newton: None = None
    horizon: int | None
    basis: Basis | None
    adjacency: Adjacency
    price: None = None
    input_noise: float
    claimed: EpsilonDelta | None
    proven: EpsilonDelta | None


class _Accepted(msgspec.Struct, forbid_unknown_fields=True):
    """The releases that prices are made of."""

    theta: np.ndarray
    covariance: np.ndarray
    records: int
    version: int


class State(SavedPricer, kw_only=True, forbid_unknown_fields=True, tag="framework"):
    """A pricer that runs alg:framework."""

    policy: _Policy
    phi: np.ndarray
    demands: np.ndarray
    covariance: bytes  # the releaser's own; released noise is in it
    estimates_left: int
    indefinite: int
    accepted: _Accepted | None


def state_of(pricer: SavablePricer) -> State:
    """The pricer's state as it is written."""
    engine: Framework = pricer.engine
    learner, quoter = engine.learner, engine.quoter
    records, release = learner.records, quoter.covariance
    clipped = records.clipped_features, records.clipped_demands, pricer.clipped_attributes
    return State(
        **common(pricer, clipped, records.count),
        policy=_saved(pricer.policy),
        phi=records.phi[:, : records.count],
        demands=records.demand[: records.count],
        covariance=cast(PrivateCov | ExactCov, learner.covariance).state(),
        estimates_left=learner.estimates_left,
        indefinite=quoter.indefinite,
        accepted=None if release is None else _Accepted(quoter.theta, release.packed, release.records, quoter.version),
    )


def policy_of(state: State) -> PaperPolicy:
    """The policy that was saved."""
    saved = state.policy
    return PaperPolicy(
        name=saved.name,
        calibration=saved.calibration,
        rules=saved.tuning,
        noise=saved.noise,
        horizon=saved.horizon,
        basis=saved.basis,
        adjacency=saved.adjacency,
        input_noise=saved.input_noise,
        claimed=saved.claimed,
        proven=saved.proven,
    )


def _saved(policy: PaperPolicy) -> _Policy:
    return _Policy(
        name=policy.name,
        calibration=policy.calibration,
        tuning=policy.rules,
        noise=policy.noise,
        horizon=policy.horizon,
        basis=policy.basis,
        adjacency=policy.adjacency,
        input_noise=policy.input_noise,
        claimed=policy.claimed,
        proven=policy.proven,
    )


def restore(state: State, pricer: SavablePricer) -> None:
    """Make a pricer that nothing happened to the one that was saved."""
    engine: Framework = pricer.engine
    learner, quoter = engine.learner, engine.quoter
    _check(state, pricer, learner.estimates_left)
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


def _check(state: State, pricer: SavablePricer, allowed: int) -> None:
    """What types cannot say. A file that fails this was written by something else than `save`."""
    learned = state.demands.size
    spent = allowed - state.estimates_left
    sound = {
        **sound_slots(state, pricer, learned),
        "estimates_left": 0 <= state.estimates_left <= allowed,
        "accepted": state.accepted is None or _sound(state.accepted, learned, spent),
        "indefinite": state.indefinite >= 0,
    }
    refuse_unsound(sound)


def _sound(accepted: _Accepted, learned: int, spent: int) -> bool:
    """Prices come from estimates that were paid for, and from records that were learned."""
    return 1 <= accepted.version <= spent and 1 <= accepted.records <= learned
