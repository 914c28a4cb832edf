"""Trials of a policy on a market, on all cores, reproducible from (seed, trial) alone."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np

from hushprice import checks
from hushprice.accounting.budget import PrivacyBudget, split
from hushprice.accounting.delta import parse_delta
from hushprice.errors import DidNotConverge, InvalidInput
from hushprice.optimizer import refresh
from hushprice.policies.baselines import fixed
from hushprice.policies.catalog import PlainFactory, build, plain, tune
from hushprice.policies.protocol import FIXED, Policy
from hushprice.releasers import objective_perturbation, tree
from hushprice.simulation import kernel
from hushprice.simulation.market import Market, paper_market
from hushprice.simulation.result import SimulationResult
from hushprice.types import FloatArray, IntArray

Progress = Callable[[int, int], None]  # periods done, periods in all
CHECKPOINTS = 200
MOST = 10**9  # customers or trials; past this it is a slip of the keyboard


@dataclass(slots=True)
class Trial:
    """What one trial leaves."""

    totals: FloatArray
    regret_at: FloatArray
    estimate_periods: IntArray
    prices: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Job:
    """Everything a trial depends on besides its number."""

    market: Market
    policy: Policy | PlainFactory
    budget: PrivacyBudget
    horizon: int
    seed: int
    backend: str = "compiled"
    keep_prices: bool = False

    @property
    def checkpoints(self) -> IntArray:
        """Periods at which cumulative regret is kept: evenly spaced, the last one is the horizon."""
        count = min(CHECKPOINTS, self.horizon)
        return np.unique(np.linspace(self.horizon / count, self.horizon, count).round().astype(np.int64))


def simulate(
    policy: str | Policy | PlainFactory = "paper",
    *,
    horizon: int,
    dimension: int | None = None,
    market: Market | None = None,
    epsilon: float | None = None,
    delta: float | str = "2/T^2",
    epsilon_covariance: float | None = None,
    epsilon_estimate: float | None = None,
    calibration: str = "published",
    price: float | None = None,
    exploration_periods: int | None = None,
    ridge: float | None = None,
    width: float | None = None,
    max_estimates: int | None = None,
    trials: int = 20,
    seed: int = 0,
    workers: int | None = None,
    backend: str = "auto",
    keep_prices: bool = False,
    progress: Progress | None = None,
) -> SimulationResult:
    """Run `trials` trials and summarize them.

    Without a market it is the paper's instance in `dimension` (default 2). `epsilon` and `delta` are the totals
    eps1 + eps2 and delta1 + delta2; a cell "eps = 0.1" of the paper's tables is epsilon=0.2, delta="2/T^2".
    `backend` is "compiled", "python" (the engine object itself, slow, for parts of your own), or "auto".

    >>> result = simulate("fixed", price=1.0, horizon=1000, trials=2, workers=1)
    >>> result.trials, result.claimed
    (2, EpsilonDelta(epsilon=0.0, delta=0.0))
    """
    checks.whole(1, horizon=horizon, trials=trials)
    checks.within(1, MOST, horizon=horizon, trials=trials)
    checks.whole(0, seed=seed)
    checks.within(0, 2**63 - 1, seed=seed)
    if workers is not None:
        checks.whole(1, workers=workers)
    if market is not None and dimension is not None:
        raise InvalidInput(
            f"dimension is given by the market ({market.dimension}); got dimension {dimension!r} as well"
        )
    market = market if market is not None else paper_market(2 if dimension is None else dimension)
    both = epsilon_covariance is not None and epsilon_estimate is not None
    budget = split(
        1.0 if epsilon is None and not both else epsilon,
        parse_delta(delta, horizon),
        epsilon_covariance=epsilon_covariance,
        epsilon_estimate=epsilon_estimate,
    )
    tuning = tune(
        horizon=horizon,
        dimension=market.dimension,
        exploration_periods=exploration_periods,
        ridge=ridge,
        width=width,
        max_estimates=max_estimates,
    )
    if isinstance(policy, str):
        if ":" in policy:
            policy = plain(policy)
        else:
            policy = build(
                policy,
                horizon=horizon,
                demand=market.demand,
                features=market.features,
                budget=budget,
                tuning=tuning,
                calibration=calibration,
                price=price,
            )
    if isinstance(policy, Policy):
        policy.check_fits(horizon=horizon, demand=market.demand)
    job = Job(
        market=market,
        policy=policy,
        budget=budget,
        horizon=horizon,
        seed=seed,
        backend=_backend(backend, market, policy),
        keep_prices=keep_prices,
    )
    if job.backend == "compiled":
        _warm_up()
    started = time.perf_counter()
    results = run_trials(job, range(trials), workers or os.cpu_count() or 1, progress)
    return _summary(job, results, time.perf_counter() - started)


@functools.cache
def _warm_up() -> None:
    """Compile, or read compiled code, once and outside the clock: types are the same for every market and policy."""
    budget = split(1.0, 0.1)
    job = Job(market=paper_market(2), policy=fixed(), budget=budget, horizon=2, seed=0)
    run_one(job, 0, np.zeros(2, dtype=np.int64), 1)


def _backend(backend: str, market: Market, policy: Policy | PlainFactory) -> str:
    able = market.compiled and isinstance(policy, Policy)
    if backend == "auto":
        return "compiled" if able else "python"
    if backend not in ("compiled", "python"):
        raise InvalidInput(f"backend must be one of auto, compiled, python, got {backend!r}")
    if backend == "compiled" and not able:
        raise InvalidInput("backend 'compiled' takes built-in parts only; use 'python' for parts of your own")
    return backend


def run_trials(job: Job, numbers: range, workers: int, progress: Progress | None) -> list[Trial]:
    """The trials of those numbers, in order. Compiled code leaves the interpreter lock, so threads use all cores."""
    control = np.zeros(1 + len(numbers), dtype=np.int64)  # [0]: stop; [1 + i]: periods done in trial i
    whole = job.horizon * len(numbers)
    with ThreadPoolExecutor(min(workers, len(numbers))) as pool:
        futures = [pool.submit(run_one, job, number, control, 1 + i) for i, number in enumerate(numbers)]
        waiting: set[Future[Trial]] = set(futures)
        try:
            while waiting:
                done, waiting = wait(waiting, timeout=0.1, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()  # a failure surfaces at once
                if progress is not None:
                    progress(int(control[1:].sum()), whole)
        except BaseException:
            control[0] = 1
            for future in futures:
                future.cancel()
            raise
    return [future.result() for future in futures]


def run_one(job: Job, number: int, control: IntArray, lane: int) -> Trial:
    """One trial."""
    if job.backend == "python":
        from hushprice.simulation.reference import run_plain

        return run_plain(job, number, control, lane)
    assert isinstance(job.policy, Policy)
    world = job.market.world(job.horizon)
    plan = plan_of(job.policy, job.horizon)
    if job.policy.code == FIXED and job.policy.price is None:
        plan = plan._replace(price=best_fixed_price(world, job.seed, number, job.horizon, control))
    checkpoints = job.checkpoints
    trial = Trial(
        totals=np.zeros(kernel.TOTALS),
        regret_at=np.zeros(checkpoints.size),
        estimate_periods=np.zeros(max(min(plan.max_estimates, job.horizon), 1), dtype=np.int64),
        prices=np.zeros(job.horizon if job.keep_prices else 0),
    )
    fit = objective_perturbation.scratch(job.market.dimension)
    finished = kernel.run_trial(
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
        lane,
    )
    if not finished:
        raise KeyboardInterrupt
    if not trial.totals[kernel.GAP] <= objective_perturbation.TOLERANCE:
        raise DidNotConverge("an estimate did not reach its certified tolerance")
    return trial


def plan_of(policy: Policy, horizon: int) -> kernel.Plan:
    """The policy as the kernels take it."""
    if policy.tuning is None or policy.noise is None:
        price = 0.0 if policy.price is None else float(policy.price)
        return kernel.Plan(policy.code, 0, 1.0, 0.0, 0, 0.0, 0.0, 1.0, refresh.AS_IS, 0.0, price, 1)
    tuning, noise = policy.tuning, policy.noise
    return kernel.Plan(
        policy.code,
        min(tuning.exploration_periods, horizon),
        float(tuning.ridge),
        float(tuning.width),
        tuning.max_estimates,
        noise.covariance_noise,
        noise.estimate_noise,
        float(noise.estimate_ridge),
        refresh.FLOOR if noise.floored else refresh.AS_IS,
        policy.input_noise,
        0.0,
        tree.levels(horizon),
    )


def best_fixed_price(world: kernel.World, seed: int, trial: int, horizon: int, control: IntArray) -> float:
    """The one price that would have earned most on this trial's customers: a grid, narrowed three times."""
    low, high = 0.0, 1.0
    best = 0.0
    for _ in range(4):
        prices = np.linspace(low, high, 33)
        totals = np.zeros(prices.size)
        if not kernel.revenue_curve(world, seed, trial, horizon, prices, totals, control):
            raise KeyboardInterrupt
        best = float(prices[totals.argmax()])
        reach = (high - low) / 32
        low, high = max(0.0, best - reach), min(1.0, best + reach)
    return best


def _summary(job: Job, trials: list[Trial], seconds: float) -> SimulationResult:
    totals = np.array([trial.totals for trial in trials])
    counts = totals[:, kernel.ESTIMATES].astype(np.int64)
    built = job.policy if isinstance(job.policy, Policy) else None
    return SimulationResult(
        policy=built.name if built else getattr(job.policy, "__name__", "custom"),
        calibration=built.calibration if built else None,
        market=job.market.name,
        horizon=job.horizon,
        dimension=job.market.dimension,
        seed=job.seed,
        regret=totals[:, kernel.REGRET] / job.horizon,
        revenue=totals[:, kernel.REVENUE] / job.horizon,
        surplus=totals[:, kernel.SURPLUS] / job.horizon,
        estimates=counts,
        indefinite=totals[:, kernel.INDEFINITE].astype(np.int64),
        checkpoints=job.checkpoints,
        cumulative_regret=np.array([trial.regret_at for trial in trials]),
        estimate_periods=tuple(trial.estimate_periods[:n] for trial, n in zip(trials, counts, strict=True)),
        claimed=built.claimed if built else getattr(job.policy, "claimed", None),
        proven=built.proven if built else None,
        seconds=seconds,
        hindsight=built is not None and built.code == FIXED and built.price is None,
        prices=np.array([trial.prices for trial in trials]) if job.keep_prices else None,
    )
