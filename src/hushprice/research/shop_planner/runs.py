"""Runs of a strategy in a world, kept day by day; many of them in processes of their own."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hushprice.numerics.subprocess_pool import SubprocessPool, cores
from hushprice.product import Product
from hushprice.settings import TRUST
from hushprice.shops.trials import DEFAULT, Progress, run_shop
from hushprice.shops.world import Contexts, World
from hushprice.types import FloatArray

_CALLS = 2  # of each process's worth of runs, so that progress is seen; each call takes seconds to begin
_WORTHWHILE = 30.0  # seconds of work, below which processes of their own cost more than they save


@dataclass(frozen=True, kw_only=True, eq=False)
class ShopRun:
    """One strategy in one world; the seed decides who comes and all luck."""

    policy: str
    product: Product
    world: World
    visitors_per_day: int
    days: int
    seed: int
    noise: bool = True
    trust: str = TRUST[0]

    @property
    def without_attributes(self) -> ShopRun:
        """The same visitors, of whom nothing is known; what a log says about attributes is then of no use."""
        product = replace(self.product, contexts=0, schema=None, prior=None)
        return replace(self, product=product, world=UnseenAttributes(self.world))


@dataclass(frozen=True, eq=False)
class DailyEarnings:
    """Expected earnings up to the end of every day, and the least share of staying since risk is promised."""

    earnings: FloatArray
    staying: FloatArray
    worst: float

    @property
    def gains(self) -> FloatArray:
        """Earned more than staying, as a share of it, up to the end of every day."""
        return np.asarray(self.earnings / self.staying - 1.0)


class UnseenAttributes:
    """A world whose shop sees nothing of its visitors. For one run: it remembers who came last."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._first = 0
        self._customers: Contexts = {}

    def contexts(self, start: int, count: int, rng: np.random.Generator) -> FloatArray:
        self._first, self._customers = start, self._world.contexts(start, count, rng)
        return np.empty((count, 0))

    def probabilities(self, start: int, contexts: Any, prices: FloatArray) -> FloatArray:
        came = slice(start - self._first, start - self._first + len(prices))
        customers: Contexts = (
            self._customers[came]
            if isinstance(self._customers, np.ndarray)
            else {name: np.asarray(column)[came] for name, column in self._customers.items()}
        )
        return self._world.probabilities(start, customers, prices)


def shop_runs(
    product: Product, worlds: Sequence[World], *, visitors_per_day: int, days: int, seed: int
) -> list[ShopRun]:
    """The default policy in every world, each with luck of its own."""
    return [
        ShopRun(
            policy=DEFAULT,
            product=product,
            world=world,
            visitors_per_day=visitors_per_day,
            days=days,
            seed=int(np.random.SeedSequence((seed, number)).generate_state(1)[0]),
        )
        for number, world in enumerate(worlds)
    ]


def play(run: ShopRun) -> DailyEarnings:
    """Earnings by day of one shop, from the policy run in its world."""
    result = run_shop(
        run.policy,
        product=run.product,
        world=run.world,
        horizon=run.visitors_per_day * run.days,
        trials=1,
        seed=run.seed,
        noise=run.noise,
        trust=run.trust,
        workers=1,
    )
    worst = result.worst()  # refuses a world in which staying earns nothing
    served = np.concatenate([[0], result.checkpoints])
    ends = run.visitors_per_day * np.arange(1, run.days + 1)
    earned, stayed = (
        np.interp(ends, served, np.concatenate([[0.0], amounts[0]])) for amounts in (result.earnings, result.staying)
    )
    return DailyEarnings(earned, stayed, worst)


def play_all(
    runs: Sequence[ShopRun],
    *,
    workers: int | None,
    progress: Progress | None = None,
    announce: Callable[[float], None] | None = None,
) -> list[DailyEarnings]:
    """What every run earned, in order. The first one, timed, says how many seconds to announce for the others."""
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, len(runs))

    began = time.perf_counter()
    played = {0: play(runs[0])}
    seconds = (time.perf_counter() - began) * (len(runs) - 1)
    processes = min(workers or cores(), len(runs))
    if announce is not None:
        announce(seconds / processes)
    advance(1)
    rest = list(range(1, len(runs)))
    if processes == 1 or seconds < _WORTHWHILE:
        for number in rest:
            played[number] = play(runs[number])
            advance(1)
        return [played[number] for number in range(len(runs))]
    with closing(SubprocessPool(processes)) as pool:
        parts = [part for first in range(processes * _CALLS) if (part := rest[first :: processes * _CALLS])]
        calls = {pool.submit(_play_some, [runs[number] for number in part]): part for part in parts}
        waiting = set(calls)
        while waiting:
            # With a limit, so that Ctrl-C is heard.
            ended, waiting = wait(waiting, timeout=0.1, return_when="FIRST_COMPLETED")
            for call in ended:
                part = calls[call]
                # A world that cannot be sent to another process is played here; a broken one says here what is wrong.
                played.update(zip(part, call.result() or _play_some([runs[number] for number in part]), strict=True))
                advance(len(part))
    return [played[number] for number in range(len(runs))]


def _play_some(runs: list[ShopRun]) -> list[DailyEarnings]:
    return [play(run) for run in runs]
