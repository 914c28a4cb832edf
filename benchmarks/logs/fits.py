"""Private fits of six real logs against maximum likelihood, diffprivlib and noisy gradient descent (docs/lab/logs.md).

    python benchmarks/logs/export_logs.py build/logs        # both in an environment of benchmarks/logs/requirements.txt
    python benchmarks/logs/fits.py build/logs --python build/logs-venv/bin/python

The last runs the rivals with that Python, our fit with this one, and prints the tables; without --python, our fit
alone. Everybody has the product's
model, the same rows, replace-one neighbours of one row, and the epsilon named; ours and noisy descent have delta 2/n^2
and the same accountant, diffprivlib claims delta 0.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import polars
from rival_fits import maximum_likelihood

import hushprice
from hushprice.demand.schema import Boolean, Category, Number, Schema
from hushprice.logs.read import open_log
from hushprice.policies.cautious.pricing.shop_model import with_constant
from hushprice.privacy import gaussian
from hushprice.product import Product
from hushprice.types import FloatArray

EPSILONS = (0.1, 0.5, 1.0, 3.0)
SEEDS = 60  # of ours; rivals have 20, which take far longer


def _schema(*attributes: Any) -> Schema:
    return Schema(attributes=attributes)


# What a shop would say beforehand: round numbers, none of them fitted.
PRODUCTS = {
    "rand": Product(
        floor=0.0,
        ceiling=100.0,
        reference_price=25.0,
        conversion=0.7,
        elasticity=0.2,
        schema=_schema(
            Number(name="limits", low=0.0, high=1.0),
            Number(name="diseases", low=0.0, high=60.0),
            Category(name="health", levels=("excellent", "good", "fair", "poor")),
        ),
    ),
    "thornton": Product(
        floor=0.0,
        ceiling=3.0,
        reference_price=2.0,
        conversion=0.7,
        elasticity=0.2,
        schema=_schema(
            Number(name="distance", low=0.0, high=6.0),
            Number(name="age", low=15.0, high=85.0),
            Boolean(name="positive"),
        ),
    ),
    "swissmetro": Product(
        floor=0.0,
        ceiling=400.0,
        reference_price=120.0,
        conversion=0.5,
        elasticity=0.5,
        schema=_schema(
            Number(name="minutes", low=0.0, high=300.0),
            Number(name="train_minutes", low=0.0, high=500.0),
            Boolean(name="car"),
            Boolean(name="first"),
            Number(name="age", low=1.0, high=6.0),
            Boolean(name="male"),
        ),
    ),
    "tafeng": Product(
        floor=110.0,
        ceiling=190.0,
        reference_price=158.0,
        conversion=0.02,
        elasticity=2.0,
        schema=_schema(
            Number(name="age", low=20.0, high=70.0), Category(name="area", levels=("elsewhere", "115", "221"))
        ),
    ),
    # Nobody looked at these two while the fit was made.
    "train": Product(
        floor=0.0,
        ceiling=80.0,
        reference_price=35.0,
        conversion=0.5,
        elasticity=1.0,
        schema=_schema(
            Number(name="minutes", low=60.0, high=240.0),
            Number(name="other_minutes", low=60.0, high=240.0),
            Number(name="other_fare", low=0.0, high=80.0),
        ),
    ),
    "electricity": Product(
        floor=5.0,
        ceiling=10.0,
        reference_price=8.0,
        conversion=0.25,
        elasticity=1.0,
        schema=_schema(Number(name="years", low=0.0, high=5.0), Boolean(name="local"), Boolean(name="known")),
    ),
}


def encoded(name: str, folder: Path) -> tuple[polars.DataFrame, FloatArray, FloatArray, FloatArray]:
    """The table without customers, its features [1; x; -z; -z x], what was bought, and the shop's guess."""
    table = polars.read_csv(
        folder / f"{name}.csv", schema_overrides={"area": polars.String} if name == "tafeng" else {}
    )
    table = table.drop("customer", strict=False)
    log = open_log(table, product=PRODUCTS[name])
    blocks = [block for part in range(log.partitions) for block in log.blocks(part)]
    rows = with_constant(np.concatenate([block.contexts for block in blocks]))
    prices = np.concatenate([block.prices for block in blocks])
    half = rows.shape[1]
    guess = np.zeros(2 * half)
    guess[0], guess[half] = PRODUCTS[name].level, PRODUCTS[name].response
    bought = np.concatenate([block.demands for block in blocks])
    return table, np.hstack([rows, -prices[:, None] * rows]), bought, guess


def likelihood(features: FloatArray, bought: FloatArray, theta: FloatArray) -> float:
    odds = features @ theta
    return float(np.mean(bought * odds - np.logaddexp(0.0, odds)))


def response(features: FloatArray, theta: FloatArray) -> float:
    """What the log-odds fall by over one reach, on average over the rows."""
    half = features.shape[1] // 2
    return float(features[:, :half].mean(axis=0) @ theta[half:])


def judged(runs: list[FloatArray], best: FloatArray, features: FloatArray, bought: FloatArray) -> tuple[float, ...]:
    """Log-likelihood a row x 1e4 below the best and its standard error; root mean square error of the response."""
    below = np.array([likelihood(features, bought, each) for each in runs]) - likelihood(features, bought, best)
    off = np.array([response(features, each) - response(features, best) for each in runs])
    root = float(np.sqrt(np.mean(off * off)))
    return 1e4 * float(below.mean()), 1e4 * float(below.std(ddof=1)) / len(runs) ** 0.5, root


def measure(name: str, folder: Path, python: str | None) -> list[dict[str, Any]]:
    """The cells of one log. Rivals that were run before are not run again, and without a Python not at all."""
    table, features, bought, guess = encoded(name, folder)
    delta = 2.0 / len(bought) ** 2
    np.savez(
        folder / f"{name}.npz",
        features=features,
        bought=bought,
        guess=guess,
        epsilons=EPSILONS,
        mus=[gaussian.mu_of(epsilon, delta) for epsilon in EPSILONS],
    )
    best, kept = maximum_likelihood(features, bought), folder / f"{name}.json"
    if python is not None and not kept.exists():
        subprocess.run([python, str(Path(__file__).with_name("rival_fits.py")), str(folder), name], check=True)
    answers = json.loads(kept.read_text()) if kept.exists() else {"rivals": []}
    cells = [
        {"log": name, "epsilon": each["epsilon"], "who": each["rival"], "chosen": each["chosen"]}
        | _judged([np.array(run) for run in each["runs"]], best, features, bought)
        for each in answers["rivals"]
    ]
    for epsilon in EPSILONS:
        fits = [
            hushprice.fit(table, product=PRODUCTS[name], epsilon=epsilon, delta=delta, seed=seed, simulation=True)
            for seed in range(SEEDS)
        ]
        ours = _judged([guess + np.array(fit.theta) for fit in fits], best, features, bought)
        cells.append({"log": name, "epsilon": epsilon, "who": "hushprice"} | ours)
    facts = {"log": name, "who": "facts", "rows": len(bought), "parameters": features.shape[1], "delta": delta}
    facts |= {"maximum likelihood": likelihood(features, bought, best), "response": response(features, best)}
    facts |= {"guess": 1e4 * (likelihood(features, bought, guess) - likelihood(features, bought, best))}
    return [facts, *cells]


def _judged(*given: Any) -> dict[str, float]:
    return dict(zip(("below", "error", "response"), judged(*given), strict=True))


def page(cells: list[dict[str, Any]]) -> str:
    """The tables, as docs/lab/logs.md has them."""
    lines = []
    for facts in (each for each in cells if each["who"] == "facts"):
        name = facts["log"]
        lines += [
            f"### {name}",
            "",
            f"{facts['rows']:,} rows, {facts['parameters']} parameters, delta {facts['delta']:.1e}.",
        ]
        lines[-1] += f" Maximum likelihood: {facts['maximum likelihood']:.4f} a row, response {facts['response']:.3f}."
        lines += [f"The shop's guess alone: {facts['guess']:.0f}.", ""]
        lines += ["| epsilon | ours | diffprivlib | noisy descent |", "|---|---|---|---|"]
        for epsilon in EPSILONS:
            row = [f"{epsilon:g}"]
            for who in ("hushprice", "diffprivlib", "noisy descent"):
                cell = next((c for c in cells if (c["log"], c.get("epsilon"), c["who"]) == (name, epsilon, who)), None)
                row.append(f"{cell['below']:.1f} +- {cell['error']:.1f}; {cell['response']:.3f}" if cell else "")
            lines.append(f"| {' | '.join(row)} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", help="of benchmarks/logs/requirements.txt, for the rivals")
    parser.add_argument("--logs", nargs="*", default=list(PRODUCTS))
    given = parser.parse_args()
    cells = [cell for name in given.logs for cell in measure(name, given.folder, given.python)]
    (given.folder / "fits.json").write_text(json.dumps(cells, indent=1))
    print(page(cells))


if __name__ == "__main__":
    main()
