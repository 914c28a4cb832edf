"""Every policy in one table: the paper's markets and three shops, on the same customers with the same luck.

    python benchmarks/rivals/table.py              # what is missing in results.json; hours on one core if all is
    python benchmarks/rivals/table.py --page       # put the tables of the last results into docs/lab/rivals.md

A cell is measured once and kept in benchmarks/rivals/results.json; delete it there to measure it again. Speeds are
customers a second of CPU time, in the cell d = 2, T = 100,000, epsilon 1.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

from shops.designed import cases

from hushprice import simulate

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
PAGE = HERE.parents[1] / "docs" / "lab" / "rivals.md"
TRIALS = 4
HORIZONS = (10_000, 100_000)
EPSILONS = (0.2, 1.0, 10.0)
SHOPS = ("elastic", "classes, 60 % buy", "half buy")

# label: policy, settings, what it protects
PRIVATE: dict[str, tuple[str, dict[str, Any], str]] = {
    "**noisy-newton** (ours)": ("noisy-newton", {}, "contexts, outcomes"),
    "**cautious** (ours, shops)": ("cautious", {}, "contexts, outcomes"),
    "paper, tight": ("paper", {}, "contexts, outcomes"),
    "shariff-sheffet": ("shariff-sheffet", {}, "contexts, outcomes"),
    "shariff-sheffet, as published": ("shariff-sheffet", {"calibration": "published"}, "contexts, outcomes"),
    "shariff-sheffet-revenue": ("shariff-sheffet-revenue", {}, "contexts, outcomes"),
    "one-price": ("one-price", {}, "all; reads no context"),
    "mishra-ucb": ("mishra-ucb", {}, "all; reads no context"),
    "mishra-ucb, as published": ("mishra-ucb", {"calibration": "published"}, "all; reads no context"),
    "ldp-mab": ("ldp-mab", {}, "all, from the shop too; reads no context"),
    "ldp-sgd": ("ldp-sgd", {}, "all, from the shop too"),
}
OPEN: dict[str, tuple[str, dict[str, Any], str]] = {
    "nonprivate": ("nonprivate", {}, "nothing"),
    "thompson": ("thompson", {}, "nothing"),
    "ucb-glm": ("ucb-glm", {}, "nothing"),
    "glm-ucb": ("glm-ucb", {}, "nothing"),
    "wang-optimism": ("wang-optimism", {}, "nothing"),
    "rmlp": ("rmlp", {}, "nothing"),
    "mle-cycle": ("mle-cycle", {}, "nothing"),
    "greedy-ils": ("greedy-ils", {}, "nothing"),
    "greedy-ils-dispersed": ("greedy-ils-dispersed", {}, "nothing"),
    "ellipsoid": ("ellipsoid", {}, "nothing"),
    "fixed, best in hindsight": ("fixed", {}, "a yardstick"),
    "random": ("random", {}, "reads nothing"),
}
MARKETS_ONLY = {"noisy-newton", "paper", "nonprivate", "fixed", "random"}
SHOPS_ONLY = {"cautious"}


def cells() -> list[tuple[str, str, int, float | None]]:
    """Label, place, horizon and epsilon of everything there is to measure, the quick ones first."""
    made: list[tuple[str, str, int, float | None]] = []
    for horizon in HORIZONS:
        for place in ("d = 2", "d = 3", *SHOPS):
            for label, (policy, settings, _) in (PRIVATE | OPEN).items():
                if policy in (MARKETS_ONLY if place in SHOPS else SHOPS_ONLY) or (place in SHOPS and settings):
                    continue
                for epsilon in EPSILONS if label in PRIVATE else (None,):
                    made.append((label, place, horizon, epsilon))
    return made


def measure(label: str, place: str, horizon: int, epsilon: float | None) -> dict[str, Any]:
    """Mean, error, what is proven, and CPU seconds a trial."""
    policy, settings, _ = (PRIVATE | OPEN)[label]
    began = time.process_time()
    if place in SHOPS:
        case = cases(horizon)[place]
        product = replace(case.product, epsilon=epsilon or 1.0)
        shop = simulate(policy, product=product, world=case.world, horizon=horizon, trials=TRIALS, workers=1)
        found = {"mean": shop.gain, "error": shop.gain_error, "proven": None}
    else:
        budget = {} if epsilon is None else {"epsilon": epsilon}
        given = {"horizon": horizon, "dimension": int(place[-1]), "trials": TRIALS, "workers": 1}
        market = simulate(policy, **given, **budget, **settings)
        mean, error = market.average_regret.mean, market.average_regret.standard_error
        proven = None if market.proven is None else market.proven.epsilon
        found = {"mean": 1e4 * mean, "error": 1e4 * (error or 0.0), "proven": proven}
    return found | {"seconds": (time.process_time() - began) / TRIALS}


def key(label: str, place: str, horizon: int, epsilon: float | None) -> str:
    return f"{label} | {place} | {horizon} | {epsilon}"


def number(value: float) -> str:
    return f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def entry(found: dict[str, Any] | None, shop: bool) -> str:
    """A cell of a table: regret x 10,000, or earnings as a share of staying."""
    if found is None:
        return "not run"
    if shop:
        return f"{found['mean']:.3f} ± {found['error']:.3f}"
    return f"{number(found['mean'])} ± {number(found['error'])}"


def table(results: dict[str, Any], places: tuple[str, ...], entries: dict[str, Any], epsilon: float | None) -> str:
    """Rows: policies. Columns: what each protects, what is proven, places at both horizons, speed."""
    shop = places[0] in SHOPS
    heads = [f"{place}, T = {horizon:,}" for place in places for horizon in HORIZONS]
    lines = [f"| policy | {'protects' if shop else 'protects | proven'} | {' | '.join(heads)} | customers/s |"]
    lines.append("|---|---|" + ("" if shop else "---:|") + "---:|" * (len(heads) + 1))
    for label, (policy, settings, protects) in entries.items():
        if policy in (MARKETS_ONLY if shop else SHOPS_ONLY) or (shop and settings):
            continue
        found = [results.get(key(label, place, horizon, epsilon)) for place in places for horizon in HORIZONS]
        proven = next((each["proven"] for each in reversed(found) if each and each["proven"] is not None), None)
        told = "" if shop else f" {'-' if proven is None else f'{proven:.3g}'} |"
        timed = found[1]
        speed = "-" if timed is None else f"{HORIZONS[1] / max(timed['seconds'], 1e-9):,.0f}"
        cells = " | ".join(entry(each, shop) for each in found)
        lines.append(f"| {label} | {protects} |{told} {cells} | {speed} |")
    return "\n".join(lines)


def tables(results: dict[str, Any]) -> dict[str, str]:
    """Every table of the page by its name."""
    made = {}
    for epsilon in EPSILONS:
        made[f"cells-{epsilon:g}"] = table(results, ("d = 2", "d = 3"), PRIVATE, epsilon)
        made[f"shops-{epsilon:g}"] = table(results, SHOPS, PRIVATE, epsilon)
    made["cells-open"] = table(results, ("d = 2", "d = 3"), OPEN, None)
    made["shops-open"] = table(results, SHOPS, OPEN, None)
    return made


def write_page(results: dict[str, Any]) -> None:
    """Put the tables between their marks."""
    text = PAGE.read_text()
    for name, made in tables(results).items():
        before, mark, rest = text.partition(f"<!-- {name} -->\n")
        text = before + mark + made + "\n\n" + rest.partition("\n\n")[2]
    PAGE.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after this long, between two cells")
    given = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    began = time.monotonic()
    for cell in [] if given.page else cells():
        if key(*cell) in results or time.monotonic() - began > 60.0 * given.minutes:
            continue
        results[key(*cell)] = {name: value and float(f"{value:.6g}") for name, value in measure(*cell).items()}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        print(key(*cell), entry(results[key(*cell)], cell[1] in SHOPS), flush=True)
    if given.page:
        write_page(results)


if __name__ == "__main__":
    main()
