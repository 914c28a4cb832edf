"""How soon a product that loses is found to lose, and how often one that does not: the self-freeze of policy cautious.

    python benchmarks/shops/watch.py

Batches, their noise and the holdout are those of the policy's rules; the holdout buys with the probability expected at
today's price, the others earn a share of that. Prints the tables of docs/lab/shop_watch.md.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from hushprice.policies.cautious.pricing.health import Health
from hushprice.policies.cautious.pricing.shop_model import model_of
from hushprice.policies.cautious.rules import CautiousRules, cautious
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.delta import parse_delta
from hushprice.privacy.events import NotPrivate
from hushprice.product import Product
from hushprice.releases import MomentRelease

HORIZON = 20_000_000
LOSSES = (0.05, 0.10, 0.20)


def rules_of(conversion: float, epsilon: float, holdout: float) -> CautiousRules:
    product = Product(
        floor=20.0, ceiling=30.0, reference_price=25.0, conversion=conversion, epsilon=epsilon, holdout=holdout
    )
    claimed = EpsilonDelta(epsilon, parse_delta(product.delta, 1_000_000))
    return cautious(claimed, model=model_of(product), risk=product.risk, horizon=HORIZON, holdout=holdout)


def alarm(rules: CautiousRules, loss: float, rng: np.random.Generator, horizon: int, *, good: int = 0) -> int | None:
    """The slot after which it is found to lose; None where it is not. The first `good` slots earn what staying does."""
    model, health, slots = rules.model, Health(), 0
    top = model.margin + model.highest
    expected = model.conversion * model.margin / top
    while slots < horizon:
        count = rules.next_count(slots)
        apart = int(rng.binomial(count, rules.holdout))
        priced = count - apart
        now = 0.0 if slots < good else loss
        held = model.margin / top * rng.binomial(apart, model.conversion)
        # Dearer prices and fewer buyers: what a purchase earns is the largest there is.
        earned = float(rng.binomial(priced, expected * (1.0 - now)))
        noise = np.array(rules.noise.of_earnings)
        earnings = np.array([held, earned]) + noise * rng.standard_normal(2)
        slots += count
        release = MomentRelease(np.zeros(3), np.zeros(0), earnings, slots, NotPrivate(), priced)
        both = (float(noise[0]), float(noise[1]))
        health = health.after_earnings(release, (apart, priced), both, risk=rules.risk, expected=expected)
        if health.alarms:
            return slots
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--sound-runs", type=int, default=2000)
    given = parser.parse_args()
    print("| buy | epsilon | holdout | " + " | ".join(f"{loss:.0%} lost" for loss in LOSSES) + " | 20% after 100,000 |")
    print("|---:|---:|---:|" + "---:|" * (len(LOSSES) + 1))
    for conversion in (0.02, 0.5):
        for epsilon, holdout in ((1.0, 0.1), (1.0, 0.3), (3.0, 0.1), (50.0, 0.1)):
            rules, row = rules_of(conversion, epsilon, holdout), list[str]()
            for loss, good in (*((each, 0) for each in LOSSES), (LOSSES[-1], 100_000)):
                rng = np.random.default_rng((int(100 * loss), good))
                found = [alarm(rules, loss, rng, HORIZON, good=good) or HORIZON for _ in range(given.runs)]
                row.append(f"{float(f'{np.median(found) - good:.2g}'):,.0f}")
            print(f"| {conversion:.0%} | {epsilon:g} | {holdout:.0%} | " + " | ".join(row) + " |", flush=True)
    print("| buy | earn | runs | alarms |")
    print("|---:|---:|---:|---:|")
    for conversion in (0.02, 0.5):
        rules = rules_of(conversion, 1.0, 0.1)
        for loss in (rules.risk, 0.0):
            rng = np.random.default_rng(7)
            alarms = sum(alarm(rules, loss, rng, 2_000_000) is not None for _ in range(given.sound_runs))
            print(f"| {conversion:.0%} | {1.0 - loss:.2f} | {given.sound_runs} | {alarms} |", flush=True)


if __name__ == "__main__":
    main()
