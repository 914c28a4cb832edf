"""Where private personal prices beat the best single price: a map over customers, epsilon and d.

Regret of `noisy-newton`, the start included, is set against that of the best single price for the same market, which
no shop knows. Every point is an average over markets of the planner's public prior (`planner/prior.py`), each with its
own luck; delta is 2/T^2. There are two kinds of it:

    prior   the very markets that `hushprice plan` averages over: the data behind the planner
    gain    markets in which knowing demand earns at least --least-gain a customer more than one price does. In most
            markets of the prior one price is nearly as good as knowing demand, so nothing can beat it

    python benchmarks/map.py --output map                     # the whole map on all cores: hours
    python benchmarks/map.py --output map --backend gpu --precision single
    python benchmarks/map.py --output map --quick             # a small one, a minute or two
    python benchmarks/map.py --output map --install           # measures nothing: puts a map into the package and docs

It writes map.json (one entry a point), map.png, and measured.json (the planner's part) into the folder. Trials land in
a resumable store, so a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from map_picture import draw

import hushprice
from hushprice.planner import measured, prior
from hushprice.planner.yardsticks import yardsticks
from hushprice.simulation.market import Market
from hushprice.simulation.result import SimulationResult
from hushprice.sweeps.cell import Cell
from hushprice.sweeps.executors import Executor, open_executor
from hushprice.sweeps.run import run_cells
from hushprice.sweeps.store import Store

ROOT = Path(__file__).resolve().parents[1]
HORIZONS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
DIMENSIONS = (2, 3, 5, 10)
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


KINDS = {
    "prior": Kind("all markets of the prior", prior.VECTORS, 40),  # a point: 2,000 trials
    "gain": Kind("markets with something to gain", 20, 100, 1e-4),
}


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
        if executor is not None and executor.place.device == "gpu":
            from hushprice.simulation.gpu.ahead import compile_ahead

            jobs = [cells_of(horizon, 1.0, prior.markets(d - 1, count=1))[0].prepare() for d in dimensions]
            aside.submit(compile_ahead, jobs, precision=executor.place.precision)  # what fails, the run does again
        yield


def measure(
    kinds: Mapping[str, Kind],
    horizons: Sequence[int],
    epsilons: Sequence[float],
    dimensions: Sequence[int],
    *,
    store: Store | None,
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


def planner_data(report: dict[str, Any]) -> measured.Data:
    """The part that the planner reads (planner/measured.py)."""
    names = {field.name for field in dataclasses.fields(measured.Point)}
    return measured.Data(
        command=report["command"],
        device=report["device"],
        precision=report["precision"],
        version=report["version"],
        delta="2/T^2",
        setting=measured.Setting(
            map="main", slope=4.0, adjacency="replace-one", vectors=report["kinds"]["prior"]["markets"], seed=0
        ),
        points=[
            measured.Point(customers=each["horizon"], **{name: each[name] for name in names & set(each)})
            for each in report["points"]
            if each["kind"] == "prior"
        ],
    )


def write(report: dict[str, Any], *, data: Path, picture: Path) -> None:
    """The planner's part, and the picture of all."""
    if "prior" in report["kinds"]:
        data.write_bytes(msgspec.json.format(msgspec.json.encode(planner_data(report)), indent=1) + b"\n")
    points = [Point(**{name: value for name, value in each.items() if name != "ratio"}) for each in report["points"]]
    titles = {name: kind.title for name, kind in KINDS.items()}
    draw(points, titles).savefig(picture, dpi=110, metadata={"Software": None})


def asked_for(arguments: Sequence[str]) -> str:
    """The command, without the folders of the machine it ran on."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for folder in ("--output", "--store"):
        parser.add_argument(folder)
    return " ".join(["python benchmarks/map.py --output map", *parser.parse_known_args(arguments)[1]])


def options() -> argparse.ArgumentParser:
    """What can be asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--store", type=Path, help="folder of finished trials; default: in the output's")
    parser.add_argument("--install", action="store_true", help="measure nothing; copy what lies in the output's folder")
    parser.add_argument("--backend", default="cpu", choices=["cpu", "gpu", "auto"])
    parser.add_argument("--precision", default="double", choices=["double", "single"])
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="repeat for more; default: both")
    parser.add_argument("--markets", type=int, help="default: 50 of the prior, 20 with something to gain")
    parser.add_argument("--trials", type=int, help="of each market; default: 40 and 100")
    parser.add_argument("--dimension", type=int, action="append", help="repeat for more; default: all")
    parser.add_argument("--horizon", type=int, action="append")
    parser.add_argument("--epsilon", type=float, action="append")
    parser.add_argument("--least-gain", type=float, default=KINDS["gain"].least_gain)
    parser.add_argument("--quick", action="store_true", help="d = 2, up to 1e5 customers, 8 markets, 4 trials each")
    return parser


def main() -> None:
    """Measure, write and draw."""
    args = options().parse_args()
    path = args.output / "map.json"
    if args.install:
        write(
            json.loads(path.read_text()),
            data=ROOT / "src" / "hushprice" / "planner" / measured.FILE,
            picture=ROOT / "docs" / "images" / "map.png",
        )
        return
    if args.quick:
        args.dimension, args.horizon = args.dimension or [2], args.horizon or list(HORIZONS[:3])
        args.markets, args.trials = args.markets or 8, args.trials or 4
    grid = args.horizon or HORIZONS, args.epsilon or EPSILONS, args.dimension or DIMENSIONS
    started = time.perf_counter()
    executor, store = open_executor(device=args.backend, precision=args.precision), args.store or args.output / "store"
    kinds: dict[str, Kind] = {}
    for name in args.kind or KINDS:
        kind = dataclasses.replace(
            KINDS[name], markets=args.markets or KINDS[name].markets, trials=args.trials or KINDS[name].trials
        )
        kinds[name] = dataclasses.replace(kind, least_gain=args.least_gain) if name == "gain" else kind
    points = measure(kinds, *grid, store=Store(store), executor=executor)
    report = {
        "command": asked_for(sys.argv[1:]),
        "version": hushprice.__version__,
        "prior": prior.STATEMENT,
        "kinds": {name: dataclasses.asdict(kind) for name, kind in kinds.items()},
        "device": executor.place.device,
        "precision": executor.place.precision,
        "seconds": round(time.perf_counter() - started, 1),
        "points": [{**dataclasses.asdict(each), "ratio": each.ratio} for each in points],
    }
    args.output.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n")
    write(report, data=args.output / measured.FILE, picture=args.output / "map.png")
    print(f"{len(points)} points, {report['seconds']} s, in {args.output}")


if __name__ == "__main__":
    main()
