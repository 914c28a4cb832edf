"""How many visitors pass before a product that loses freezes itself, and how often one does that loses nothing.

    python benchmarks/shops/self_freeze.py [--runs 400]

Batches are those of policy cautious at epsilon 1; of each only its earnings are drawn, so a run takes milliseconds.
What is lost is a share of what the holdout earns. "alarms" are of products that lose just what `risk` allows.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from hushprice import Product
from hushprice.demand.features import main_effects
from hushprice.policies.catalog import build
from hushprice.policies.cautious.policy import DEMAND, CautiousPolicy
from hushprice.policies.cautious.pricing.health import Health
from hushprice.policies.cautious.pricing.holdout import Earned
from hushprice.policies.cautious.rules import CautiousRules
from hushprice.settings import PolicySettings

LONGEST = 20_000_000  # visitors


def rules_of(product: Product) -> CautiousRules:
    """The rules of policy cautious."""
    settings = PolicySettings(policy="cautious", horizon=LONGEST, product=product, epsilon=product.epsilon)
    policy = build(settings, DEMAND, main_effects(product.contexts))
    assert isinstance(policy, CautiousPolicy)
    return policy.rules


def seen_after(rules: CautiousRules, loss: float, random: np.random.Generator, longest: int) -> int | None:
    """Visitors until the product freezes itself; None where it never does."""
    model, health, slots = rules.model, Health(), 0
    earns = model.margin / (model.margin + model.highest)  # of a purchase at today's price
    usual = model.conversion * earns
    apart_scale, scale = rules.noise.earned
    while slots < longest:
        count = rules.next_count(slots)
        slots += count
        apart = random.binomial(count, rules.holdout)
        sold = random.binomial(apart, model.conversion), random.binomial(count - apart, model.conversion * (1.0 - loss))
        batch = Earned(
            sums=(earns * sold[0] + random.laplace(scale=apart_scale), earns * sold[1] + random.laplace(scale=scale)),
            slots=(apart, count - apart),
            scales=(apart_scale, scale),
        )
        health = health.after_earnings(batch, usual=usual, risk=rules.risk, records=slots)
        if health.alarms:
            return slots
    return None


def main() -> None:
    """A line a case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=400)
    runs = parser.parse_args().runs
    product = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.02, contexts=9, holdout=0.1)
    for conversion in (0.02, 0.5):
        for epsilon in (0.5, 1.0, 3.0):
            rules = rules_of(replace(product, conversion=conversion, epsilon=epsilon))
            said = []
            for loss in (0.5, 0.2, 0.1, 0.05):
                random = np.random.default_rng(1)
                found = [seen_after(rules, loss, random, LONGEST) for _ in range(max(runs // 10, 1))]
                seen = [float("inf") if each is None else each for each in found]
                said.append(f"{loss:.0%}: {np.median(seen):,.0f} ({np.quantile(seen, 0.9):,.0f})")
            random = np.random.default_rng(2)
            wrong = sum(seen_after(rules, rules.risk, random, LONGEST) is not None for _ in range(runs))
            print(f"buy {conversion:.0%}, epsilon {epsilon:g}: {'; '.join(said)}; alarms {wrong} of {runs}", flush=True)


if __name__ == "__main__":
    main()
