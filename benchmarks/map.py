"""Where private personal prices beat the best single price: a map over customers, epsilon and d.

Every point is an average over markets of the planner's public prior (`planner/prior.py`), each with its own luck.
Regret of `noisy-newton`, the start included, is set against that of the best single price for the same market, which
no shop knows. In most markets of the prior one price is nearly as good as knowing demand, so nothing can beat it;
--least-gain keeps to those where there is something to gain. Trials land in a resumable store, so a run that was
stopped goes on where it was.

    python benchmarks/map.py --output map                     # the whole map on all cores: hours
    python benchmarks/map.py --output map --backend gpu --precision single
    python benchmarks/map.py --output map --quick                    # a small one, a minute or two

It writes map.json (the data behind the picture, one entry a point) and map.png into the folder.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hushprice.planner import prior
from hushprice.planner.yardsticks import yardsticks
from hushprice.simulation.market import Market
from hushprice.sweeps.cell import Cell
from hushprice.sweeps.executors import Executor, open_executor
from hushprice.sweeps.run import run_cells
from hushprice.sweeps.store import Store

HORIZONS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
DIMENSIONS = (2, 3, 5, 10)
MARKETS, TRIALS = 20, 100  # a point: 2,000 trials
OTHER_LUCK = 1000  # the seed of the first market's trials; with one seed for all, markets would share their noise
MOST_DRAWN = 50  # markets looked at for each that is used
_REFERENCE = 0.5  # of no consequence for the yardstick used here


@dataclass(frozen=True)
class Point:
    """One setting, measured. Regret is per customer; errors are standard errors over markets and trials."""

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


def markets_with(dimension: int, count: int, least_gain: float) -> tuple[list[Market], Any]:
    """The prior's first markets in which knowing demand earns at least so much more a customer than one price does."""
    drawn: list[Market] = []
    gains: list[float] = []
    for index, market in enumerate(prior.markets(dimension - 1, count=MOST_DRAWN * count)):
        mark = yardsticks(market, _REFERENCE, 0, index)
        if mark.clairvoyant - mark.one_price >= least_gain:
            drawn.append(market)
            gains.append(mark.clairvoyant - mark.one_price)
        if len(drawn) == count:
            return drawn, np.array(gains)
    raise SystemExit(f"fewer than {count} of {MOST_DRAWN * count} markets at d = {dimension} have that much to gain")


def cells_of(horizon: int, epsilon: float, markets: Sequence[Market]) -> list[Cell]:
    """One cell a market."""
    return [
        Cell(policy="noisy-newton", horizon=horizon, epsilon=epsilon, market=market, seed=OTHER_LUCK + index)
        for index, market in enumerate(markets)
    ]


def measure(
    horizons: Sequence[int],
    epsilons: Sequence[float],
    dimensions: Sequence[int],
    *,
    markets: int,
    trials: int,
    store: Store | None,
    least_gain: float = 0.0,
    executor: Executor | None = None,
) -> list[Point]:
    """All points, the cells of each horizon and d in one go, so that a GPU gets many at once."""
    points: list[Point] = []
    for dimension, horizon in itertools.product(dimensions, horizons):
        drawn, single = markets_with(dimension, markets, least_gain)
        asked = {epsilon: cells_of(horizon, epsilon, drawn) for epsilon in epsilons}
        every = [cell for cells in asked.values() for cell in cells]
        results = run_cells(every, trials=trials, store=store, executor=executor)
        for epsilon, cells in asked.items():
            regret = np.array([results[cell].regret for cell in cells])  # (markets, trials), a customer
            points.append(point(horizon, epsilon, dimension, regret, single))
            print(_line(points[-1]), flush=True)
    return points


def point(horizon: int, epsilon: float, dimension: int, regret: Any, single: Any) -> Point:
    """From every trial's average regret, and each market's for one price."""
    own = regret.mean(axis=1)
    within = regret.var(axis=1, ddof=1).mean() if regret.shape[1] > 1 else 0.0
    return Point(
        horizon=horizon,
        epsilon=epsilon,
        dimension=dimension,
        regret=float(own.mean()),
        error=float(math.sqrt(within / regret.size)),
        one_price=float(single.mean()),
        beats=float(np.mean(own < single)),
        trials=int(regret.size),
    )


def _line(found: Point) -> str:
    return (
        f"d = {found.dimension}, T = {found.horizon:>9,}, epsilon {found.epsilon:<4g}"
        f" regret x 1e4 {1e4 * found.regret:8.3g} +- {1e4 * found.error:.2g}"
        f", one price {1e4 * found.one_price:.3g}, ratio {found.ratio:.2f}, beats in {100 * found.beats:.0f} %"
    )


def draw(points: Sequence[Point]) -> Any:
    """A panel for each d: ratio of regrets as colour and number, blue where personal prices win."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import TwoSlopeNorm
    from matplotlib.figure import Figure

    dimensions, horizons, epsilons = (
        sorted({getattr(each, name) for each in points}) for name in ("dimension", "horizon", "epsilon")
    )
    figure = Figure(figsize=(1.5 + 3.2 * len(dimensions), 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    panels = np.atleast_1d(figure.subplots(1, len(dimensions), sharey=True))
    at = {(each.dimension, each.epsilon, each.horizon): each for each in points}
    for axes, dimension in zip(panels, dimensions, strict=True):
        ratio = np.array([[at[dimension, epsilon, horizon].ratio for horizon in horizons] for epsilon in epsilons])
        shown = np.clip(np.log2(ratio), -3.0, 3.0)
        image = axes.imshow(shown, norm=TwoSlopeNorm(0.0, -3.0, 3.0), cmap="PuOr_r", origin="lower", aspect="auto")
        for (row, column), value in np.ndenumerate(ratio):
            dark = abs(shown[row, column]) > 2.0
            axes.text(column, row, _short(value), ha="center", va="center", color="white" if dark else "black")
        axes.set_xticks(range(len(horizons)), [f"{horizon:.0e}".replace("e+0", "e") for horizon in horizons])
        axes.set_yticks(range(len(epsilons)), [f"{epsilon:g}" for epsilon in epsilons])
        axes.set_title(f"d = {dimension}", loc="left")
        axes.set_xlabel("customers")
    panels[0].set_ylabel("epsilon, total")
    figure.colorbar(image, ax=list(panels), label="log2 of regret / best single price's")
    return figure


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 10.0 else f"{value:.0f}"


def main() -> None:
    """Measure, write and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--backend", default="cpu", choices=["cpu", "gpu", "auto"])
    parser.add_argument("--precision", default="double", choices=["double", "single"])
    parser.add_argument("--markets", type=int, default=MARKETS)
    parser.add_argument("--trials", type=int, default=TRIALS, help="of each market")
    parser.add_argument("--dimension", type=int, action="append", help="repeat for more; default: all")
    parser.add_argument("--horizon", type=int, action="append")
    parser.add_argument("--epsilon", type=float, action="append")
    help_gain = "leave out markets where knowing demand earns less than this a customer above one price"
    parser.add_argument("--least-gain", type=float, default=0.0, help=help_gain)
    parser.add_argument("--quick", action="store_true", help="d = 2, up to 1e5 customers, 8 markets, 4 trials each")
    args = parser.parse_args()
    if args.quick:
        args.dimension, args.horizon = args.dimension or [2], args.horizon or list(HORIZONS[:3])
        args.markets, args.trials = min(args.markets, 8), min(args.trials, 4)
    started = time.perf_counter()
    executor = open_executor(device=args.backend, precision=args.precision)
    points = measure(
        args.horizon or HORIZONS,
        args.epsilon or EPSILONS,
        args.dimension or DIMENSIONS,
        markets=args.markets,
        trials=args.trials,
        store=Store(args.output / "store"),
        least_gain=args.least_gain,
        executor=executor,
    )
    place = executor.place
    report = {
        "prior": prior.STATEMENT,
        "least_gain": args.least_gain,
        "markets": args.markets,
        "trials": args.trials,
        "device": place.device,
        "precision": place.precision,
        "seconds": round(time.perf_counter() - started, 1),
        "points": [{**dataclasses.asdict(each), "ratio": each.ratio} for each in points],
    }
    (args.output / "map.json").write_text(json.dumps(report, indent=1) + "\n")
    draw(points).savefig(args.output / "map.png", dpi=130)
    print(f"{len(points)} points, {report['seconds']} s, in {args.output}")


if __name__ == "__main__":
    main()
