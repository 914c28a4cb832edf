"""Least squares of demand on (1, x, s), s the price's share of its range, and the price that is best for it."""

from __future__ import annotations

import functools
import math

import numpy as np

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, unprotected
from hushprice.policies.rival_parts.stretches import Stretched
from hushprice.types import FloatArray

READS: dict[str, tuple[str, ...]] = {"greedy-ils": (), "greedy-ils-dispersed": ()}
KAPPA = 1.0  # of the dispersion kappa t^(-1/4), as a share of the range of prices
RIDGE = 1e-6
LEAST_FALL = 1e-3  # demand that does not fall by this over the range is taken to fall by it


class GreedyLeastSquares(Stretched):
    """Prices around the start until there are as many customers as coefficients, then greedy ones, held to the range.

    Dispersed, a fair coin moves each price by kappa t^(-1/4) of the range, up or down.
    """

    def __init__(self, frame: Frame, rng: np.random.Generator, *, dispersed: bool) -> None:
        super().__init__()
        self._frame, self._rng, self._dispersed = frame, rng, dispersed
        size = frame.contexts + 2
        self._gram, self._right = RIDGE * np.eye(size), np.zeros(size)
        self.coefficients: FloatArray = np.zeros(size)

    def prices(self, customers: Customers) -> FloatArray:
        frame, wide = self._frame, self._frame.highest - self._frame.lowest
        if self.count < self.coefficients.size + 1:
            return self._rng.uniform(frame.lowest, frame.highest, customers.size)
        level = self.coefficients[0] + np.einsum("j,ji->i", self.coefficients[1:-1], customers.x)
        fall = max(-float(self.coefficients[-1]), LEAST_FALL)
        # (margin + p)(level - fall s) with p = lowest + wide s is largest where its derivative in s is 0.
        share = 0.5 * (level / fall - (frame.margin + frame.lowest) / wide)
        if self._dispersed:
            periods = self.count + 1.0 + np.arange(customers.size)
            share = np.clip(share, 0.0, 1.0) + np.where(self._rng.random(customers.size) < 0.5, -1.0, 1.0) * (
                KAPPA * periods**-0.25 / math.sqrt(math.sqrt(self.coefficients.size))
            )
        return frame.lowest + wide * np.clip(share, 0.0, 1.0)

    def take(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        rows = np.column_stack([np.ones(customers.size), customers.x.T, self._frame.share(prices)])
        self._gram += rows.T @ rows
        self._right += rows.T @ demands

    def refit(self) -> None:
        self.coefficients = np.asarray(np.linalg.solve(self._gram, self._right), dtype=np.float64)


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    dispersed = asked.name == "greedy-ils-dispersed"
    return unprotected(asked, frame, functools.partial(GreedyLeastSquares, dispersed=dispersed))
