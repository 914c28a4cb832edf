"""Write the paper's instance for programs that cannot import hushprice.

python benchmarks/peers/export.py build/peers/d2.npz --dimension 2 --horizon 1e5 --trials 3 --seed 0
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from instance import Instance

from hushprice.numerics import tape
from hushprice.numerics.jit import step
from hushprice.simulation.kernels.customers import arrive
from hushprice.simulation.market import paper_market
from hushprice.simulation.scratch import STRETCH, Stretch, new_stretch
from hushprice.simulation.world import KernelMarket
from hushprice.types import FloatArray


@step
def _fill(
    world: KernelMarket,
    seed: int,
    trial: int,
    horizon: int,
    x: FloatArray,
    u: FloatArray,
    line: FloatArray,
    stretch: Stretch,
) -> None:
    """What the simulator's own steps make of (seed, trial): contexts, tastes, a, b, clairvoyant price and revenue."""
    for start in range(1, horizon + 1, STRETCH):
        count = min(STRETCH, horizon - start + 1)
        arrive(world, seed, trial, start, count, stretch)
        for i in range(count):
            n = start - 1 + i
            for j in range(world.stream.size):
                x[n, j] = stretch.x[j, i]
            u[n] = tape.uniform(seed, trial, start + i, tape.DEMAND)
            for row in range(4):
                line[row, n] = stretch.line[row, i]


def paper_instance(dimension: int, *, horizon: int, trials: int, seed: int) -> Instance:
    """The customers `simulate(horizon=horizon, dimension=dimension, trials=trials, seed=seed)` meets."""
    market = paper_market(dimension)
    x = np.empty((trials, horizon, dimension - 1))
    u = np.empty((trials, horizon))
    line = np.empty((trials, 4, horizon))
    for trial in range(trials):
        stretch = new_stretch(dimension - 1, dimension)
        _fill(market.world(horizon), seed, trial, horizon, x[trial], u[trial], line[trial], stretch)
    return Instance(
        slope=float(market.demand.slope),
        contexts=x,
        uniforms=u,
        a=line[:, 0],
        b=line[:, 1],
        best_prices=line[:, 2],
        best_revenues=line[:, 3],
    )


def main() -> None:
    """Write one file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--dimension", type=int, default=2)
    parser.add_argument("--horizon", type=lambda text: int(float(text)), default=100_000)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    given = vars(parser.parse_args())
    paper_instance(given.pop("dimension"), horizon=given["horizon"], trials=given["trials"], seed=given["seed"]).save(
        given["path"]
    )


if __name__ == "__main__":
    main()
