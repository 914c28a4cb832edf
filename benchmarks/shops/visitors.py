"""How many visitors policy cautious needs: the table of docs/guide/will_it_pay.md.

    python benchmarks/shops/visitors.py            # print it: some minutes on two cores
    python benchmarks/shops/visitors.py --page     # and put it into the page

Cells that the file of runs has are not run again: where the policy has changed, name another file.

The shop is that of examples/few_buy.toml, with other shares of buyers and other elasticities.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from dataclasses import replace
from itertools import product as pairs
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from hushprice import Product, load_product, load_world, simulate
from hushprice.shops.worlds import Logit
from shops import kept_runs

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "guide" / "will_it_pay.md"
SHOP = ROOT / "examples" / "few_buy.toml"
MARK = "<!-- visitors -->\n"

CONVERSIONS = (0.02, 0.1, 0.5)
TRUTHS = {
    "too high": 2.6,
    "about right": 1.47,
    "too low": 0.8,
}  # today's price, by the elasticity at it; 25/17 is right
VISITORS = (5_000, 50_000)
TRIALS = 4
_SAMPLED = 4_000  # customers, for what was possible


class Cell(NamedTuple):
    """Earnings as shares of staying."""

    gain: float
    error: float
    worst: float


class Row(NamedTuple):
    """One shop."""

    conversion: float
    truth: str
    single: float  # what the best single price would earn
    personal: float  # and the best personal prices
    cells: tuple[Cell, ...]  # by VISITORS


def shop_of(conversion: float, truth: str) -> tuple[Product, Logit]:
    """The file's shop with this share of buyers, in a world with this elasticity."""
    known = load_product(SHOP)
    world = replace(load_world(SHOP, known), conversion=conversion, elasticity=TRUTHS[truth])
    return replace(known, conversion=conversion), world


def play(job: kept_runs.Job) -> Cell:
    """All runs of a shop with so many visitors."""
    conversion, truth, visitors, trials = job
    product, world = shop_of(conversion, truth)
    found = simulate(product=product, world=world, horizon=visitors, trials=trials, seed=0, workers=1)
    return Cell(found.gain, found.gain_error or 0.0, found.worst())


def possible(product: Product, world: Logit) -> tuple[float, float]:
    """What the best single price and the best personal prices earn, as shares of staying."""
    people = world.contexts(0, _SAMPLED, np.random.default_rng(0))

    def earned(price: float) -> np.ndarray:
        return (price - product.unit_cost) * world.probabilities(0, people, np.full(_SAMPLED, price))

    staying = earned(product.reference_price).mean()
    table = np.array([earned(price) for price in np.linspace(product.floor, product.ceiling, 281)])
    return float(table.mean(axis=1).max() / staying), float(table.max(axis=0).mean() / staying)


def table(rows: list[Row]) -> str:
    """Markdown."""
    after = " | ".join(f"after {visitors:,}" for visitors in VISITORS)
    lines = [
        f"| buyers | today's price is | best single price | best personal prices | {after} | worst moment |",
        f"|---:|---|---:|---:|{'---:|' * len(VISITORS)}---:|",
    ]
    for row in rows:
        cells = [f"{_percent(cell.gain)} ± {100.0 * cell.error:.1f}" for cell in row.cells]
        worst = _percent(min(cell.worst for cell in row.cells))
        shown = (
            f"{100.0 * row.conversion:g} %",
            row.truth,
            _percent(row.single),
            _percent(row.personal),
            *cells,
            worst,
        )
        lines.append(f"| {' | '.join(shown)} |")
    return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{100.0 * (share - 1.0):+.1f} %"


def main() -> None:
    """Measure, print, and put it into the page if asked."""
    parser = argparse.ArgumentParser(description="How many visitors policy cautious needs.")
    parser.add_argument("--page", action="store_true", help="also put the table into docs/guide/will_it_pay.md")
    kept_runs.add_options(parser, "build/visitors.jsonl")
    options = parser.parse_args()
    shops = list(pairs(CONVERSIONS, TRUTHS))
    jobs = [(*shop, visitors, TRIALS) for shop in shops for visitors in VISITORS]
    found = kept_runs.play(play, jobs, options)
    if len(found) < len(jobs):
        sys.exit(f"{len(jobs) - len(found)} of {len(jobs)} cells are left")
    rows = []
    for shop in shops:
        cells = tuple(Cell(*found[*shop, visitors, TRIALS]) for visitors in VISITORS)
        rows.append(Row(*shop, *possible(*shop_of(*shop)), cells))
    made = table(rows)
    print(made)
    if options.page:
        page = PAGE.read_text()
        PAGE.write_text(re.sub(rf"(?<={re.escape(MARK)}).*?(?=\n\n)", lambda _: made, page, count=1, flags=re.DOTALL))


if __name__ == "__main__":
    main()
