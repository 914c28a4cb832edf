"""A warm start beside a cold one: the same customers, with a fit of 50,000 rows of the same demand, and of another.

    python benchmarks/logs/warm_start.py --horizon 40000 --runs 4 --worlds designed unseen
    python benchmarks/logs/warm_start.py --horizon 40000 --runs 4 --wrong
    python benchmarks/logs/warm_start.py --horizon 40000 --runs 4 --worlds unseen --log elastic

Earnings are relative to staying. "knows" is what the prices that are believed best would earn, of all customers: of the
warm belief before the first customer, and of the cold one after SAVED; a warm start that knows as much is worth SAVED
fresh customers of learning. "ahead" is what warm earned more than cold over the whole horizon, the mean over runs and
its standard error; "worst" is the lowest moment of any run after 1,000 customers.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from logs.simulated_fit import simulated_fit
from shops.designed import Case, logit, shop

from hushprice.policies.cautious.pricing.shop_model import model_of, with_constant
from hushprice.product import Product
from hushprice.shops import trials
from hushprice.shops.private_strategy import PrivateStrategy
from hushprice.shops.world import World, chances, encoded
from hushprice.types import FloatArray

SAVED = 20_000
PROMISED = 1000

# The product and the world of a run, and the world of another demand that the log is of.
WRONG: dict[str, tuple[Case, World]] = {
    "elastic; log inelastic": (Case(shop(), logit(2.6)), logit(0.3)),
    "inelastic; log elastic": (Case(shop(), logit(0.3, personal=0.5)), logit(2.6)),
    "right; log inelastic": (Case(shop(), logit(1.0, personal=1.7)), logit(0.3)),
    "right; log elastic": (Case(shop(), logit(1.0, personal=1.7)), logit(3.0)),
    "elastic; three times as many buy in the log": (Case(shop(), logit(2.6)), logit(2.6, conversion=0.054)),
    "elastic; attributes the other way round in the log": (Case(shop(), logit(2.6)), logit(2.6, personal=-2.0)),
    "half buy; log of a rise": (
        Case(shop(floor=10.0, ceiling=60.0, conversion=0.5), logit(2.0, conversion=0.5)),
        logit(0.1, conversion=0.5, personal=0.2),
    ),
}


# Logs of other customers for any world: as many buy as its product says, with this elasticity.
OTHERS = {"inelastic": 0.3, "elastic": 3.0}


class Run(NamedTuple):
    """Of a run, relative to staying: all earnings, what its belief was worth at 0 and SAVED customers, the worst."""

    whole: float
    first: float
    saved: float
    worst: float


class Watched(PrivateStrategy):
    """Policy cautious, and what it believed."""

    kept: ClassVar[list[tuple[int, FloatArray]]] = []

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        Watched.kept = [(0, self.quoter.belief.theta)]

    def learn(self, contexts: FloatArray, prices: FloatArray, sales: FloatArray) -> None:
        super().learn(contexts, prices, sales)
        Watched.kept.append((self.learner.count, self.quoter.belief.theta))


def worth(product: Product, world: World, theta: FloatArray) -> float:
    """What the best prices by a belief would earn, relative to staying; of worlds that change, at the start."""
    model, rng = model_of(product), np.random.default_rng(5)
    customers = world.contexts(0, 8000, rng)
    x = with_constant(encoded(product, customers, 8000))
    prices = product.reference_price + product.reach * model.best(*model.lines(theta, x))
    today = np.full(8000, product.reference_price)
    earned, stayed = (
        ((each - product.unit_cost) * chances(world, 0, customers, each)).mean() for each in (prices, today)
    )
    return float(earned / stayed)


def run(job: tuple[str, str, bool, int, float, int, str | None]) -> Run:
    """One run."""
    file, name, warm, horizon, epsilon, number, other = job
    case, log = (
        WRONG[name] if file == "wrong" else (importlib.import_module(f"shops.{file}").cases(horizon)[name], None)
    )
    product = replace(case.product, epsilon=epsilon)
    if other is not None:
        log = logit(OTHERS[other], conversion=product.conversion)
    if warm:
        prior = simulated_fit(product, log or case.world, epsilon=epsilon, seed=number)
        product = replace(product, prior=prior)
    trials.PrivateStrategy = Watched  # type: ignore[misc]
    result = trials.run_shop(
        "cautious", product=product, world=case.world, horizon=horizon, trials=1, seed=number, workers=1
    )
    path: FloatArray = result.earnings[0] / result.staying[0]
    later = [theta for count, theta in Watched.kept if count <= SAVED][-1]
    first, saved = (worth(product, case.world, theta) for theta in (Watched.kept[0][1], later))
    return Run(float(path[-1]), first, saved, float(path[result.checkpoints >= PROMISED].min()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--horizon", type=int, default=40_000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--worlds", nargs="+", default=["designed", "unseen"])
    parser.add_argument("--only", nargs="+", help="names of worlds")
    parser.add_argument("--wrong", action="store_true", help="logs of another demand")
    parser.add_argument("--log", choices=OTHERS, help="a log of other customers, for every world")
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    cells = [
        (file, name)
        for file in (["wrong"] if given.wrong else given.worlds)
        for name in (WRONG if file == "wrong" else importlib.import_module(f"shops.{file}").cases(given.horizon))
    ]
    print("| world | warm knows at 0 | cold at 20,000 | cold earned | warm earned | ahead | worst cold | worst warm |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    with ProcessPoolExecutor(given.processes) as pool:
        for file, name in cells:
            if given.only and name not in given.only:
                continue
            jobs = [
                [(file, name, warm, given.horizon, given.epsilon, number, given.log) for number in range(given.runs)]
                for warm in (False, True)
            ]
            cold, warm = (np.array(list(pool.map(run, each))) for each in jobs)
            ahead = warm[:, 0] - cold[:, 0]
            error = ahead.std(ddof=1) / np.sqrt(len(ahead)) if len(ahead) > 1 else float("nan")
            print(
                f"| {name} | {warm[:, 1].mean():.3f} | {cold[:, 2].mean():.3f} | {cold[:, 0].mean():.3f} "
                f"| {warm[:, 0].mean():.3f} | {ahead.mean():+.3f} ± {error:.3f} "
                f"| {cold[:, 3].min():.3f} | {warm[:, 3].min():.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
