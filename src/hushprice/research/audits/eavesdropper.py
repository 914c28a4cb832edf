"""An attacker of `private-bisection`: who sees the prices that are tried and no answers, and guesses what was learned.

The attacker knows the rule. All ranges look alike, so the best guess is the last place tried, in a range taken by
chance. Whoever also sees the price that is charged in the end needs no guess.
"""

from __future__ import annotations

import math

import numpy as np

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rivals.private_bisection.policy import Bisection


def right_guesses(copies: int, *, shops: int, seed: int) -> float:
    """How often the guess is within a sixteenth of the range of prices, over shops whose best price is anywhere."""
    rng, right = np.random.default_rng(seed), 0
    frame = Frame(horizon=4000, contexts=0, dimension=1, lowest=0.0, highest=1.0, slope=1.0, length=1.0, doubts=(1.0,))
    for _ in range(shops):
        best, trial, seen = rng.uniform(0.05, 0.95), Bisection(frame, rng, copies=copies), np.empty(0)
        while trial.kept is None:
            nobody = np.empty((0, trial.due))
            came = Customers(nobody, np.zeros((1, trial.due)), np.zeros((1, trial.due)))
            seen = trial.asked
            prices = trial.prices(came)
            worth = np.exp(-np.abs(prices - best))  # earnings with one peak, at the best price
            trial.learn(came, prices, worth / np.maximum(prices, 1e-3))
        pair = seen.reshape(copies, 2)[rng.integers(copies)]
        right += math.isclose(float(pair.mean()), trial.kept, abs_tol=1.0 / 16.0)
    return right / shops
