"""The side of the engine that prices. It holds releases and never sees a record (prop:na-privacy).

An import contract keeps it from importing records or releasers, so it can run on a machine that has neither.
"""

from __future__ import annotations

import math

import numpy as np

from hushprice import checks
from hushprice.demand import family
from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.optimizer import coefficients, lanes, reference, refresh
from hushprice.releases import CovarianceRelease, EstimateRelease
from hushprice.types import FloatArray


class Quoter:
    """Prices from the last estimate and the covariance it came with; starts from theta = 0 and Lambda = ridge I."""

    def __init__(self, *, demand: Demand, features: FeatureMap, ridge: float, width: float, repair: int) -> None:
        d = features.dimension
        self._demand = demand
        self._features = features
        self._ridge = ridge
        self._width = width
        self._repair = repair
        self._matrix = ridge * np.eye(d)
        self._small = np.empty((3 * d, d))
        self._search = np.empty(lanes.WORK)
        self.theta: FloatArray = np.zeros(d)
        self.inverse: FloatArray = np.eye(d) / ridge
        self.log_determinant = d * math.log(ridge)
        self.version = 0
        self.indefinite = 0

    def wants_estimate(self, covariance: CovarianceRelease) -> bool:
        """Has the determinant doubled since the last estimate (alg:framework, line 7)?"""
        d = self.theta.size
        sign, log_det, indefinite = refresh.regularize(
            covariance.packed, d, self._ridge, self._repair, self._matrix, self._small
        )
        self.indefinite += int(indefinite)
        return bool(refresh.wants_estimate(sign, log_det, self.log_determinant))

    def accept(self, estimate: EstimateRelease, covariance: CovarianceRelease) -> None:
        """Price from these releases from now on (alg:framework, line 8)."""
        d = self.theta.size
        theta = checks.vector(d, theta=estimate.theta)
        _, log_det, _ = refresh.regularize(covariance.packed, d, self._ridge, self._repair, self._matrix, self._small)
        refresh.invert(self._matrix, d, self.inverse, self._small)
        self.theta = theta.copy()
        self.log_determinant = log_det
        self.version += 1

    def price(self, context: FloatArray) -> float:
        """The price for a customer (alg:framework, line 10): a function of the context and of accepted releases alone."""
        u, v = (part.reshape(-1, 1) for part in self._features.parts(context))
        line, curve = np.empty((2, 1)), np.empty((3, 1))
        coefficients.demand_line(self.theta, u, v, 1, line[0], line[1])
        coefficients.bonus_curve(self.inverse, u, v, 1, curve[0], curve[1], curve[2], np.empty((2, 1)))
        if self._demand.family == family.CUSTOM:
            return reference.dense_price(
                self._demand, *(float(row[0]) for row in (*line, *curve)), width=self._width
            )
        price = np.empty(1)
        lanes.best_prices(
            self._demand.family, self._demand.slope, self._width, 1, line[0], line[1], *curve, price, self._search
        )
        return float(price[0])
