"""Arms as vectors, and devices that report: `ldp-sgd` and `ldp-glm`."""

from __future__ import annotations

import math

import numpy as np
from reproductions.settings import TRIALS, Found, frame, slope

from hushprice.policies.rival_parts.private.directions import radius_of, send
from hushprice.policies.rival_parts.private.sums import reports
from hushprice.policies.rival_parts.walk import Walk
from hushprice.policies.rivals.ldp_glm.policy import tight
from hushprice.policies.rivals.ldp_glm.pricing import ReportedBelief
from hushprice.policies.rivals.ldp_glm.private import APART, PARTS, report_rows
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import GaussianSums
from hushprice.types import FloatArray

MARKS = (5000, 70_000, 1_000_000)


def walked_arms(epsilon: float) -> FloatArray:
    """Mean regret of `ldp-sgd` in all at the marks: logistic, d = 2, ten unit contexts a round as arms."""
    keep, found, truth = 1.0 / (1.0 + math.exp(-epsilon)), np.zeros(len(MARKS)), np.array([0.6, 0.8])
    for trial in range(TRIALS):
        rng, regret, done = np.random.default_rng(trial), np.empty(MARKS[-1]), 0
        walk = Walk(frame(MARKS[-1], 1), radius_of(2, keep))
        while done < MARKS[-1]:
            count = min(max(1, done // 500), MARKS[-1] - done)
            arms = rng.standard_normal((count, 10, 2))
            arms /= np.linalg.norm(arms, axis=2, keepdims=True)
            chosen = arms[np.arange(count), np.argmax(arms @ walk.theta, axis=1)]
            chances = 1.0 / (1.0 + np.exp(-(arms @ truth)))
            chance = 1.0 / (1.0 + np.exp(-(chosen @ truth)))
            bought, sent = (rng.random(count) < chance).astype(float), np.empty((count, 2))
            coins = np.column_stack([rng.standard_normal((count, 2)), rng.random((count, 2))])
            send(walk.theta, chosen, np.zeros(count), bought, coins, keep, sent)
            walk.accept(sent)
            regret[done : done + count] = chances.max(axis=1) - chance
            done += count
        found += np.cumsum(regret)[np.array(MARKS) - 1] / TRIALS
    return found


def ldp_sgd() -> Found:
    """Han et al.: regret of order sqrt(T)/epsilon; their code draws figures, and has no number to compare with."""
    one, half = walked_arms(1.0), walked_arms(0.5)
    return {
        "reported": "sqrt(T)/epsilon up to logarithms: slope about 0.5 or below, at most twice at half of epsilon; "
        "their code gives no numbers",
        "found": f"slope {slope(list(MARKS), one.tolist()):.2f} from T = 5,000 to 1e6 ({one[-1]:,.0f} at the end), "
        f"{half[-1] / one[-1]:.2f} times at epsilon 0.5",
    }


def reported_arms(epsilon: float, horizon: int) -> float:
    """Mean regret of `ldp-glm` (tight) in all, on the arms of `ldp-sgd`: ten unit vectors of the plane a round."""
    noise, truth, total = tight(EpsilonDelta(epsilon, 0.01)), np.array([0.6, 0.8]), 0.0
    event = GaussianSums(rounds=1, noise=noise / math.sqrt(PARTS), apart=APART / math.sqrt(PARTS))
    for trial in range(TRIALS):
        rng, done = np.random.default_rng(trial), 0
        belief = ReportedBelief(frame(horizon, 1), noise, sharp=True)
        while done < horizon:
            count = min(max(1, done // 20), horizon - done)
            arms = rng.standard_normal((count, 10, 2))
            arms /= np.linalg.norm(arms, axis=2, keepdims=True)
            picked = arms[np.arange(count), np.argmax(_optimistic(belief, arms), axis=1)]
            chances, chance = (1.0 / (1.0 + np.exp(-(each @ truth))) for each in (arms, picked))
            bought = (rng.random(count) < chance).astype(float)
            rows = report_rows(picked, np.zeros(count), bought, belief.theta, belief.ball)
            belief.accept(reports(rows, event, rng))
            total += float((chances.max(axis=1) - chance).sum())
            done += count
    return total / TRIALS


def _optimistic(belief: ReportedBelief, arms: FloatArray) -> FloatArray:
    norm = np.sqrt(np.einsum("nkd,nkd->nk", arms @ belief.inverse, arms))
    return np.asarray(arms @ belief.mean + belief.width * norm)


def ldp_glm() -> Found:
    """Zheng et al.: T^(3/4)/epsilon."""
    horizons = [10_000, 40_000, 160_000]
    grown = [reported_arms(1.0, each) for each in horizons]
    half = reported_arms(0.5, horizons[-1])
    return {
        "reported": "T^(3/4)/epsilon: a slope of at most 0.75 in T, at most twice at half of epsilon",
        "found": f"slope {slope(horizons, grown):.2f} from T = 10,000 to 160,000 at epsilon 1, delta 0.01 "
        f"({', '.join(f'{each:,.0f}' for each in grown)}), {half / grown[-1]:.2f} times at epsilon 0.5",
    }
