"""Trials of a policy on a market, on all cores, reproducible from (seed, trial) alone."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack, overload

import numpy as np

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.policies.baselines import FixedPrice
from hushprice.policies.catalog import PlainFactory, build, check_read, plain
from hushprice.policies.protocol import Policy
from hushprice.prior import Prior
from hushprice.privacy.adjacency import Adjacency
from hushprice.product import Product, with_prior
from hushprice.settings import DEFAULT_POLICY, PolicySettings, Settings
from hushprice.shops.result import ShopResult
from hushprice.shops.trials import DEFAULT as DEFAULT_STRATEGY
from hushprice.shops.trials import run_shop
from hushprice.shops.world import World
from hushprice.simulation import tally
from hushprice.simulation.changed_record import GivenCustomer
from hushprice.simulation.device import CPU, ChosenDevice, choose
from hushprice.simulation.market import Market, paper_market
from hushprice.simulation.plain_run import run_plain
from hushprice.simulation.result import SimulationResult
from hushprice.simulation.trial import Job, Trial, Trials, check_revenue, run_compiled
from hushprice.types import IntArray

Progress = Callable[[int, int], None]  # periods done, periods in all
_OF_SHOPS = ("horizon", "seed", "noise", "trust", "keep_prices")
_OF_MARKETS = ("dimension", "market", "engine", "change", "customers")  # besides what settings.py lists
MOST = 10**9  # customers or trials; past this it is a slip of the keyboard


@overload
def simulate(
    policy: str | None = ...,
    *,
    product: Product,
    world: World,
    prior: Prior | str | Path | None = ...,
    horizon: int,
    trials: int = ...,
    seed: int = ...,
    noise: bool = ...,
    trust: str = ...,
    keep_prices: bool = ...,
    workers: int | None = ...,
    progress: Progress | None = ...,
) -> ShopResult: ...


@overload
def simulate(
    policy: str | Policy | PlainFactory | None = ...,
    *,
    trials: int = ...,
    workers: int | None = ...,
    device: str = ...,
    precision: str = ...,
    progress: Progress | None = ...,
    **setting: Any,
) -> SimulationResult: ...


def simulate(
    policy: str | Policy | PlainFactory | None = None,
    *,
    trials: int = 20,
    workers: int | None = None,
    device: str = "cpu",
    precision: str = "double",
    progress: Progress | None = None,
    product: Product | None = None,
    world: World | None = None,
    prior: Prior | str | Path | None = None,
    **setting: Any,
) -> SimulationResult | ShopResult:
    """Run `trials` trials and summarize them.

    They run on all cores, on `workers` of them, or with device "gpu" on a GPU (docs/guide/gpu.md): "auto" takes one
    where there is one. `precision` is "double", or on a GPU "single". `setting` is what `prepare` takes, `horizon`
    first of all. With a `product` and a `world` the trials are those of a shop (docs/guide/worlds.md), from a
    cold start or from what a fit of a log says, the `prior`. The default policy is noisy-newton, and cautious in a
    shop.

    >>> result = simulate("fixed", price=1.0, horizon=1000, trials=2, workers=1)
    >>> result.trials, result.claimed
    (2, EpsilonDelta(epsilon=0.0, delta=0.0))
    """
    if prior is not None:
        product = with_prior(product, prior)
    if product is not None or world is not None:
        if product is None or world is None:
            missing = "product" if product is None else "world"
            raise InvalidInput(f"a shop needs a product and a world; {missing} is missing")
        if device != "cpu":
            raise InvalidInput(f"device must be cpu for a world in NumPy, got {device!r}")
        for name in setting:
            if name not in _OF_SHOPS:
                known = name in PolicySettings.__dataclass_fields__ or name in _OF_MARKETS
                what = "for markets, or the product's" if known else f"no setting: a shop's are {', '.join(_OF_SHOPS)}"
                raise InvalidInput(f"{name} is {what}, got {checks.shown(setting[name])} beside it")
        if "horizon" not in setting:
            raise InvalidInput("horizon must be given: how many customers come")
        return run_shop(
            policy or DEFAULT_STRATEGY,
            product=product,
            world=world,
            trials=trials,
            workers=workers,
            progress=progress,
            **setting,
        )
    job = prepare(policy or DEFAULT_POLICY, **setting)
    return run(job, trials=trials, workers=workers, device=device, precision=precision, progress=progress)


def prepare(
    policy: str | Policy | PlainFactory = DEFAULT_POLICY,
    *,
    horizon: int,
    dimension: int | None = None,
    market: Market | None = None,
    seed: int = 0,
    engine: str = "auto",
    keep_prices: bool = False,
    change: GivenCustomer | None = None,
    customers: int | None = None,
    **asked: Unpack[Settings],
) -> Job:
    """Everything a run needs, checked before any of it starts; `asked` is what settings.py lists.

    Without a market it is the paper's instance in `dimension` (default 2). `epsilon` (default 1) and `delta` are the
    totals eps1 + eps2 and delta1 + delta2; a cell "eps = 0.1" of the paper's tables is epsilon=0.2, delta="2/T^2".
    `engine` is "compiled", "python" (the live pricer itself, slow, for parts of your own), or "auto". `change` gives
    one record instead of drawing it; with `customers`, the customers of that trial come in every trial. For policy
    noisy-newton: `reference_price` is quoted before anything is known, and `trigger`, `bonus` and `noise` turn parts of
    it off for study; without noise nothing is claimed.
    """
    if market is not None and dimension is not None:
        given = f"dimension is given by the market ({market.dimension})"
        raise InvalidInput(f"{given}; got dimension {dimension!r} as well")
    name = policy if isinstance(policy, str) else getattr(policy, "name", getattr(policy, "__name__", "custom"))
    settings = PolicySettings(policy=name, horizon=horizon, **asked)
    checks.within(1, MOST, horizon=horizon)
    checks.whole(0, seed=seed)
    checks.within(0, 2**63 - 1, seed=seed)
    market = market if market is not None else paper_market(2 if dimension is None else dimension)
    chosen = _chosen(policy, settings, market)
    if isinstance(chosen, Policy):
        chosen.check_fits(horizon=horizon, demand=market.demand, dimension=market.dimension)
        check_revenue(chosen)
    if change is not None:
        change.check_fits(market=market, horizon=horizon)
    if customers is not None:
        checks.whole(0, customers=customers)
    return Job(
        market=market,
        policy=chosen,
        budget=settings.budget,
        horizon=horizon,
        seed=seed,
        engine=_engine(engine, market, chosen),
        keep_prices=keep_prices,
        change=change,
        customers=customers,
    )


def _chosen(policy: str | Policy | PlainFactory, settings: PolicySettings, market: Market) -> Policy | PlainFactory:
    """The policy itself, built where it was named. What it does not read is refused."""
    _ = settings.budget, settings.neighbours  # checked whoever reads them
    if not isinstance(policy, str):
        for option, value in settings.given.items():
            raise InvalidInput(f"{option} is for a policy given by its name, got {value!r} with {settings.policy!r}")
        return policy
    if ":" in policy:
        check_read(settings)
        return plain(policy)
    return build(settings, market.demand, market.features)


def run(
    job: Job,
    *,
    trials: int,
    workers: int | None = None,
    device: str = "cpu",
    precision: str = "double",
    progress: Progress | None = None,
) -> SimulationResult:
    """The trials 0 .. trials - 1 of a job, summarized."""
    checks.whole(1, trials=trials)
    checks.within(1, MOST, trials=trials)
    if workers is not None:
        checks.whole(1, workers=workers)
    chosen = choose(device, precision, [job])
    if chosen.device == "gpu":
        return _run_on_gpu(job, trials, chosen, progress)
    warm_up(job)
    started = time.perf_counter()
    results = run_trials(job, range(trials), workers or os.cpu_count() or 1, progress)
    return summarize(job, Trials.of(results, prices=job.keep_prices), time.perf_counter() - started)


def _run_on_gpu(job: Job, trials: int, chosen: ChosenDevice, progress: Progress | None) -> SimulationResult:
    from hushprice.simulation.gpu.session import process_session
    from hushprice.simulation.gpu.trial_batches import run_trials as run_batches

    def advance(done: int) -> None:
        if progress is not None:
            progress(done, trials * job.horizon)

    results, seconds = run_batches(process_session(), job, range(trials), precision=chosen.precision, advance=advance)
    return summarize(job, results, seconds, chosen)


def warm_up(job: Job) -> None:
    """Compile what the job needs and no more, or read it compiled, outside the clock: by a trial of two periods."""
    if job.engine != "compiled" or not isinstance(job.policy, Policy):
        return
    collects = gc.isenabled()
    gc.disable()  # a compiler makes much that stays, and looking for garbage in it would take a tenth of its time
    try:
        run_compiled(replace(job, horizon=2, change=None), job.policy, 0, np.zeros(2, dtype=np.int64), 1)
    finally:
        if collects:
            gc.enable()


def _engine(engine: str, market: Market, policy: Policy | PlainFactory) -> str:
    able = market.compiled and isinstance(policy, Policy) and policy.kernel is not None
    if engine == "auto":
        return "compiled" if able else "python"
    if engine not in ("compiled", "python"):
        raise InvalidInput(f"engine must be one of auto, compiled, python, got {engine!r}")
    if engine == "compiled" and not able:
        raise InvalidInput("engine 'compiled' takes built-in parts only; use 'python' for parts of your own")
    return engine


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


def run_one(job: Job, number: int, control: IntArray, counter: int) -> Trial:
    """One trial, on the job's engine."""
    if job.engine == "compiled" and isinstance(job.policy, Policy):
        return run_compiled(job, job.policy, number, control, counter)
    return run_plain(job, number, control, counter)


def summarize(job: Job, trials: Trials, seconds: float, chosen: ChosenDevice = CPU) -> SimulationResult:
    """What the trials of a job found, in the order given."""
    totals = trials.totals
    built = job.policy if isinstance(job.policy, Policy) else None
    return SimulationResult(
        policy=built.name if built else getattr(job.policy, "__name__", "custom"),
        calibration=built.calibration if built else None,
        market=job.market.name,
        horizon=job.horizon,
        dimension=job.market.dimension,
        seed=job.seed,
        regret=totals[:, tally.REGRET] / job.horizon,
        start=totals[:, tally.START] / job.horizon if built is not None and built.tells_start else None,
        revenue=totals[:, tally.REVENUE] / job.horizon,
        surplus=totals[:, tally.SURPLUS] / job.horizon,
        estimates=totals[:, tally.ESTIMATES].astype(np.int64),
        indefinite=totals[:, tally.INDEFINITE].astype(np.int64),
        checkpoints=job.checkpoints,
        cumulative_regret=trials.regret_at,
        estimate_periods=tuple(trials.estimate_periods),
        adjacency=built.adjacency if built else Adjacency.REPLACE_ONE,
        claimed=built.claimed if built else getattr(job.policy, "claimed", None),
        proven=built.proven if built else None,
        seconds=seconds,
        hindsight=isinstance(built, FixedPrice) and built.price is None,
        prices=trials.prices,
        device=chosen.device,
        precision=chosen.precision,
    )
