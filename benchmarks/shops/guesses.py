"""What a wrong guess costs: a conversion or an elasticity that is declared three times too high, or too low.

    python benchmarks/shops/guesses.py --runs 8        # about six minutes of one core

Earnings are shares of what staying would have earned from the same customers, in the mean over runs at the end; beside
them the lowest moment of any run after 1,000 customers. "nothing" declares no elasticity: today's price is taken to be
best. Runs are kept in a file: what it has is not run again.
"""

from __future__ import annotations

import argparse
import os
import sys
from itertools import product as pairs
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from hushprice.shops.trials import run_shop
from hushprice.shops.world import World
from shops import kept_runs
from shops.designed import LEVELS, TODAY, logit, shop, worlds

FACTOR = 3.0
HORIZON = 50_000


def truths() -> dict[str, tuple[World, float, float]]:
    """Worlds, with the conversion and the elasticity at today's price."""
    willing = worlds.LogNormal(
        conversion=0.3, reference_price=TODAY, deviation=0.6, attributes=tuple(0.5 * x for x in LEVELS),
        crowd=worlds.mixed,
    )  # fmt: skip
    return {
        "logit, 2 % buy, today's price too high": (logit(2.6, conversion=0.02), 0.02, 2.6),
        "logit, 2 % buy, today's price right": (logit(1.0, conversion=0.02), 0.02, 1.0),
        "logit, 2 % buy, today's price too low": (logit(0.4, conversion=0.02, personal=0.5), 0.02, 0.4),
        # Of a log-normal willingness to pay: density / (chance x deviation).
        "log-normal, 30 % buy, today's price too high": (willing, 0.3, 0.348 / (0.3 * 0.6)),
    }


GUESSES: dict[str, tuple[float, float | None]] = {  # times the true conversion, and the true elasticity
    "both right": (1.0, 1.0),
    "nothing": (1.0, None),
    "conversion / 3": (1 / FACTOR, None),
    "conversion x 3": (FACTOR, None),
    "elasticity / 3": (1.0, 1 / FACTOR),
    "elasticity x 3": (1.0, FACTOR),
    "both / 3": (1 / FACTOR, 1 / FACTOR),
    "both x 3": (FACTOR, FACTOR),
}


def play(job: kept_runs.Job) -> tuple[float, float]:
    """What one run earned at the end, and at its worst moment."""
    truth, guess, horizon, number = job
    world, conversion, elasticity = truths()[truth]
    level, response = GUESSES[guess]
    declared = {} if response is None else {"elasticity": response * elasticity}
    product = shop(conversion=level * conversion, **declared)
    found = run_shop("cautious", product=product, world=world, horizon=horizon, trials=1, seed=number, workers=1)
    return found.gain, found.worst()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--horizon", type=int, default=HORIZON)
    kept_runs.add_options(parser, "build/guesses.jsonl")
    given = parser.parse_args()
    jobs = [
        (truth, guess, given.horizon, number) for number, truth, guess in pairs(range(given.runs), truths(), GUESSES)
    ]
    found = kept_runs.play(play, jobs, given)
    print("| declared | " + " | ".join(truths()) + " |\n|---|" + "---:|" * len(truths()))
    for guess in GUESSES:
        row = []
        for truth in truths():
            some = [each for job, each in found.items() if job[:2] == (truth, guess)]
            row.append(
                f"{np.mean([gain for gain, _ in some]):.3f} ({min(worst for _, worst in some):.3f})" if some else ""
            )
        print(f"| {guess} | " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
