"""What the scores of a fit say about theta: a Gaussian belief, from all of them at once.

Score i published S_i = sum of q psi (y - f(theta_i)) + noise. Its expectation under theta is computed on the likeness,

    E_i(theta) = n mean q psi (f(theta) - f(theta_i)),

and the belief is the minimum of (S - E)' V^-1 (S - E) and the first belief, by Gauss-Newton steps, S and E all scores
in one. The scores are of the same rows, so V holds their sampling covariances; on its diagonal are noise, and a share
of what the likeness may get wrong, which is small for scores taken near theta. How far attributes matter, and how far
the shop may be wrong, is not known: the belief is the mean over a range of scales, each weighed by how likely it makes
the releases, and its covariance counts that they differ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from hushprice.logs.fit.first_words import averaged, words_of
from hushprice.logs.fit.likeness import Likeness
from hushprice.logs.fit.score_plan import ScorePlan
from hushprice.policies.cautious.pricing.belief import Belief
from hushprice.policies.cautious.pricing.shop_model import ShopModel
from hushprice.types import FloatArray

MISFIT = 0.1  # of what a row of the likeness adds to a score's expectation: how far off the likeness may be
_STEPS = 15
_LONGEST = 2.0  # of a step, in deviations of the first belief
_SETTLED = 0.005


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedScore:
    """A score that was released, in the units of a unit's sum of t psi."""

    plan: ScorePlan
    score: FloatArray
    noise: float  # deviation of an entry


def estimated(
    model: ShopModel, likeness: Likeness, scores: list[ReleasedScore], deviations: FloatArray, start: FloatArray
) -> Belief:
    """The belief after these scores; before any, it is N(0, deviations^2)."""
    theta, people = start, len(likeness.prices)
    share = likeness.count / people
    # Entries of weight 0 are noise alone.
    used = [np.flatnonzero(each.plan.weights) for each in scores]
    weighted, before = [], []
    for each, kept in zip(scores, used, strict=True):
        chances = expit(likeness.log_odds(model, each.plan.theta))
        psi = each.plan.instruments(likeness.contexts, likeness.prices)[:, kept]
        sign = -1.0 if each.plan.mirrored else 1.0
        weighted.append(psi * (sign * each.plan.residual_weights(chances))[:, None])
        before.append(np.repeat(chances[:, None], kept.size, axis=1))
    rows, known = np.hstack(weighted), np.hstack(before)
    released = np.concatenate([each.score[kept] for each, kept in zip(scores, used, strict=True)])
    noise = np.concatenate([np.full(kept.size, each.noise**2) for each, kept in zip(scores, used, strict=True)])
    covariance, words = np.diag(deviations**2), words_of(model, likeness)
    for _ in range(_STEPS):
        demand = expit(likeness.log_odds(model, theta))
        added = rows * (demand[:, None] - known)
        curved = rows * (demand * (1.0 - demand) * share)[:, None]
        jacobian = curved.T @ likeness.features
        doubt = likeness.count**2 * np.mean(added * added, axis=0)
        variance = curved.T @ rows + np.diag(noise + MISFIT * MISFIT * doubt + 1e-9)
        solved = np.linalg.solve(variance, jacobian)
        curvature, pull = solved.T @ jacobian, solved.T @ (released - share * added.sum(axis=0))
        mean, covariance = averaged(words, deviations, curvature, curvature @ theta + pull)
        step = mean - theta
        length = math.sqrt(float((step / deviations) @ (step / deviations)))
        theta = theta + step * min(1.0, _LONGEST / max(length, 1e-12))
        if length < _SETTLED:
            break
    return Belief(theta, 0.5 * (covariance + covariance.T))
