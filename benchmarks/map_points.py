"""The points of the map that benchmarks/map.py draws: which markets, which cells, and what their trials say."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hushprice.research.planner import prior
from hushprice.research.planner.yardsticks import yardsticks
from hushprice.research.sweeps.cell import Cell
from hushprice.research.sweeps.executors import Executor
from hushprice.research.sweeps.run import run_cells
from hushprice.research.sweeps.store import TrialStore
from hushprice.simulation.market import Market
from hushprice.simulation.result import SimulationResult

OTHER_LUCK = 1000  # the seed of the first market's trials; with one seed for all, markets would share their noise
MOST_DRAWN = 50  # markets looked at for each that is used
_REFERENCE = 0.5  # of no consequence for the yardstick used here


@dataclass(frozen=True)
class Kind:
    """Which markets, and how many trials of each."""

    title: str
    markets: int
    trials: int
    least_gain: float = 0.0


class Spot(NamedTuple):
    """Where on the map a point lies."""

    kind: str
    dimension: int
    horizon: int
    epsilon: float


@dataclass(frozen=True)
class Point:
    """One setting, measured. Regret is per customer; errors are standard errors over trials, for these markets."""

    kind: str
    horizon: int
    epsilon: float
    dimension: int
    regret: float
    error: float
    one_price: float  # regret of the best single price, mean over the same markets
    beats: float  # share of the markets where the private policy's mean regret is the smaller one
    trials: int

    @property
    def ratio(self) -> float:
        """Below 1: personal prices earn more, privacy and learning paid."""
        return self.regret / self.one_price if self.one_price > 0.0 else math.inf


def markets_with(dimension: int, count: int, least_gain: float) -> tuple[list[Market], Any] | None:
    """The prior's first markets in which knowing demand earns at least so much more a customer than one price does.

    None where they are too rare: with many attributes the best price of nearly everybody is the top price.
    """
    drawn: list[Market] = []
    gains: list[float] = []
    # A vector depends on how many are drawn with it, so the planner's own are drawn as the planner does.
    looked_at = MOST_DRAWN * count if least_gain > 0.0 else count
    for index, market in enumerate(prior.markets(dimension - 1, count=looked_at)):
        mark = yardsticks(market, _REFERENCE, 0, index)
        gain = max(0.0, mark.clairvoyant - mark.one_price)  # rounding
        if gain >= least_gain:
            drawn.append(market)
            gains.append(gain)
        if len(drawn) == count:
            return drawn, np.array(gains)
    print(f"fewer than {count} of {looked_at} markets at d = {dimension} have {least_gain:g} to gain: left out")
    return None


def cells_of(horizon: int, epsilon: float, markets: Sequence[Market]) -> list[Cell]:
    """One cell a market, with the reference price that a plan has: the policy's own."""
    return [
        Cell(policy="noisy-newton", horizon=horizon, epsilon=epsilon, market=market, seed=OTHER_LUCK + index)
        for index, market in enumerate(markets)
    ]


@contextmanager
def kernels_aside(executor: Executor | None, horizon: int, dimensions: Sequence[int]) -> Iterator[None]:
    """A GPU's kernels take most of a minute to compile: the host draws its markets meanwhile. Leaving waits."""
    with ThreadPoolExecutor(1) as aside:
        if executor is not None and executor.chosen.device == "gpu":
            from hushprice.simulation.gpu.precompile import precompile
            from hushprice.simulation.gpu.session import process_session

            jobs = [cells_of(horizon, 1.0, prior.markets(d - 1, count=1))[0].prepare() for d in dimensions]
            aside.submit(precompile, process_session(), jobs, precision=executor.chosen.precision)  # a run tries again
        yield


def measure(
    kinds: Mapping[str, Kind],
    horizons: Sequence[int],
    epsilons: Sequence[float],
    dimensions: Sequence[int],
    *,
    store: TrialStore | None,
    executor: Executor | None = None,
) -> list[Point]:
    """All points in one go, long ones first: a GPU gets many at once, of all kinds, and compiles side by side."""
    with kernels_aside(executor, horizons[0], dimensions):
        looked_for = {
            (name, d): markets_with(d, kind.markets, kind.least_gain)
            for name, kind in kinds.items()
            for d in dimensions
        }
    drawn = {own: found for own, found in looked_for.items() if found is not None}
    grid = itertools.product(drawn, dict.fromkeys(horizons), dict.fromkeys(epsilons))
    spots = [Spot(name, d, T, epsilon) for (name, d), T, epsilon in grid]
    home: dict[Cell, list[tuple[Spot, int]]] = {}  # more than one where kinds have a market in common
    for spot in sorted(spots, key=lambda each: -each.horizon * each.dimension):
        for row, cell in enumerate(cells_of(spot.horizon, spot.epsilon, drawn[spot[:2]][0])):
            home.setdefault(cell, []).append((spot, row))
    regret = {each: np.zeros((kinds[each.kind].markets, kinds[each.kind].trials)) for each in spots}
    left = {spot: len(own) for spot, own in regret.items()}
    points: dict[Spot, Point] = {}

    def done(cell: Cell, result: SimulationResult) -> None:
        for spot, row in home[cell]:
            own = regret[spot]  # a customer
            own[row] = result.regret[: own.shape[1]]
            left[spot] -= 1
            if left[spot] == 0:
                points[spot] = point(spot, own, drawn[spot[:2]][1])
                print(_line(points[spot]), flush=True)

    trials = {cell: max(kinds[spot.kind].trials for spot, _ in its) for cell, its in home.items()}
    run_cells(home, trials=trials, store=store, executor=executor, on_cell_done=done)
    return [points[spot] for spot in spots]


def point(spot: Spot, regret: Any, single: Any) -> Point:
    """From every trial's average regret, and each market's for one price."""
    own = regret.mean(axis=1)
    within = regret.var(axis=1, ddof=1).mean() if regret.shape[1] > 1 else 0.0
    return Point(
        **spot._asdict(),
        regret=float(own.mean()),
        error=float(math.sqrt(within / regret.size)),
        one_price=float(single.mean()),
        beats=float(np.mean(own < single)),
        trials=int(regret.size),
    )


def _line(found: Point) -> str:
    return (
        f"{found.kind}: d = {found.dimension}, T = {found.horizon:>9,}, epsilon {found.epsilon:<4g}"
        f" regret x 1e4 {1e4 * found.regret:8.3g} +- {1e4 * found.error:.2g}"
        f", one price {1e4 * found.one_price:.3g}, ratio {found.ratio:.3g}, beats in {100 * found.beats:.0f} %"
    )
