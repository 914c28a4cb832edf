"""How often intervals of a fit hold the truth: simulated logs of known demand, each with its own noise.

    python benchmarks/logs/intervals.py --runs 200

Every log has its own customers, its own demand (the shop's word on level and price response is off, attributes matter)
and its own noise. A cell is the share of 95 % intervals (estimate +- 1.96 standard errors) that hold the truth: of the
mean price response / of all coefficients; in a second table, the response's root mean square error / the stated one.
"""

from __future__ import annotations

import argparse
import itertools
import os
from collections.abc import Iterator

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.special import expit

import hushprice
from hushprice.logs.rows import LogRows
from hushprice.policies.cautious.pricing.shop_model import model_of
from hushprice.product import Product
from hushprice.types import FloatArray

ATTRIBUTES = 3
KINDS = ("even", "few", "followed")
WIDE = 1.96


class Drawn:
    """A log of known demand: theta is what the product's own words are off by."""

    partitions = 1

    def __init__(self, product: Product, kind: str, rows: int, seed: int) -> None:
        rng, model = np.random.default_rng((seed, 19)), model_of(product)
        x = np.stack([rng.uniform(-1.0, 1.0, rows), rng.choice([-1.0, 1.0], rows), rng.random(rows) < 0.1], axis=1)
        z = rng.choice([-0.6, 0.0, 0.6], rows) if kind == "few" else rng.uniform(-0.8, 0.8, rows)
        if kind == "followed":
            z = np.clip(0.5 * x[:, 0] + 0.25 * x[:, 1] + rng.normal(0.0, 0.25, rows), -1.0, 1.0)
        level, response = rng.normal(0.0, 0.5), model.response * rng.uniform(-0.7, 1.5)
        self.theta = np.array([level, *rng.normal(0.0, 0.5, 3), response, *rng.normal(0.0, 0.4 * model.response, 3)])
        ones = np.hstack([np.ones((rows, 1)), x])
        self.features, self.rows = np.hstack([ones, -z[:, None] * ones]), rows
        odds = self.features @ self.theta + model.level - model.response * z
        bought = rng.random(rows) < expit(odds)
        self._rows = LogRows(x, z, bought.astype(np.float64), None, None, 0)

    def blocks(self, partition: int) -> Iterator[LogRows]:
        """All of them."""
        yield self._rows


def judged(product: Product, kind: str, rows: int, epsilon: float, runs: int) -> tuple[float, float, float, float]:
    """Coverage of the response, of all coefficients; root mean square error of the response, and its stated error."""
    held, every, errors, stated = list[bool](), list[FloatArray](), list[float](), list[float]()
    for seed in range(runs):
        log = Drawn(product, kind, rows, seed)
        fit = hushprice.fit(log, product=product, epsilon=epsilon, delta=2.0 / rows**2, seed=seed, simulation=True)
        off, covariance = np.array(fit.theta) - log.theta, np.array(fit.covariance)
        half = len(off) // 2
        mean = np.concatenate([np.zeros(half), log.features[:, :half].mean(axis=0)])
        errors.append(float(mean @ off))
        stated.append(float(np.sqrt(mean @ covariance @ mean)))
        held.append(abs(errors[-1]) <= WIDE * stated[-1])
        every.append(np.abs(off) <= WIDE * np.sqrt(np.diag(covariance)))
    root = float(np.sqrt(np.mean(np.square(errors))))
    return float(np.mean(held)), float(np.mean(every)), root, float(np.mean(stated))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rows", type=int, nargs="+", default=[3_000, 30_000])
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 0.5, 1.0, 3.0])
    given = parser.parse_args()
    errors = list[str]()
    print(_line("prices, rows, share bought", [f"{each:g}" for each in given.epsilons]))
    print("|---|" + "---|" * len(given.epsilons))
    for kind, rows, share in itertools.product(KINDS, given.rows, (0.05, 0.5)):
        product = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=share, contexts=ATTRIBUTES)
        cells = [judged(product, kind, rows, each, given.runs) for each in given.epsilons]
        name = f"{kind}, {rows:,}, {share:.0%}"
        print(_line(name, [f"{each[0]:.3f} / {each[1]:.3f}" for each in cells]), flush=True)
        errors.append(_line(name, [f"{each[2]:.3f} / {each[3]:.3f}" for each in cells]))
    print("", *errors, sep="\n")


def _line(name: str, cells: list[str]) -> str:
    return f"| {' | '.join([name, *cells])} |"


if __name__ == "__main__":
    main()
