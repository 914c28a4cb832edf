"""Explore at uniform prices, then keep the prices of one fit: by local reports, or without privacy (`-open`)."""

from __future__ import annotations

import functools
import math

import numpy as np

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.logistic_fit import Rows, fit
from hushprice.policies.rival_parts.private.directions import radius_of, send
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, guarded, unprotected
from hushprice.policies.rival_parts.walk import Walk
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import DirectionReports
from hushprice.types import FloatArray

READS: dict[str, tuple[str, ...]] = {"glm-pricing": (), "glm-pricing-open": ()}
RIDGE = 1e-3  # of the open fit: finite where data are separable, and gone after a hundred customers
RATE = (
    20.0  # step t moves by RATE / (t + 1): the source wants 1/lambda, lambda the least curvature, which nobody is told
)
_MARGIN = 1e-9  # of epsilon: above what loss.py adds for rounding
_PLAIN = 1.0 - 1e-12  # `keep` without noise: the direction still stands for the gradient


def explored(frame: Frame, epsilon: float | None) -> int:
    """How many see uniform prices: sqrt(d T ln T), and d sqrt(T ln T)/epsilon locally; half of all at most."""
    d, root = frame.dimension, math.sqrt(frame.horizon * math.log(frame.horizon + 1.0))
    wanted = math.sqrt(d) * root if epsilon is None else d * root / epsilon
    return max(1, min(math.ceil(wanted), frame.horizon // 2))


class _ThenCommit:
    """Uniform prices for the first `first` customers, the fit's afterwards."""

    def __init__(self, frame: Frame, rng: np.random.Generator, first: int) -> None:
        self._frame, self._rng, self._first, self._count = frame, rng, first, 0

    @property
    def due(self) -> int:
        return self._first - self._count if self._count < self._first else 2**62

    def prices(self, customers: Customers) -> FloatArray:
        frame = self._frame
        if self._count < self._first:
            return self._rng.uniform(frame.lowest, frame.highest, customers.size)
        return self.greedy(customers)

    def learn(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        if self._count < self._first:
            self._count += len(demands)
            self.take(customers, prices, demands)

    def greedy(self, customers: Customers) -> FloatArray:
        raise NotImplementedError

    def take(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        raise NotImplementedError


class OpenCommit(_ThenCommit):
    """One fit by maximum likelihood."""

    def __init__(self, frame: Frame, rng: np.random.Generator, *, first: int) -> None:
        super().__init__(frame, rng, first)
        self._rows, self.theta = Rows(frame.dimension), np.zeros(frame.dimension)

    def greedy(self, customers: Customers) -> FloatArray:
        return self._frame.best_prices(customers, self.theta)

    def take(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        self._rows.add_customers(self._frame, customers, prices, demands)
        if self._count >= self._first:
            self.theta = fit(self._rows, self._frame.slope, self.theta, ridge=RIDGE)


class LocalCommit(_ThenCommit):
    """Both sides in one trial: while prices are uniform a device sends one direction, and the walk steps against it."""

    def __init__(self, frame: Frame, rng: np.random.Generator, *, keep: float, first: int) -> None:
        super().__init__(frame, rng, first)
        self._keep, self.walk = keep, Walk(frame, radius_of(frame.dimension, keep), rate=RATE, shrink=0.0)
        self.mean, self._stepped = np.zeros(frame.dimension), 0  # of the walk's second half

    def greedy(self, customers: Customers) -> FloatArray:
        return self._frame.best_prices(customers, self.mean / (self._frame.slope * self._frame.length))

    def take(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        frame, count, d = self._frame, len(demands), self._frame.dimension
        psi = np.ascontiguousarray(customers.features(prices) / frame.length)
        coins = np.column_stack([self._rng.standard_normal((count, d)), self._rng.random((count, 2))])
        offset = np.asarray(frame.offset(prices))
        for i in range(count):  # a device sees the theta that the last one left: prices need none
            one, sent = slice(i, i + 1), np.empty((1, d))
            send(self.walk.theta, psi[one], offset[one], demands[one], coins[one], self._keep, sent)
            self.walk.accept(sent)
            self._stepped += 1
            late = self._stepped - self._first // 2
            if late > 0:
                self.mean += (self.walk.theta - self.mean) / late


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    if asked.name == "glm-pricing-open":
        return unprotected(asked, frame, functools.partial(OpenCommit, first=explored(frame, None)))
    epsilon = asked.claimed.epsilon
    keep = 1.0 / (1.0 + math.exp(-min(epsilon * (1.0 - _MARGIN), 27.0)))
    event = DirectionReports(dimension=frame.dimension, keep=keep) if asked.drawn else None
    first = explored(frame, epsilon)
    begin = functools.partial(LocalCommit, keep=keep if asked.drawn else _PLAIN, first=first)
    return guarded(asked, frame, begin, event, claimed=EpsilonDelta(epsilon, 0.0))
