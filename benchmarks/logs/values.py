"""Do intervals of `hushprice evaluate` cover? Simulated worlds against the truth, and halves of real experiments.

    python benchmarks/logs/values.py worlds --runs 200
    python benchmarks/logs/values.py rand --runs 200        # needs statsmodels
    python benchmarks/logs/values.py thornton --runs 200    # needs causaldata

Results: docs/lab/log_values.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hushprice.logs.evaluation import Evaluation, evaluate_log
from hushprice.logs.log_reader import LogReader
from hushprice.logs.price_policy import PricePolicy
from hushprice.logs.richer_model import likeliest
from hushprice.logs.rows import LogRows
from hushprice.policies.cautious.pricing.shop_model import model_of
from hushprice.product import Product
from hushprice.research.audits.log_sums import MemoryLog
from hushprice.shops.worlds import LatentClasses, Logit, LogNormal, Probit, uniform
from hushprice.types import FloatArray

NAMES = ("inverse_propensity", "self_normalized", "doubly_robust", "replay")
PRODUCT = Product(floor=15.0, ceiling=35.0, reference_price=25.0, conversion=0.1, contexts=2)
FEW = np.array([-0.8, -0.4, 0.0, 0.4, 0.8])
THETA = np.array([0.1, 0.3, -0.2, 0.6, 0.4, -0.2])  # of the policy: right about none of the worlds
ROWS = 3000
WAYS = (("few", "auto"), ("few", "estimate"), ("even", "auto"), ("even", "estimate"))  # prices, propensities
_TASTE = {"reference_price": 25.0, "attributes": (0.5, -0.3)}
_LOGIT = Logit(conversion=0.1, elasticity=2.0, interactions=(0.8, 0.3), **_TASTE)
WORLDS: dict[str, Any] = {
    "logit": _LOGIT,
    "probit": Probit(conversion=0.1, steepness=1.5, **_TASTE),
    "log-normal": LogNormal(conversion=0.2, deviation=0.4, **_TASTE),
    "latent classes": LatentClasses(
        kinds=(Logit(conversion=0.3, elasticity=0.8, **_TASTE), Logit(conversion=0.05, elasticity=4.0, **_TASTE)),
        shift=np.array([[0.8, -0.8], [0.0, 0.5]]),
        crowd=uniform(2),
    ),
}


def drawn(world: Any, kind: str, rng: np.random.Generator) -> LogRows:
    """A log: `few` prices whose chances move with the first attribute, or `even` over the range."""
    contexts = world.contexts(0, ROWS, rng)
    if kind == "few":
        odds = np.exp(contexts[:, :1] * np.linspace(-0.5, 0.5, FEW.size))
        chances = odds / odds.sum(axis=1, keepdims=True)
        which = (rng.random((ROWS, 1)) > chances.cumsum(axis=1)).sum(axis=1)
        prices, likely = FEW[which], chances[np.arange(ROWS), which]
    else:
        prices, likely = rng.uniform(-1.0, 1.0, ROWS), np.full(ROWS, 0.05)
    bought = rng.random(ROWS) < world.probabilities(0, contexts, 25.0 + 10.0 * prices)
    return LogRows(contexts, prices, bought.astype(np.float64), None, likely, 0)


def worlds(runs: int) -> None:
    """Bias, spread and coverage against the truth."""
    fit = PricePolicy(label="fit", model=model_of(PRODUCT), theta=THETA)
    print(f"{runs} logs of {ROWS} rows each; bias in standard errors, spread over stated error, coverage at 95 %")
    for number, (name, world) in enumerate(WORLDS.items()):
        contexts = world.contexts(0, 500_000, np.random.default_rng(1))
        for way, (kind, propensity) in enumerate(WAYS):
            held = fit.among(tuple(FEW.tolist())) if kind == "few" else fit
            prices = 25.0 + 10.0 * held.prices(contexts)
            truth = float((prices * world.probabilities(0, contexts, prices)).mean())
            found = []
            for run in range(runs):
                log = MemoryLog(drawn(world, kind, np.random.default_rng((run, number, way))))
                found.append(evaluate_log(log, PRODUCT, fit, propensity=propensity))  # type: ignore[arg-type]
            _print_truth(f"{name}, {kind} prices, {found[0].propensities.partition(':')[0]}", truth, found)


def _print_truth(title: str, truth: float, found: list[Evaluation]) -> None:
    print(f"{title}: truth {truth:.4f}")
    for name in NAMES:
        made = [getattr(each, name) for each in found if getattr(each, name) is not None]
        if made:
            values, errors = np.array([each.value for each in made]), np.array([each.error for each in made])
            hits = np.mean([each.low <= truth <= each.high for each in made])
            bias, spread = (values.mean() - truth) / errors.mean(), values.std() / errors.mean()
            print(f"    {name:20} bias {bias:+.2f}  spread {spread:.2f}  covered {hits:.3f}", flush=True)


def halves(product: Product, rows: LogRows, runs: int) -> None:
    """Fit on a random half, by maximum likelihood; do two quarters agree about what the fit's prices earn?

    The difference of two independent estimates has the two errors together: its interval covers 0 at the stated rate.
    """
    agreed: dict[str, list[bool]] = {name: [] for name in NAMES}
    gains, answerable = [], 0
    for run in range(runs):
        order = np.random.default_rng((run, 9)).permutation(len(rows.prices))
        first, second, third = np.split(order, [len(order) // 2, 3 * len(order) // 4])
        model = model_of(product)
        fit = PricePolicy(label="fit", model=model, theta=likeliest(model, LogReader(MemoryLog(part_of(rows, first)))))
        found = [evaluate_log(MemoryLog(part_of(rows, part)), product, fit) for part in (second, third)]
        answerable += all(each.answerable for each in found)
        gains += [each.gain.value / each.logged.value for each in found if each.gain and each.logged]
        for name in NAMES:
            one, other = (getattr(each, name) for each in found)
            if one is not None and other is not None:
                away = abs(one.value - other.value)
                agreed[name].append(away <= 1.96 * float(np.hypot(one.error, other.error)))
    print(f"{runs} splits of {len(rows.prices)} rows, {answerable} answerable; mean gain {np.mean(gains):+.3f}")
    for name, hits in agreed.items():
        if hits:
            print(f"    {name:20} two quarters agree at 95 %: {np.mean(hits):.3f}", flush=True)


def part_of(rows: LogRows, which: Any) -> LogRows:
    return LogRows(rows.contexts[which], rows.prices[which], rows.demands[which], None, None, 0)


def rand(runs: int) -> None:
    """The RAND health insurance experiment: a visit to the doctor in a year or none, at the coinsurance drawn."""
    from statsmodels.datasets import randhie

    table = randhie.load_pandas().data
    coinsurance = np.round(np.expm1(table["lncoins"].to_numpy()))
    visited = (table["mdvis"].to_numpy() > 0).astype(np.float64)
    contexts = np.column_stack([_scaled(table[name].to_numpy()) for name in ("physlm", "disea", "hlthg", "hlthf")])
    product = Product(
        floor=0.0, ceiling=100.0, reference_price=50.0, conversion=float(visited.mean()), contexts=4, elasticity=0.2
    )
    prices = (coinsurance - 50.0) / 50.0
    print(f"RAND: coinsurance {np.unique(coinsurance).tolist()}, {visited.mean():.2f} visit a doctor")
    halves(product, LogRows(contexts, prices, visited, None, None, 0), runs)


def thornton(runs: int) -> None:
    """Thornton (2008): a result fetched or not, at an incentive drawn; the price is 3 dollars less the incentive."""
    from causaldata import thornton_hiv

    table = thornton_hiv.load_pandas().data
    table = table[["got", "tinc", "distvct", "age", "hiv2004"]].dropna()
    price = 3.0 - np.round(2.0 * table["tinc"].to_numpy(dtype=np.float64)) / 2.0  # half dollars: seven prices
    contexts = np.column_stack([_scaled(table[name].to_numpy(dtype=np.float64)) for name in ("distvct", "age")])
    got = table["got"].to_numpy(dtype=np.float64)
    product = Product(
        floor=0.0, ceiling=3.0, reference_price=1.5, conversion=float(got.mean()), contexts=2, elasticity=0.3
    )
    print(f"thornton_hiv: {np.unique(price).size} prices, {got.mean():.2f} fetch their result")
    halves(product, LogRows(contexts, (price - 1.5) / product.reach, got, None, None, 0), runs)


def _scaled(column: FloatArray) -> FloatArray:
    """In [-1, 1], by the 1st and the 99th percentile: these are public data."""
    low, high = np.percentile(column, [1, 99])
    return np.asarray(np.clip(2.0 * (column - low) / max(high - low, 1e-9) - 1.0, -1.0, 1.0))


PARTS: dict[str, Callable[[int], None]] = {"worlds": worlds, "rand": rand, "thornton": thornton}


def main(arguments: Iterator[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--runs", type=int, default=200)
    asked = parser.parse_args(None if arguments is None else list(arguments))
    PARTS[asked.part](asked.runs)


if __name__ == "__main__":
    main()
