"""Bugs in what is done with records: how often each counts, what becomes of it, and what gets out besides releases."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.planted.planting import changed

from hushprice import records
from hushprice.errors import InvalidInput
from hushprice.live.pricer import Pricer
from hushprice.mechanisms.exact_covariance import ExactCov
from hushprice.policies.paper import saved
from hushprice.policies.paper.engine import Framework
from hushprice.policies.paper.private import covariance, learner, solver
from hushprice.policies.paper.private.estimate import PrivateMLE
from hushprice.policies.paper.private.learner import PaperLearner
from hushprice.records import Records
from hushprice.releases import CovarianceRelease
from hushprice.slots import Pending, Slots

# ---- which records, and how often -----------------------------------------------------------------------------------


def _twice(real: Any) -> Any:
    def append(self: Records, phi: Any, demand: float) -> Any:
        real(self, phi, demand)
        return real(self, phi, demand)

    return append


counted_twice = changed(Records, "append", _twice)


def _summed_twice(real: Any) -> Any:
    def outers(phi: Any, start: int, count: int, out: Any) -> None:
        real(phi, start, count, out)
        out *= 2.0

    return outers


summed_twice = changed(covariance, "outers", _summed_twice)
clip_skipped = changed(records, "hold_to_unit_ball", lambda real: lambda phi, start, count: 0)


def _wide(real: Any) -> Any:
    def start(self: Records, dimension: int, bound: float, lowest: float | None = None) -> None:
        real(self, dimension, bound, lowest)
        self.bound *= 2.0

    return start


demand_clipped_at_twice_the_bound = changed(Records, "__init__", _wide)


def _by_batch(real: Any) -> Any:
    """Every record is divided by the longest so far, so all lie in the ball and all depend on one."""

    def append(self: Records, phi: Any, demand: float) -> Any:
        self.longest = max(getattr(self, "longest", 1.0), float(np.linalg.norm(phi)))  # type: ignore[attr-defined]
        return real(self, phi / self.longest, demand)  # type: ignore[attr-defined]

    return append


clipped_by_batch = changed(Records, "append", _by_batch)


def _learned_again(real: Any) -> Any:
    def observe(self: Slots, quote_id: str, demand: float) -> Any:
        seen = real(self, quote_id, demand)
        if seen.value == "late":  # the customer did buy after all: learn the slot once more
            self.pending.appendleft(Pending(np.array([0.5, -0.5]), demand))
        return seen

    return observe


late_outcome_learned_twice = changed(Slots, "observe", _learned_again)


def _skips_silence(real: Any) -> Any:
    def due(self: Slots) -> Any:
        if self.pending and self.count > self.delay and self.pending[0].demand is None:
            self.pending.popleft()
            self.learned += 1
            return None
        return real(self)

    return due


silence_skipped = changed(Slots, "due", _skips_silence)


def _without_end(real: Any) -> Any:
    def absorb(self: ExactCov, phi: Any) -> Any:
        self._count = min(self._count, self._event.steps - 1)
        return real(self, phi)

    return absorb


horizon_exceeded = changed(ExactCov, "absorb", _without_end)


def _drawn_before_refused(real: Any) -> Any:
    def absorb(self: ExactCov, phi: Any) -> Any:
        if self._count >= self._event.steps:
            self._source.integers(self._event.noise / self._event.grid, 3)
        return real(self, phi)

    return absorb


drawn_past_the_horizon = changed(ExactCov, "absorb", _drawn_before_refused)


# ---- the solver -----------------------------------------------------------------------------------------------------


def _early(real: Any) -> Any:
    def minimize(*given: Any) -> float:
        theta = given[7]
        start = theta.copy()
        real(*given)
        theta += 1e-4 * (start - theta)  # short of the last digits, and says that it got there
        return 0.0

    return minimize


solver_stopped_early = changed(solver, "minimize", _early)


def _less_ridge(real: Any) -> Any:
    def start(self: PrivateMLE, **given: Any) -> None:
        real(self, **given)
        self._ridge *= 0.5

    return start


ridge_halved = changed(PrivateMLE, "__init__", _less_ridge)


# ---- the engine -----------------------------------------------------------------------------------------------------


def _leaky(real: Any) -> Any:
    def learn(self: Framework, slots: Any, period: int) -> None:
        real(self, slots, period)
        table = self.learner.records
        if table.count:
            self.quoter.theta = self.quoter.theta + 1e-6 * table.demand[table.count - 1]

    return learn


price_leaked = changed(Framework, "learn", _leaky)


def _raw_trigger(real: Any) -> Any:
    def learn(self: Framework, slots: Any, period: int) -> None:
        table, asked = self.learner.records, self.quoter.wants_estimate

        def wants(release: CovarianceRelease) -> bool:
            phi = table.phi[:, : table.count]
            return asked(CovarianceRelease((phi @ phi.T)[np.triu_indices(2)], table.count, release.event))

        self.quoter.wants_estimate = wants  # type: ignore[method-assign]
        try:
            real(self, slots, period)
        finally:
            del self.quoter.wants_estimate  # type: ignore[method-assign]

    return learn


raw_trigger = changed(Framework, "learn", _raw_trigger)


def _unspent(real: Any) -> Any:
    return lambda self, period: self.estimates.release(self.records, period)


past_the_cap = changed(PaperLearner, "estimate", _unspent)


def _late_spending(real: Any) -> Any:
    def estimate(self: PaperLearner, period: int) -> Any:
        release = self.estimates.release(self.records, period)
        self.ledger = self.ledger.spend(self.estimate_event)
        return release

    return estimate


charged_after_the_draw = changed(PaperLearner, "estimate", _late_spending)
unpaid_accepted = changed(learner, "_refuse_unpaid", lambda real: lambda event, paid: None)


def _forgetful(real: Any) -> Any:
    def state(pricer: Pricer) -> Any:
        found = real(pricer)
        found.estimates_left = pricer.policy.rules.max_estimates  # type: ignore[union-attr]
        return found

    return state


spending_forgotten = changed(saved, "state_of", _forgetful)


def _telling(real: Any) -> Any:
    def append(self: Records, phi: Any, demand: float) -> Any:
        if not np.isfinite(phi).all():
            raise InvalidInput(f"a record must be finite, got {phi.tolist()}")
        return real(self, phi, demand)

    return append


refusal_tells = changed(Records, "append", _telling)
