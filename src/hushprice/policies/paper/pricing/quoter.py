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
from hushprice.numerics.linear import log_determinants, packed_size
from hushprice.policies.paper.pricing import refresh
from hushprice.price_search import coefficients, one, plain
from hushprice.price_search.certified import STACK
from hushprice.releases import CovarianceRelease, EstimateRelease
from hushprice.types import FloatArray


class PaperQuoter:
    """Prices from the last estimate and the covariance it came with; starts from theta = 0 and Lambda = ridge I."""

    def __init__(self, *, demand: Demand, features: FeatureMap, ridge: float, width: float, repair: int) -> None:
        checks.positive(ridge=ridge)
        checks.non_negative(width=width)
        d = features.dimension
        self._demand = demand
        self._features = features
        self._ridge = float(ridge)  # one type, so that the steps are compiled once
        self._width = float(width)
        self._repair = repair
        self._small = np.empty((2 * d + 1, d))
        self.theta: FloatArray = np.zeros(d)
        self.inverse: FloatArray = np.eye(d) / ridge
        self.log_determinant = d * math.log(ridge)
        self.covariance: CovarianceRelease | None = None  # the one last accepted
        self.version = 0  # estimates accepted
        self.indefinite = 0  # covariances seen whose noise exceeded what was learned

    def wants_estimate(self, covariance: CovarianceRelease) -> bool:
        """Has the determinant doubled since the last estimate (alg:framework, line 7)?"""
        sign, log_det, definite = self._determinant(self._packed(covariance))
        self.indefinite += int(not definite)
        return bool(refresh.wants_estimate(sign, log_det, self.log_determinant))

    def accept(self, estimate: EstimateRelease, covariance: CovarianceRelease) -> None:
        """Price from these releases from now on (alg:framework, line 8)."""
        theta = checks.vector(self.theta.size, theta=estimate.theta).copy()
        packed = self._packed(covariance)
        _, self.log_determinant, _ = self._determinant(packed)
        refresh.confidence(packed, theta.size, self._ridge, self._repair, self.inverse, self._small)
        self.theta = theta
        self.covariance = covariance
        self.version += 1

    def price(self, context: FloatArray) -> float:
        """The price for a customer (alg:framework, line 10): a function of the context and the releases alone."""
        return self.price_of(*self._features.parts(context))

    def price_of(self, u: FloatArray, v: FloatArray) -> float:
        """The price for a customer whose features are u + p v."""
        a, b, q0, q1, q2 = np.empty((5, 1))
        columns = u.reshape(-1, 1), v.reshape(-1, 1)
        coefficients.demand_line(self.theta, *columns, 1, a, b)
        coefficients.bonus_curve(self.inverse, *columns, 1, q0, q1, q2, np.empty((2, 1)))
        demand, curve = self._demand, (a.item(), b.item(), q0.item(), q1.item(), q2.item())
        if demand.family == family.CUSTOM:
            return plain.dense_price(demand, *curve[:2], curve[2:], self._width)
        return float(one.price_of_one(demand.family, float(demand.slope), self._width, *curve, np.empty(STACK)))

    def _packed(self, covariance: CovarianceRelease) -> FloatArray:
        """Sigma as the compiled steps take it. Its length is checked here because they trust it."""
        size = packed_size(self.theta.size)
        return checks.vector(size, covariance=covariance.packed).copy()  # read-only is a type of its own

    def _determinant(self, packed: FloatArray) -> tuple[float, float, bool]:
        """Sign and ln |det| of Lambda as released, and whether it is positive definite."""
        out, column, d = np.empty((3, 1)), packed.reshape(-1, 1), self.theta.size
        log_determinants(column, self._ridge, d, 1, out, np.empty_like(column), np.empty((d, d)))
        return float(out[0, 0]), float(out[1, 0]), bool(out[2, 0] > 0.0)
