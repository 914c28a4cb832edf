"""One trial: what it depends on, what it leaves, and how the compiled engine runs it."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hushprice.demand.protocol import lowest
from hushprice.errors import DidNotConverge, InvalidInput
from hushprice.mechanisms import continual_sum
from hushprice.policies.baselines import FixedPrice
from hushprice.policies.catalog import PlainFactory
from hushprice.policies.newton.policy import NewtonPolicy
from hushprice.policies.newton.rules import DOUBLINGS, EARLY, NewtonRules, Schedule, references, schedule
from hushprice.policies.paper.noise import strategy_of, without_noise
from hushprice.policies.paper.policy import PaperPolicy
from hushprice.policies.paper.pricing import refresh
from hushprice.policies.paper.private import solver
from hushprice.policies.paper.rules import PaperRules
from hushprice.policies.protocol import Policy
from hushprice.privacy.budget import PrivacyBudget
from hushprice.simulation import scratch
from hushprice.simulation.change import Change, world_of
from hushprice.simulation.hindsight import best_fixed_price
from hushprice.simulation.kernels import newton, paper
from hushprice.simulation.kernels.price_codes import code_of
from hushprice.simulation.market import Market
from hushprice.types import FloatArray, IntArray

CHECKPOINTS = 200


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

    totals: FloatArray  # (trials, room.TOTALS)
    regret_at: FloatArray  # (trials, checkpoints)
    estimate_periods: Sequence[IntArray]
    prices: FloatArray | None = None  # (trials, horizon) when kept

    @classmethod
    def of(cls, trials: Sequence[Trial], *, prices: bool = False) -> Trials:
        """The same trials side by side."""
        counts = [int(trial.totals[scratch.ESTIMATES]) for trial in trials]
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
        """Some of them, without prices."""
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
    change: Change | None = None  # one record given instead of drawn
    customers: int | None = None  # the trial whose customers come in every trial, so that noise alone differs

    def luck(self, number: int) -> int:
        """The trial whose customers come in trial `number`."""
        return number if self.customers is None else self.customers

    @property
    def checkpoints(self) -> IntArray:
        """Periods at which cumulative regret is kept: evenly spaced, the last one is the horizon."""
        count = min(CHECKPOINTS, self.horizon)
        return np.unique(np.linspace(self.horizon / count, self.horizon, count).round().astype(np.int64))


def run_compiled(job: Job, policy: Policy, number: int, control: IntArray, counter: int) -> Trial:
    """One trial of a built-in policy on a built-in market."""
    world = world_of(job.market, job.horizon, job.change, job.customers)
    if isinstance(policy, NewtonPolicy):
        return run_newton_trial(job, policy.rules, world, number, control, counter)
    plan = plan_of(policy, job.horizon, job.market.dimension)
    if isinstance(policy, FixedPrice) and policy.price is None:
        plan = plan._replace(price=best_fixed_price(world, job.seed, job.luck(number), job.horizon, control))
    checkpoints = job.checkpoints
    trial = Trial(
        totals=np.zeros(scratch.TOTALS),
        regret_at=np.zeros(checkpoints.size),
        estimate_periods=np.zeros(max(plan.max_estimates, 1), dtype=np.int64),
        prices=np.zeros(job.horizon if job.keep_prices else 0),
    )
    fit = solver.scratch(job.market.dimension)
    finished = paper.run_trial(
        world,
        plan,
        job.seed,
        number,
        job.horizon,
        checkpoints,
        trial.regret_at,
        trial.totals,
        trial.estimate_periods,
        trial.prices,
        fit,
        control,
        counter,
    )
    if trial.totals[scratch.FAILED] > 0.0:
        raise DidNotConverge("an estimate did not reach its certified tolerance")
    if not finished:
        raise KeyboardInterrupt
    return trial


def plan_of(policy: Policy, horizon: int, dimension: int) -> scratch.Plan:
    """The policy as the kernels take it."""
    learns, price, input_noise = isinstance(policy, PaperPolicy), None, 0.0
    noise, rules = without_noise(1.0), PaperRules(exploration_periods=0, ridge=1.0, width=0.0, max_estimates=1)
    if isinstance(policy, PaperPolicy):
        noise, rules, input_noise = policy.noise, policy.rules, policy.input_noise
    if isinstance(policy, FixedPrice):
        price = policy.price
    strategy = strategy_of(noise.strategy, horizon)
    return scratch.Plan(
        code_of(policy),
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


def run_newton_trial(
    job: Job, rules: NewtonRules, world: scratch.World, number: int, control: IntArray, counter: int
) -> Trial:
    """One trial of noisy-newton."""
    checkpoints = job.checkpoints
    trial = Trial(
        totals=np.zeros(scratch.TOTALS),
        regret_at=np.zeros(checkpoints.size),
        estimate_periods=np.zeros(EARLY + DOUBLINGS, dtype=np.int64),
        prices=np.zeros(job.horizon if job.keep_prices else 0),
    )
    finished = newton.run_newton(
        world,
        newton_plan(rules, job.market),
        job.seed,
        number,
        job.horizon,
        checkpoints,
        trial.regret_at,
        trial.totals,
        trial.estimate_periods,
        trial.prices,
        control,
        counter,
    )
    if not finished:
        raise KeyboardInterrupt
    return trial


def check_revenue(policy: Policy) -> None:
    """Regret, welfare and the kernel's price search are about revenue, so a policy for margins is refused."""
    cost = policy.settings.get("unit_cost", 0.0)
    if cost > 0.0:
        raise InvalidInput(f"unit_cost must be 0 in a simulation, which is about revenue, got {cost!r}")


@functools.cache
def _schedule(levels: int) -> Schedule:
    """Made once: it takes as long as a short trial. Kernels read it only."""
    return schedule(levels)


def newton_plan(rules: NewtonRules, market: Market) -> newton.NewtonPlan:
    """noisy-newton's rules as the kernel takes them."""
    strategies = _schedule(rules.noise.levels)
    _, effect = market.features.parts(np.zeros(market.features.contexts))
    return newton.NewtonPlan(
        np.array(rules.center),
        np.array(effect),
        *references(market.features),
        float(rules.reference_price),
        float(rules.dispersion),
        rules.first,
        float(rules.cap),
        float(rules.sampling),
        float(rules.width),
        float(rules.spread),
        float(rules.probe),
        float(rules.reach),
        float(rules.least),
        float(rules.near),
        float(rules.trigger),
        float(lowest(market.demand)),
        rules.noise.levels,
        float(rules.noise.score),
        float(rules.noise.curvature),
        1.0 if rules.drawn else 0.0,
        *strategies,
        continual_sum.scales_of(1.0, True, market.dimension),
    )
