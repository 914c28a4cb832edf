"""Rows like those of the log, drawn from a description: on them a score's expectation and variance are computed.

A moment equation stays unbiased whatever Jacobian it is divided by, so a poor likeness costs passes and efficiency,
never privacy or correctness.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from hushprice.logs.fit.description import Moments
from hushprice.policies.cautious.pricing.shop_model import ShopModel, with_constant
from hushprice.types import FloatArray

PEOPLE = 512


@dataclass(frozen=True, slots=True, eq=False)
class Likeness:
    """Public rows with the released moments."""

    count: float  # units of the log
    contexts: FloatArray  # (PEOPLE, k)
    prices: FloatArray
    features: FloatArray  # [1; x; -z; -z x]

    def log_odds(self, model: ShopModel, theta: FloatArray) -> FloatArray:
        """Of every row."""
        return np.asarray(self.features @ theta + model.level - model.response * self.prices)


def likeness_of(moments: Moments) -> Likeness:
    """Normal rows; the same moments give the same rows."""
    size = moments.mean.size
    rows = moments.mean + _normals(size) @ np.linalg.cholesky(moments.covariance).T
    contexts, prices = rows[:, : size - 1], rows[:, size - 1]
    customers = with_constant(contexts)
    return Likeness(moments.units, contexts, prices, np.hstack([customers, -prices[:, None] * customers]))


@functools.lru_cache(maxsize=64)
def _normals(size: int) -> FloatArray:
    """Fixed, well spread normals, (PEOPLE, size), of mean 0 and covariance I exactly."""
    points = ndtri(np.clip(qmc.Halton(size, scramble=True, seed=1).random(PEOPLE), 1e-6, 1.0 - 1e-6))
    centred = points - points.mean(axis=0)
    factor = np.linalg.cholesky(centred.T @ centred / PEOPLE)
    return np.asarray(np.linalg.solve(factor, centred.T).T)
