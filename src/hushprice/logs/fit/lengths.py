"""Where a score spends its length, all directions at once.

A score's entry j is a sum of rows times a_j, with noise sigma, so it says as much as a_j^2 r_j r_j', r_j what it moves
by with theta, over sigma. What matters is how far off log-likelihood and the price response will be: the squared
lengths are those that leave the least of it, by the multiplicative steps of Silvey, Titterington and Torsney ("An
algorithm for optimal designs on a design space", 1978). Where prices went with an attribute, both get length: an error
in one is an error in the other. Sampling plays no part: rows are the same wherever length is spent.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hushprice.types import FloatArray

if TYPE_CHECKING:
    from hushprice.logs.fit.likeness import Likeness
    from hushprice.logs.fit.score_plan import ScorePlan

PRICE = 2.0  # how much the price response matters, beside all else together
_LEAST = 0.1  # of squared length, spread evenly: a belief may be surer of a direction than it should
_ROUNDS, _STEPS = 4, 10  # how often rows are held anew, and steps in between


def settled(plan: ScorePlan, likeness: Likeness, chances: FloatArray, doubt: FloatArray, noise: float) -> ScorePlan:
    """The plan with its own part's length where the least is left of what matters.

    `doubt` is the covariance of theta in whitened terms, `noise` an entry's deviation, in units of t psi.
    """
    u, k = plan.whitened(likeness.contexts, likeness.prices), plan.model.contexts
    slopes = plan.residual_weights(chances) * chances * (1.0 - chances)
    matters = (u * (chances * (1.0 - chances))[:, None]).T @ u / float((chances * (1.0 - chances)).sum())
    matters[k + 1, k + 1] += PRICE * (plan.model.size - 1.0)
    whole = float((plan.weights[1:] ** 2).sum())
    even = 1.0 / len(plan.weights[1:])
    shares = np.full(len(plan.weights[1:]), even)
    for _ in range(_ROUNDS):
        squares = u[:, 1:] ** 2 @ (shares * whole)
        held = np.minimum(1.0, plan.own / np.maximum(np.sqrt(squares), 1e-12))
        rows = np.hstack([u[:, :1], u[:, 1:] * held[:, None]])
        moved = (rows * slopes[:, None]).T @ u * (likeness.count / (len(u) * noise))
        for _ in range(_STEPS):
            weights = np.concatenate([[plan.weights[0] ** 2], shares * whole])
            told = moved.T @ (weights[:, None] * moved)
            left = np.linalg.solve(np.eye(len(doubt)) + doubt @ told, doubt)
            ways = moved[1:] @ left
            shares = shares * np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", ways, matters, ways), 0.0))
            shares = shares / max(float(shares.sum()), 1e-300)
    shares = (1.0 - _LEAST) * shares + _LEAST * even
    return replace(plan, weights=np.concatenate([plan.weights[:1], np.sqrt(shares * whole)]))
