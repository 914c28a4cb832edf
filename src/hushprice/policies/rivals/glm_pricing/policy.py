"""Explore at uniform prices, then keep the prices of one fit: by local reports, mixed with public records, or open."""

from __future__ import annotations

import functools

import numpy as np

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.logistic_fit import Rows, fit
from hushprice.policies.rival_parts.private.arithmetic import Source
from hushprice.policies.rival_parts.private.coins import keep_of
from hushprice.policies.rival_parts.private.directions import PLAIN, coins_of, radius_of, send
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, guarded, unprotected
from hushprice.policies.rival_parts.walk import Walk
from hushprice.policies.rivals.glm_pricing.commit import ThenCommit, explored
from hushprice.policies.rivals.glm_pricing.mixed import PRIVATE_ONES, MixedCommit
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import DirectionReports
from hushprice.types import FloatArray

READS: dict[str, tuple[str, ...]] = {"glm-pricing": (), "glm-pricing-mixed": (), "glm-pricing-open": ()}
RIDGE = 1e-3  # of the open fit: finite where data are separable, and gone after a hundred customers
RATE = (
    20.0  # step t moves by RATE / (t + 1): the source wants 1/lambda, lambda the least curvature, which nobody is told
)


class OpenCommit(ThenCommit):
    """One fit by maximum likelihood."""

    def __init__(self, frame: Frame, rng: np.random.Generator, *, first: int) -> None:
        super().__init__(frame, rng, first)
        self._rows, self.theta = Rows(frame.dimension), np.zeros(frame.dimension)

    def greedy(self, customers: Customers) -> FloatArray:
        return self.frame.best_prices(customers, self.theta)

    def take(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        self._rows.add_customers(self.frame, customers, prices, demands)
        if self.count >= self.first:
            self.theta = fit(self._rows, self.frame.slope, self.theta, ridge=RIDGE)


class LocalCommit(ThenCommit):
    """Both sides in one trial: while prices are uniform a device sends one direction, and the walk steps against it."""

    def __init__(
        self, frame: Frame, rng: np.random.Generator, source: Source | None = None, *, keep: float, first: int
    ) -> None:
        super().__init__(frame, rng, first)
        self._source, self._keep, self.walk = (
            source or rng,
            keep,
            Walk(frame, radius_of(frame.dimension, keep), rate=RATE, shrink=0.0),
        )
        self.mean, self._stepped = np.zeros(frame.dimension), 0  # of the walk's second half

    def greedy(self, customers: Customers) -> FloatArray:
        return self.frame.best_prices(customers, self.mean / (self.frame.slope * self.frame.length))

    def take(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        frame, count, d = self.frame, len(demands), self.frame.dimension
        psi = np.ascontiguousarray(customers.features(prices) / frame.length)
        coins = coins_of(self.rng, self._source, count, d, self._keep)
        offset = np.asarray(frame.offset(prices))
        for i in range(count):  # a device sees the theta that the last one left: prices need none
            one, sent = slice(i, i + 1), np.empty((1, d))
            send(self.walk.theta, psi[one], offset[one], demands[one], coins[one], self._keep, sent)
            self.walk.accept(sent)
            self._stepped += 1
            late = self._stepped - self.first // 2
            if late > 0:
                self.mean += (self.walk.theta - self.mean) / late


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    if asked.name == "glm-pricing-open":
        return unprotected(asked, frame, functools.partial(OpenCommit, first=explored(frame, None)))
    epsilon = asked.claimed.epsilon
    keep = keep_of(epsilon)
    drawn = keep if asked.drawn else PLAIN
    if asked.name == "glm-pricing-mixed":
        return RivalPolicy(
            name=asked.name,
            frame=frame,
            begin=functools.partial(MixedCommit, keep=drawn, epsilon=epsilon),
            horizon=frame.horizon,
            protects=PRIVATE_ONES,
            noised=asked.drawn,
        )
    event = DirectionReports(dimension=frame.dimension, keep=keep) if asked.drawn else None
    begin = functools.partial(LocalCommit, keep=drawn, first=explored(frame, epsilon))
    return guarded(asked, frame, begin, event, claimed=EpsilonDelta(epsilon, 0.0), reported=True)
