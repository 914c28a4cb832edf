"""Trials of a strategy in a world, in vectorized stretches between releases."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import wait
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from hushprice import checks
from hushprice.errors import InvalidInput, first_line
from hushprice.numerics.subprocess_pool import SubprocessPool, cores
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.delta import parse_delta
from hushprice.privacy.earlier import claimed_after
from hushprice.product import Product, check_product
from hushprice.settings import TRUST
from hushprice.shops.private_strategy import PrivateStrategy, rules_of
from hushprice.shops.result import ShopResult
from hushprice.shops.rival_strategy import RIVALS, RivalStrategy, rival_of
from hushprice.shops.strategy import Staying, Strategy
from hushprice.shops.world import Contexts, World, bought, chances, encoded, numbers
from hushprice.types import FloatArray, IntArray

BLOCK = 2048  # customers drawn at once; blocks have their own randomness, so every strategy meets the same customers
CHECKPOINTS = 500
MOST = 10**8  # customers of a trial; past this it is a slip of the keyboard
_WORTHWHILE, _CALL = 10.0, 30.0  # seconds of work: what processes of their own take, and what one is given at once
CUSTOMERS, _LUCK, _STRATEGY = range(3)

Progress = Callable[[int, int], None]

DEFAULT = "cautious"
STRATEGIES: dict[str, Callable[[Product, int, bool, np.random.Generator], Strategy]] = {
    DEFAULT: PrivateStrategy,
    "staying": Staying,
}
KNOWN = (*STRATEGIES, *RIVALS)
COUNTED = (*STRATEGIES, "one-price", "thompson")  # that know of a customer who buys several


@dataclass(frozen=True, kw_only=True)
class ShopJob:
    """Everything a trial depends on besides its number."""

    policy: str
    product: Product
    world: World
    horizon: int
    seed: int
    noise: bool
    keep_prices: bool
    trust: str = TRUST[0]

    @property
    def checkpoints(self) -> IntArray:
        """Customer counts at which cumulative earnings are kept."""
        steps = min(CHECKPOINTS, self.horizon)
        return np.unique(np.ceil(np.arange(1, steps + 1) * (self.horizon / steps)).astype(np.int64))

    def rng(self, trial: int, *address: int) -> np.random.Generator:
        """Randomness that depends on nothing but its address."""
        return np.random.default_rng((self.seed, trial, *address))


def run_shop(
    policy: object,
    *,
    product: Product,
    world: World,
    horizon: int,
    trials: int,
    seed: int = 0,
    noise: bool = True,
    keep_prices: bool = False,
    trust: str = TRUST[0],
    workers: int | None = None,
    progress: Progress | None = None,
) -> ShopResult:
    """`trials` trials of `horizon` customers. The same (seed, trial) brings the same customers to every policy.

    `trust` says who may see a record of policy cautious (docs/guide/trust.md).
    """
    checks.whole(1, horizon=horizon)
    checks.within(1, MOST, horizon=horizon)
    checks.whole(1, trials=trials)
    checks.whole(0, seed=seed)
    checks.flag(noise=noise, keep_prices=keep_prices)
    if workers is not None:
        checks.whole(1, workers=workers)
    check_product(product)
    if not isinstance(policy, str) or policy not in KNOWN:
        known = ", ".join(KNOWN)
        raise InvalidInput(f"policy must be one of {known} in a world of its own, got {checks.shown(policy)}")
    if product.most > 1.0 and policy not in COUNTED:
        raise InvalidInput(f"policy must be one of {', '.join(COUNTED)} where most is above 1, got {policy!r}")
    world = _made(world)
    for method in ("contexts", "probabilities"):
        if not callable(getattr(world, method, None)):
            raise InvalidInput(f"world must have a method {method}, got {checks.shown(world)}")
    checks.one_of(TRUST, trust=trust)
    if trust != TRUST[0] and policy != DEFAULT:
        raise InvalidInput(f"trust is for policy {DEFAULT!r}, got {trust!r} for policy {policy!r}")
    job = ShopJob(
        policy=policy,
        product=product,
        world=world,
        horizon=horizon,
        seed=seed,
        noise=noise,
        keep_prices=keep_prices,
        trust=trust,
    )
    claimed = _claimed(job)
    done: list[_Trial] = []
    began = time.perf_counter()
    for trial in _trials(job, trials, min(workers or cores(), trials)):
        done.append(trial)
        if progress is not None:
            progress(len(done) * horizon, trials * horizon)
    return ShopResult(
        policy=policy,
        horizon=horizon,
        seed=seed,
        checkpoints=job.checkpoints,
        earnings=np.array([trial.earnings for trial in done]),
        staying=np.array([trial.staying for trial in done]),
        prices=np.array([trial.prices for trial in done]) if keep_prices else None,
        claimed=claimed,
        trust=trust,
        seconds=time.perf_counter() - began,
    )


def _made(world: World | type[World]) -> World:
    """The world; a class of which one is made from nothing stands for that one."""
    if not isinstance(world, type):
        return world
    try:
        return world()
    except TypeError as problem:
        raise InvalidInput(f"world must be made first, got the class {world.__name__}: {first_line(problem)}") from None


def _claimed(job: ShopJob) -> EpsilonDelta | None:
    """The guarantee asked for, checked before a trial starts; None where there is none."""
    if job.policy == "staying":
        return EpsilonDelta(0.0, 0.0)
    if job.policy == DEFAULT:
        rules_of(job.product, job.horizon, job.noise, job.trust)
    elif job.policy not in STRATEGIES:
        return rival_of(job.policy, job.product, job.horizon, job.noise).claimed
    if not job.noise:
        return None
    prior, delta = job.product.prior, parse_delta(job.product.delta, job.horizon)
    return claimed_after(None if prior is None else prior.paid, EpsilonDelta(job.product.epsilon, delta))


@dataclass(frozen=True)
class _Trial:
    earnings: FloatArray
    staying: FloatArray
    prices: FloatArray


def _trials(job: ShopJob, trials: int, workers: int) -> Iterator[_Trial]:
    """One after the other, or, where that would take long, in processes of their own: trials are nearly all Python."""
    began = time.perf_counter()
    yield _run_trial(job, 0)
    seconds, rest = (time.perf_counter() - began) * (trials - 1), range(1, trials)
    if workers == 1 or seconds < _WORTHWHILE:
        yield from (_run_trial(job, number) for number in rest)
        return
    size = math.ceil(len(rest) / (workers * math.ceil(seconds / (workers * _CALL))))
    parts = [rest[first : first + size] for first in range(0, len(rest), size)]
    with closing(SubprocessPool(workers)) as pool:
        calls = [pool.submit(_run_some, job, part) for part in parts]
        for part, call in zip(parts, calls, strict=True):
            while not wait([call], timeout=0.1).done:  # with a limit, so that Ctrl-C is heard
                pass
            # A world that cannot be sent to another process is played here; a broken one says here what is wrong.
            yield from call.result() or _run_some(job, part)


def _run_some(job: ShopJob, numbers: range) -> list[_Trial]:
    return [_run_trial(job, number) for number in numbers]


def _run_trial(job: ShopJob, number: int) -> _Trial:
    product = job.product
    strategy, cost = _strategy(job, job.rng(number, _STRATEGY)), product.unit_cost
    earned, stayed, charged = np.empty(job.horizon), np.empty(job.horizon), np.empty(job.horizon)
    for first in range(0, job.horizon, BLOCK):
        count = min(BLOCK, job.horizon - first)
        customers = job.world.contexts(first, BLOCK, job.rng(number, CUSTOMERS, first))
        contexts = encoded(product, customers, BLOCK)[:count]  # so many were asked for
        luck = job.rng(number, _LUCK, first).random(BLOCK)[:count]
        today = np.full(count, product.reference_price)
        stayed[first : first + count] = (
            (today - cost) * product.most * chances(job.world, first, _rows(customers, 0, count), today)
        )
        for start, stop in _stretches(strategy, count):
            piece = slice(start, stop)
            prices = strategy.prices(contexts[piece])
            chance = chances(job.world, first + start, _rows(customers, start, stop), prices)
            strategy.learn(contexts[piece], prices, bought(product, chance, luck[piece]))
            charged[first + start : first + stop] = prices
            earned[first + start : first + stop] = (prices - cost) * product.most * chance
    at = job.checkpoints - 1
    return _Trial(np.cumsum(earned)[at], np.cumsum(stayed)[at], charged)


def _strategy(job: ShopJob, rng: np.random.Generator) -> Strategy:
    """What prices in this job: one of shops' own, or a rival of the catalog."""
    if job.policy == DEFAULT:
        return PrivateStrategy(job.product, job.horizon, job.noise, rng, job.trust)
    if job.policy in STRATEGIES:
        return STRATEGIES[job.policy](job.product, job.horizon, job.noise, rng)
    return RivalStrategy(rival_of(job.policy, job.product, job.horizon, job.noise), job.product, rng)


def _stretches(strategy: Strategy, count: int) -> Iterator[tuple[int, int]]:
    """Where each stretch of equal treatment within a block begins and ends; asked anew after each."""
    start = 0
    while start < count:
        stop = min(count, start + strategy.due)
        yield start, stop
        start = stop


def _rows(customers: Contexts, start: int, stop: int) -> Contexts:
    """Some of the customers, in arrays that a world may write into."""
    if isinstance(customers, Mapping):
        return {name: np.array(column)[start:stop] for name, column in customers.items()}
    return numbers("contexts", customers)[start:stop].copy()
