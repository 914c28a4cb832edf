"""Every policy in one table: the paper's markets and three shops, on the same customers with the same luck.

    python benchmarks/rivals/table.py                              # what is missing in results.json; long if all is
    python benchmarks/rivals/table.py --policy cautious            # this policy alone, what is missing of it
    python benchmarks/rivals/table.py --policy cautious --again    # forgets what was measured of it, and measures it
    python benchmarks/rivals/table.py --page                       # puts tables and picture into docs/lab/rivals.md

A cell is measured once and kept in benchmarks/rivals/results.json, so a run that was stopped goes on. Speeds are
customers a second of CPU time, in the cell d = 2, T = 100,000, epsilon 1.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

from shops.designed import cases

from hushprice import simulate
from rivals.cells import (
    EPSILONS,
    FEWER,
    HORIZONS,
    MARKETS,
    OPEN,
    PRIVATE,
    SHOPS,
    TRIALS,
    cells,
    key,
    policy_in,
    runs_in,
    short,
)
from rivals.lead import answer, curves, lead

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
PAGE = HERE.parents[1] / "docs" / "lab" / "rivals.md"
PICTURE = HERE.parents[1] / "docs" / "images" / "rivals.svg"


def measure(label: str, place: str, horizon: int, epsilon: float | None) -> dict[str, Any]:
    """Mean, error, what is proven, and CPU seconds a trial."""
    policy, settings = (PRIVATE | OPEN)[label]
    began, trials = time.process_time(), FEWER if place in SHOPS and horizon > 10**5 else TRIALS
    if place in SHOPS:
        case = cases(horizon)[place]
        product = replace(case.product, epsilon=epsilon or 1.0)
        shop = simulate(policy, product=product, world=case.world, horizon=horizon, trials=trials, workers=1)
        found = {"mean": shop.gain, "error": shop.gain_error, "proven": None}
    else:
        budget = {} if epsilon is None else {"epsilon": epsilon}
        given = {"horizon": horizon, "dimension": int(place[-1]), "trials": trials, "workers": 1}
        market = simulate(policy, **given, **budget, **settings)
        mean, error = market.average_regret.mean, market.average_regret.standard_error
        proven = None if market.proven is None else market.proven.epsilon
        found = {"mean": 1e4 * mean, "error": 1e4 * (error or 0.0), "proven": proven}
    return found | {"seconds": (time.process_time() - began) / trials, "trials": trials}


def number(value: float) -> str:
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def entry(found: dict[str, Any] | None, shop: bool) -> str:
    """A cell of a table: regret x 10,000, or earnings as a share of staying."""
    if found is None:
        return "-"
    fewer = "" if found["trials"] == TRIALS else f" ({found['trials']:.0f})"
    if shop:
        return f"{found['mean']:.3f}±{found['error']:.3f}"
    return f"{number(found['mean'])}±{number(found['error'])[:4].rstrip('.')}{fewer}"


def table(results: dict[str, Any], places: tuple[str, ...], epsilon: float | None, horizons: tuple[int, ...]) -> str:
    """Rows: policies. Columns: places at each horizon; in markets also what is proven, and customers a second."""
    shop = places == SHOPS
    columns = [f"{place.partition(',')[0]}, {short(horizon)}" for place in places for horizon in horizons]
    extra = [] if shop else ["M/s"] if epsilon is None else ["proven", "M/s"]
    columns += extra
    lines = [f"| policy | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns)]
    for label, (policy, settings) in (OPEN if epsilon is None else PRIVATE).items():
        found = [results.get(key(label, place, horizon, epsilon)) for place in places for horizon in horizons]
        if not runs_in(policy, settings, places) or not any(found):
            continue
        row = [label, *(entry(each, shop) for each in found)]
        if "proven" in extra:
            proven = next((each["proven"] for each in reversed(found) if each and each["proven"] is not None), None)
            row.append("-" if proven is None else f"{proven:.3g}")
        if not shop:
            timed = found[horizons.index(100_000)]
            row.append("-" if timed is None else f"{0.1 / max(timed['seconds'], 1e-9):.2g}")
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def reproduced() -> str:
    """What was found in the rivals' own settings, an item each."""
    found = json.loads((HERE / "reproduced.json").read_text())
    items = (f"- `{name}`. Reported: {each['reported']}. Found: {each['found']}." for name, each in found.items())
    return "\n".join(textwrap.fill(item, 118, subsequent_indent="  ", break_on_hyphens=False) for item in items)


def tables(results: dict[str, Any]) -> dict[str, str]:
    """Every table of the page by its name."""
    made = {
        "answer": answer(results),
        "reproduced": reproduced(),
        "lead-cells": lead(results, MARKETS),
        "lead-shops": lead(results, SHOPS),
    }
    for epsilon in (*EPSILONS, None):
        name = "open" if epsilon is None else f"{epsilon:g}"
        made[f"cells-{name}"] = table(results, MARKETS, epsilon, HORIZONS)
        made[f"shops-{name}"] = table(results, SHOPS, epsilon, HORIZONS[:2])
        made[f"million-{name}"] = table(results, SHOPS, epsilon, HORIZONS[2:])
    return made


def write_page(results: dict[str, Any]) -> None:
    """Put the tables between their marks, and draw the picture."""
    from rivals.picture import draw

    panels = [
        ("The paper's market, d = 2, 100,000 customers", "regret x 10,000 (less is better)", MARKETS[:1]),
        ("Three shops, 100,000 customers: mean", "earnings over staying (more is better)", SHOPS),
    ]
    draw([(title, what, curves(results, places)) for title, what, places in panels], PICTURE)
    text = PAGE.read_text()
    for name, made in tables(results).items():
        before, mark, rest = text.partition(f"<!-- {name} -->\n")
        text = before + mark + made + "\n\n" + rest.partition("\n\n")[2]
    PAGE.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after this long, between two cells")
    parser.add_argument("--policy", action="append", metavar="NAME", help="measure this one alone; repeat for more")
    parser.add_argument("--again", action="store_true", help="forget what was measured of these policies before")
    given = parser.parse_args()
    if given.again and not given.policy:
        parser.error("--again needs --policy")
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if given.again:
        results = {cell: found for cell, found in results.items() if policy_in(cell) not in given.policy}
    began = time.monotonic()
    for cell in [] if given.page else cells():
        if given.policy and policy_in(key(*cell)) not in given.policy:
            continue
        if key(*cell) in results or time.monotonic() - began > 60.0 * given.minutes:
            continue
        results[key(*cell)] = {name: value and float(f"{value:.6g}") for name, value in measure(*cell).items()}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        print(key(*cell), entry(results[key(*cell)], cell[1] in SHOPS), flush=True)
    if given.page:
        write_page(results)


if __name__ == "__main__":
    main()
