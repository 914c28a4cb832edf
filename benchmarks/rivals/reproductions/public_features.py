"""`tang`: values are w'x and noise, x is a product's and public, and what one more in price does is known."""

from __future__ import annotations

import numpy as np
from reproductions.settings import TRIALS, Found, frame, slope

from hushprice.policies.rival_parts.frame import Customers
from hushprice.policies.rivals.tang.policy import ApproximateLeader, scale_of
from hushprice.types import FloatArray

STEEP = 4.0  # noise of values is logistic with scale 1/4
MIDDLE, LENGTH = 0.5, 0.3  # values are 1/2 + w'x on average, ||w|| = 0.3, ||x|| = 1
MARKS = (4000, 20_000, 100_000)


def regrets(d: int, epsilon: float) -> FloatArray:
    """Mean regret in all at the marks."""
    given = {"slope": STEEP, "response": STEEP, "level": STEEP * MIDDLE, "highest": 1.5, "dimension": d}
    at = frame(MARKS[-1], d, **given, doubts=(1.0,) * d)
    total, scale = np.zeros(len(MARKS)), scale_of(at, epsilon, "tight")
    for trial in range(TRIALS):
        rng, regret, done = np.random.default_rng((trial, d)), np.empty(MARKS[-1]), 0
        truth = rng.standard_normal(d)
        truth *= LENGTH / np.linalg.norm(truth)
        rival = ApproximateLeader(at, rng, scale=scale)
        while done < len(regret):
            count = min(rival.due, len(regret) - done)
            x = rng.standard_normal((d, count))
            x /= np.linalg.norm(x, axis=0)
            came = Customers(x, x, np.zeros((d, count)))
            prices, best = rival.prices(came), at.best_prices(came, truth)
            chances = [1.0 / (1.0 + np.exp(-STEEP * (MIDDLE + truth @ x - p))) for p in (prices, best)]
            rival.learn(came, prices, (rng.random(count) < chances[0]).astype(float))
            regret[done : done + count] = best * chances[1] - prices * chances[0]
            done += count
        total += np.cumsum(regret)[np.array(MARKS) - 1] / TRIALS
    return total


def tang() -> Found:
    """Tang, Ho and Liu: sqrt(dT)/epsilon up to logarithms."""
    at_one, at_half, wide = regrets(2, 1.0), regrets(2, 0.5), regrets(8, 1.0)
    steep = slope(list(MARKS), at_one.tolist())
    bounds = [np.sqrt(d * MARKS[-1]) for d in (2, 8)]
    return {
        "reported": "sqrt(dT)/epsilon up to logarithms: a slope of at most 0.5 in T, at most twice at half of epsilon "
        "and at 4 times d",
        "found": f"slope {steep:.2f} from T = 4,000 to 100,000 (d = 2, epsilon 1), {at_half[-1] / at_one[-1]:.2f} "
        f"times at epsilon 0.5, {wide[-1] / at_one[-1]:.1f} times at d = 8: {at_one[-1]:.0f} and {wide[-1]:.0f} at d = "
        f"2 and 8, where sqrt(dT)/epsilon is {bounds[0]:.0f} and {bounds[1]:.0f}",
    }
