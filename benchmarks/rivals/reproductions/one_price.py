"""Prices for everybody: `mle-cycle`, `greedy-ils`, and who reads `private-bisection`."""

from __future__ import annotations

import numpy as np
from reproductions.settings import TRIALS, Found, frame, slope

from hushprice.policies.rival_parts.frame import Customers
from hushprice.policies.rivals.greedy_ils.policy import GreedyLeastSquares
from hushprice.policies.rivals.mle_cycle.policy import MleCycle
from hushprice.policies.rivals.private_bisection.policy import COPIES
from hushprice.research.audits.eavesdropper import right_guesses


def mle_cycle() -> Found:
    """Broder and Rusmevichientong: logistic, p in [0.5, 8], z = (1, -1), prices 0.5 and 4.25, 50 runs: slope 0.49."""
    horizon, runs, at = 100_000, 50, frame(100_000, lowest=0.5, highest=8.0)
    fine = np.linspace(0.5, 8.0, 20_001)
    best = float(np.max(fine / (1.0 + np.exp(fine - 1.0))))
    found = np.zeros(horizon)
    for trial in range(runs):
        rng, regret, done = np.random.default_rng(trial), np.empty(horizon), 0
        rival = MleCycle(at, rng, tried=(0.0, 0.5))
        while done < horizon:
            count = min(rival.due, horizon - done)
            came = Customers(np.empty((0, count)), np.zeros((1, count)), np.zeros((1, count)))
            prices = rival.prices(came)
            chance = 1.0 / (1.0 + np.exp(prices - 1.0))
            rival.learn(came, prices, (rng.random(count) < chance).astype(float))
            regret[done : done + count] = best - prices * chance
            done += count
        found += np.cumsum(regret) / runs
    marks = [np.geomspace(first, horizon, 60).astype(int) for first in (1000, 10_000)]
    steep = [slope(each.tolist(), found[each - 1].tolist()) for each in marks]
    return {
        "reported": "log-log slope 0.49 up to T = 1e5 (50 runs)",
        "found": f"slope {steep[1]:.2f} from T = 10,000 and {steep[0]:.2f} from 1,000 (50 runs)",
    }


def greedy_ils() -> Found:
    """Keskin and Zeevi: greedy least squares sticks at a wrong price now and then; dispersed ones do not."""
    away = {}
    for dispersed in (False, True):
        ends = []
        for trial in range(TRIALS):
            rng, done = np.random.default_rng(trial), 0
            rival = GreedyLeastSquares(frame(20_000), rng, dispersed=dispersed)
            while done < 20_000:
                count = min(rival.due, 20_000 - done)
                came = Customers(np.empty((0, count)), np.zeros((1, count)), np.zeros((1, count)))
                prices = rival.prices(came)
                rival.learn(came, prices, (rng.random(count) < 0.9 - 0.8 * prices).astype(float))  # best: 0.5625
                done += count
            ends.append(abs(rival.coefficients[0] / (-2.0 * rival.coefficients[1]) - 0.5625))
        away[dispersed] = f"{np.sum(np.array(ends) > 0.05)} of {TRIALS}"
    return {
        "reported": "greedy sticks at a wrong price with positive probability, dispersed prices do not",
        "found": f"after 20,000 customers {away[False]} greedy and {away[True]} dispersed trials are off by 0.05",
    }


def private_bisection() -> Found:
    """Tsitsiklis, Xu and Xu: an eavesdropper is right with chance 1/L."""
    shares = [right_guesses(copies, shops=400, seed=5) for copies in (1, COPIES)]
    return {
        "reported": f"an eavesdropper is right with chance 1/L, L = {COPIES}: 0.25; without copies always",
        "found": f"{shares[1]:.2f} with copies and {shares[0]:.2f} without, over 400 shops",
    }
