"""Prices by attributes: `ellipsoid`, `rmlp` and `ban-keskin`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from reproductions.settings import TRIALS, Found, frame, slope

from hushprice.policies.rival_parts.frame import Customers
from hushprice.policies.rivals.ban_keskin.policy import SparseGreedy
from hushprice.policies.rivals.ellipsoid.policy import EllipsoidCuts
from hushprice.policies.rivals.rmlp.policy import EpisodicLasso


def ellipsoid() -> Found:
    """Cohen, Lobel and Paes Leme: without noise, d^2 ln T: customers priced in the middle grow with ln T."""
    cut = []
    for horizon in (1000, 10_000, 100_000):
        at, rng, cuts = frame(horizon, 2), np.random.default_rng(1), 0
        rival, w = EllipsoidCuts(at, rng), np.array([0.5, 0.2, -0.15])
        for _ in range(min(horizon, 10_000)):
            x = rng.uniform(-1.0, 1.0, (2, 1))
            before = rival.center.copy()
            came = Customers(x, np.zeros((3, 1)), np.zeros((3, 1)))
            price = rival.prices(came)
            rival.learn(came, price, np.array([float(w[0] + w[1:] @ x[:, 0] >= price[0])]))
            cuts += int(not np.array_equal(before, rival.center))
            if rival.due > 1:
                break
        cut.append(cuts)
    steps = np.diff(cut)
    return {
        "reported": "d^2 ln T: as many more cuts for each ten times as many customers",
        "found": f"{cut[0]}, {cut[1]}, {cut[2]} cuts at T = 1e3, 1e4, 1e5 (d = 3): {steps[0]} and {steps[1]} more",
    }


def sparse(begin: Callable[..., Any]) -> float:
    """Slope of ln regret in ln T: values (1, 1, 1, 0, ..., 0)'x + 2 + logistic noise, ten attributes, prices to 6."""
    marks, found = [5000, 20_000, 80_000], np.zeros(3)
    at = frame(80_000, 10, highest=6.0, slope=3.0, dimension=12, doubts=(1.0,) * 12)
    truth = np.array([1.0] * 3 + [0.0] * 7 + [2.0, 1.0]) / at.slope  # in the unit ball, as the frame says
    for trial in range(TRIALS):
        rng, regret, done = np.random.default_rng(trial), np.empty(80_000), 0
        rival = begin(at, rng)
        while done < 80_000:
            count = min(rival.due, 80_000 - done)
            x = np.clip(rng.standard_normal((10, count)), -1.0, 1.0)
            u = np.concatenate([x, np.ones((1, count)), np.zeros((1, count))])
            came = Customers(x, u, np.concatenate([np.zeros((11, count)), -np.ones((1, count))]))
            prices, best = rival.prices(came), at.best_prices(came, truth)
            earned = [p / (1.0 + np.exp(-at.slope * (came.features(p) @ truth))) for p in (prices, best)]
            rival.learn(came, prices, (rng.random(count) < earned[0] / np.maximum(prices, 1e-9)).astype(float))
            regret[done : done + count] = earned[1] - earned[0]
            done += count
        found += np.cumsum(regret)[np.array(marks) - 1] / TRIALS
    return slope(marks, found.tolist())


def rmlp() -> Found:
    """Javanmard and Nazerzadeh: regret of order sqrt((log d) T); their test bed, with logistic noise."""
    return {"reported": "regret of order sqrt(T): slope 0.5", "found": f"slope {sparse(EpisodicLasso):.2f}"}


def ban_keskin() -> Found:
    """Ban and Keskin: regret of order s sqrt(T) (log d + log T), on the same test bed."""
    return {"reported": "s sqrt(T) times logarithms: slope 0.5 or above", "found": f"slope {sparse(SparseGreedy):.2f}"}
