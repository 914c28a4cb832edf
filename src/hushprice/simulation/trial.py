"""One trial: what it depends on, what it leaves, and how the compiled engine runs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hushprice.demand.protocol import lowest
from hushprice.errors import DidNotConverge, InvalidInput
from hushprice.mechanisms import continual_sum
from hushprice.policies.baselines import Clairvoyant, FixedPrice, RandomPrices
from hushprice.policies.catalog import PlainFactory
from hushprice.policies.newton.pricing.transition import batch_rules, strategies
from hushprice.policies.newton.rules import DOUBLINGS, EARLY, NewtonRules
from hushprice.policies.paper.noise import strategy_of, without_noise
from hushprice.policies.paper.policy import PaperPolicy
from hushprice.policies.paper.pricing import refresh
from hushprice.policies.paper.rules import PaperRules
from hushprice.policies.protocol import Policy
from hushprice.policies.rival_parts.rival_policy import KERNEL as RIVALS
from hushprice.privacy.budget import PrivacyBudget
from hushprice.simulation import tally
from hushprice.simulation.changed_record import GivenCustomer, world_of
from hushprice.simulation.hindsight import best_fixed_price
from hushprice.simulation.kernels.baselines import run_baseline
from hushprice.simulation.kernels.newton import run_newton
from hushprice.simulation.kernels.newton_prices import NewtonPlan
from hushprice.simulation.kernels.paper import run_paper
from hushprice.simulation.market import Market
from hushprice.simulation.rival_run import run_rival
from hushprice.simulation.world import (
    CLAIRVOYANT,
    FIXED,
    LEARNING,
    RANDOM,
    KernelMarket,
    KernelPolicy,
    TrialInput,
    TrialOutput,
)
from hushprice.types import FloatArray, IntArray

CHECKPOINTS = 200
_CODES: dict[type[Policy], int] = {
    RandomPrices: RANDOM,
    FixedPrice: FIXED,
    Clairvoyant: CLAIRVOYANT,
    PaperPolicy: LEARNING,
}


@dataclass(slots=True)
class Trial:
    """What one trial leaves."""

    totals: FloatArray
    regret_at: FloatArray
    estimate_periods: IntArray
    prices: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Trials:
    """What several trials leave, one row a trial."""

    totals: FloatArray  # (trials, tally.TOTALS)
    regret_at: FloatArray  # (trials, checkpoints)
    estimate_periods: Sequence[IntArray]
    prices: FloatArray | None = None  # (trials, horizon) when kept

    @classmethod
    def of(cls, trials: Sequence[Trial], *, prices: bool = False) -> Trials:
        """These trials side by side, one row each."""
        counts = [int(trial.totals[tally.ESTIMATES]) for trial in trials]
        return cls(
            totals=np.array([trial.totals for trial in trials]),
            regret_at=np.array([trial.regret_at for trial in trials]),
            estimate_periods=tuple(trial.estimate_periods[:n] for trial, n in zip(trials, counts, strict=True)),
            prices=np.array([trial.prices for trial in trials]) if prices else None,
        )

    @classmethod
    def joined(cls, parts: Sequence[Trials]) -> Trials:
        """One after the other, without prices."""
        return cls(
            totals=np.concatenate([part.totals for part in parts]),
            regret_at=np.concatenate([part.regret_at for part in parts]),
            estimate_periods=tuple(periods for part in parts for periods in part.estimate_periods),
        )

    def part(self, rows: slice) -> Trials:
        """The trials of these rows, without prices."""
        return Trials(
            totals=self.totals[rows], regret_at=self.regret_at[rows], estimate_periods=self.estimate_periods[rows]
        )

    def __len__(self) -> int:
        return len(self.totals)


@dataclass(frozen=True, kw_only=True, eq=False)
class Job:
    """Everything a trial depends on besides its number."""

    market: Market
    policy: Policy | PlainFactory
    budget: PrivacyBudget
    horizon: int
    seed: int
    engine: str = "compiled"
    keep_prices: bool = False
    change: GivenCustomer | None = None  # one record given instead of drawn
    customers: int | None = None  # the trial whose customers come in every trial, so that noise alone differs

    def customer_trial(self, number: int) -> int:
        """The trial whose customers come in trial `number`."""
        return number if self.customers is None else self.customers

    @property
    def checkpoints(self) -> IntArray:
        """Periods at which cumulative regret is kept: evenly spaced, the last one is the horizon."""
        count = min(CHECKPOINTS, self.horizon)
        return np.unique(np.linspace(self.horizon / count, self.horizon, count).round().astype(np.int64))


def run_compiled(job: Job, policy: Policy, number: int, control: IntArray, counter: int) -> Trial:
    """One trial of a built-in policy on a built-in market."""
    given = TrialInput(job.seed, number, job.horizon, control, counter)
    world = world_of(job.market, job.horizon, job.change, job.customers)
    finished, output = _KERNELS[str(policy.kernel)](job, policy, world, given)
    if output.totals[tally.FAILED] > 0.0:
        raise DidNotConverge("an estimate did not reach its certified tolerance")
    if not finished:
        raise KeyboardInterrupt
    return Trial(output.totals, output.regret_at, output.estimate_periods, output.prices)


def _run_newton(job: Job, policy: Any, world: KernelMarket, given: TrialInput) -> tuple[bool, TrialOutput]:
    output = _output(job, EARLY + DOUBLINGS)
    return run_newton(world, newton_plan(policy.rules, job.market), given, output), output


def _run_paper(job: Job, policy: Policy, world: KernelMarket, given: TrialInput) -> tuple[bool, TrialOutput]:
    plan = plan_of(policy, job.horizon, job.market.dimension)
    if isinstance(policy, FixedPrice) and policy.price is None:
        plan = plan._replace(price=best_fixed_price(world, given._replace(trial=job.customer_trial(given.trial))))
    output = _output(job, max(plan.max_estimates, 1))
    return (run_paper if isinstance(policy, PaperPolicy) else run_baseline)(world, plan, given, output), output


def _run_rival(job: Job, policy: Any, world: KernelMarket, given: TrialInput) -> tuple[bool, TrialOutput]:
    output = _output(job, 1)
    return run_rival(world, policy, given, output), output


_KERNELS = {"newton": _run_newton, "paper": _run_paper, RIVALS: _run_rival}  # by Policy.kernel


def _output(job: Job, estimates: int) -> TrialOutput:
    checkpoints = job.checkpoints
    return TrialOutput(
        checkpoints,
        np.zeros(checkpoints.size),
        np.zeros(tally.TOTALS),
        np.zeros(estimates, dtype=np.int64),
        np.zeros(job.horizon if job.keep_prices else 0),
    )


def plan_of(policy: Policy, horizon: int, dimension: int) -> KernelPolicy:
    """The policy as the kernels take it."""
    learns, price, input_noise = isinstance(policy, PaperPolicy), None, 0.0
    noise, rules = without_noise(1.0), PaperRules(exploration_periods=0, ridge=1.0, width=0.0, max_estimates=1)
    if isinstance(policy, PaperPolicy):
        noise, rules, input_noise = policy.noise, policy.rules, policy.input_noise
    if isinstance(policy, FixedPrice):
        price = policy.price
    strategy = strategy_of(noise.strategy, horizon)
    return KernelPolicy(
        _CODES[type(policy)],
        min(rules.exploration_periods, horizon),
        float(rules.ridge),
        float(rules.width),
        min(rules.max_estimates, horizon) if learns else 0,
        continual_sum.scales_of(noise.covariance_noise, noise.frobenius, dimension),
        noise.estimate_noise,
        float(noise.estimate_ridge),
        noise.output_noise,
        refresh.FLOOR if noise.floored else refresh.AS_IS,
        input_noise,
        0.0 if price is None else float(price),
        *continual_sum.empty_state(strategy, dimension),
        *continual_sum.sections_of(strategy),
    )


def check_revenue(policy: Policy) -> None:
    """Regret, welfare and the kernel's price search are about revenue, so a policy for margins is refused."""
    cost = policy.settings.get("unit_cost", 0.0)
    if cost > 0.0:
        raise InvalidInput(f"unit_cost must be 0 in a simulation, which is about revenue, got {cost!r}")


def newton_plan(rules: NewtonRules, market: Market) -> NewtonPlan:
    """noisy-newton's rules as the kernel takes them."""
    levels = strategies(rules.noise.levels)
    return NewtonPlan(
        batch_rules(rules, market.demand, market.features),
        np.array(rules.center),
        float(rules.reference_price),
        float(rules.dispersion),
        float(rules.width),
        float(rules.spread),
        float(lowest(market.demand)),
        1.0 if rules.drawn else 0.0,
        levels.poles,
        levels.zeros,
        continual_sum.scales_of(1.0, True, market.dimension),
    )
