"""Where private personal prices beat the best single price: a map over customers, epsilon and d.

Regret of `noisy-newton`, the start included, is set against that of the best single price for the same market, which no
shop knows. Every point is an average over markets of the planner's public prior (`research/planner/prior.py`), each
with its own luck; delta is 2/T^2. There are two kinds of it:

    prior   the very markets that `hushprice plan` averages over: the data behind the planner
    gain    markets in which knowing demand earns at least --least-gain a customer more than one price does. In most
            markets of the prior one price is nearly as good as knowing demand, so nothing can beat it

    python benchmarks/map.py --output map                     # the whole map on all cores: hours
    python benchmarks/map.py --output map --device gpu --precision single
    python benchmarks/map.py --output map --quick             # a small one, a minute or two
    python benchmarks/map.py --output map --install           # measures nothing: puts a map into the package and docs

It writes map.json (one entry a point), map.png, and measured.json (the planner's part) into the folder. Trials land in
a resumable store, so a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from map_picture import draw
from map_points import Kind, Point, measure

import hushprice
from hushprice.research.planner import measured, prior
from hushprice.research.sweeps.executors import open_executor
from hushprice.research.sweeps.store import TrialStore

ROOT = Path(__file__).resolve().parents[1]
HORIZONS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
DIMENSIONS = (2, 3, 5, 10)
KINDS = {
    "prior": Kind("all markets of the prior", prior.VECTORS, 40),  # a point: 2,000 trials
    "gain": Kind("markets with something to gain", 20, 100, 1e-4),
}


def planner_data(report: dict[str, Any]) -> measured.MeasuredMap:
    """The part that the planner reads (research/planner/measured.py)."""
    names = {field.name for field in dataclasses.fields(measured.MeasuredPoint)}
    return measured.MeasuredMap(
        command=report["command"],
        device=report["device"],
        precision=report["precision"],
        version=report["version"],
        delta="2/T^2",
        setting=measured.MeasuredSetting(
            map="main", slope=4.0, adjacency="replace-one", vectors=report["kinds"]["prior"]["markets"], seed=0
        ),
        points=[
            measured.MeasuredPoint(customers=each["horizon"], **{name: each[name] for name in names & set(each)})
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
    parser.add_argument("--device", default="cpu", choices=["cpu", "gpu", "auto"])
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
            data=ROOT / "src" / "hushprice" / "research" / "planner" / measured.FILE,
            picture=ROOT / "docs" / "images" / "map.png",
        )
        return
    if args.quick:
        args.dimension, args.horizon = args.dimension or [2], args.horizon or list(HORIZONS[:3])
        args.markets, args.trials = args.markets or 8, args.trials or 4
    grid = args.horizon or HORIZONS, args.epsilon or EPSILONS, args.dimension or DIMENSIONS
    started = time.perf_counter()
    executor, store = open_executor(device=args.device, precision=args.precision), args.store or args.output / "store"
    kinds: dict[str, Kind] = {}
    for name in args.kind or KINDS:
        kind = dataclasses.replace(
            KINDS[name], markets=args.markets or KINDS[name].markets, trials=args.trials or KINDS[name].trials
        )
        kinds[name] = dataclasses.replace(kind, least_gain=args.least_gain) if name == "gain" else kind
    points = measure(kinds, *grid, store=TrialStore(store), executor=executor)
    report = {
        "command": asked_for(sys.argv[1:]),
        "version": hushprice.__version__,
        "prior": prior.STATEMENT,
        "kinds": {name: dataclasses.asdict(kind) for name, kind in kinds.items()},
        "device": executor.chosen.device,
        "precision": executor.chosen.precision,
        "seconds": round(time.perf_counter() - started, 1),
        "points": [{**dataclasses.asdict(each), "ratio": each.ratio} for each in points],
    }
    args.output.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n")
    write(report, data=args.output / measured.FILE, picture=args.output / "map.png")
    print(f"{len(points)} points, {report['seconds']} s, in {args.output}")


if __name__ == "__main__":
    main()
