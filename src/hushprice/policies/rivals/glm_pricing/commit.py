"""Uniform prices for some customers, the prices of a fit for all others: what three kinds of `glm-pricing` share."""

from __future__ import annotations

import math

import numpy as np

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.types import FloatArray


def explored(frame: Frame, epsilon: float | None, public: float = 0.0) -> int:
    """How many see uniform prices: sqrt(d T ln T), and d sqrt(T ln T)/epsilon locally; half of all at most.

    Between the two where a share of the customers is public: as many as teach what sqrt(d T ln T) open records do, if a
    report is worth epsilon^2/d of a record (the source's factor).
    """
    d, root = frame.dimension, math.sqrt(frame.horizon * math.log(frame.horizon + 1.0))
    if epsilon is None:
        wanted = math.sqrt(d) * root
    elif public > 0.0:
        wanted = math.sqrt(d / (public + (1.0 - public) * min(1.0, epsilon**2 / d))) * root
    else:
        wanted = d * root / epsilon
    return max(1, min(math.ceil(wanted), frame.horizon // 2))


class ThenCommit:
    """Uniform prices for the first `first` customers, the fit's afterwards."""

    def __init__(self, frame: Frame, rng: np.random.Generator, first: int) -> None:
        self.frame, self.rng, self.first, self.count = frame, rng, first, 0

    @property
    def due(self) -> int:
        return self.first - self.count if self.count < self.first else 2**62

    def prices(self, customers: Customers) -> FloatArray:
        frame = self.frame
        if self.count < self.first:
            return self.rng.uniform(frame.lowest, frame.highest, customers.size)
        return self.greedy(customers)

    def learn(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        if self.count < self.first:
            self.count += len(demands)
            self.take(customers, prices, demands)

    def greedy(self, customers: Customers) -> FloatArray:
        raise NotImplementedError

    def take(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        raise NotImplementedError
