"""The side of noisy-newton that prices: a belief made of releases, and when batches and their blocks end.

Like quoter.py it never sees a record, and an import contract keeps it so. simulation/newton.py runs the same steps.
"""

from __future__ import annotations

import numpy as np

from hushprice import checks
from hushprice.demand import family
from hushprice.demand.features import CUSTOM, FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.numerics.linear import packed_size
from hushprice.optimizer import batching, belief, coefficients, customer, lanes, reference, spread
from hushprice.policies.newton import BLOCKS, GROWTH, KNOWN, NOISE_SHARE, PRECISION, SPARE, Newton, schedule
from hushprice.releases import CurvatureRelease, ScoreRelease
from hushprice.types import FloatArray


class NewtonQuoter:
    """Prices from the belief after the last batch. Slots are counted as they are learned."""

    def __init__(self, *, demand: Demand, features: FeatureMap, rules: Newton) -> None:
        d = features.dimension
        self._demand = demand
        self._features = features
        self._rules = rules
        self._strategies = schedule(rules.noise.levels)
        self._price_effect = np.array(features.parts(np.zeros(features.contexts))[1])
        self._search = np.empty(lanes.WORK)
        self._work = np.empty((4 * d + 3, d))
        self._parts, self._rows = np.empty((2, d, 1)), np.empty((customer.ROWS, 1))
        self._constants = np.array([demand.slope, rules.width, rules.spread, rules.unit_cost], dtype=np.float64)
        self._compiled = demand.family != family.CUSTOM and features.code != CUSTOM
        self.theta: FloatArray = np.array(rules.center)
        self.precision: FloatArray = PRECISION * np.eye(d)
        self.inverse: FloatArray = np.eye(d) / PRECISION
        self.ready = False  # is the belief worth pricing by? Never unlearned
        self.version = 0  # batches accepted
        self.follow(0)

    def follow(self, records: int) -> None:
        """A batch begins after this many slots: when it ends at the latest, and its blocks, are settled here."""
        self.batch = records
        self.end = batching.batch_end(records, self._rules.first, GROWTH)
        length = self.end - records
        self.level = batching.block_level(length, BLOCKS, self._rules.noise.levels)
        self.block = batching.block_length(length, self.level)
        self.look = min(records + self.block, self.end)  # the slot after which a curvature is released next

    def ends(self, curvature: CurvatureRelease) -> bool:
        """Does the batch end after this block: at its public end, or because some direction has gained enough?"""
        packed, rules = self._packed(curvature), self._rules
        if curvature.records >= self.end:
            return True
        if not rules.trigger > 0.0:
            return False
        gained = np.empty_like(self.precision)
        cap, noise = float(rules.cap), rules.noise.score * rules.noise.score
        settings = cap, self._error(), noise, float(rules.sampling), SPARE, NOISE_SHARE
        belief.gain(packed, *settings, self.precision, gained, self._work)
        return bool(belief.multiplies(self.precision, gained, float(rules.trigger), self._work))

    def go_on(self) -> None:
        """The batch goes on: look again after the next block."""
        self.look = min(self.look + self.block, self.end)

    def accept(self, score: ScoreRelease, curvature: CurvatureRelease) -> None:
        """Learn from a batch's releases, and begin the next batch."""
        packed, rules = self._packed(curvature), self._rules
        if score.records != curvature.records:
            raise InvalidInput(f"score must be of {curvature.records} records, got {score.records}")
        values = checks.vector(self.theta.size, score=score.score).copy()
        cap, noise = float(rules.cap), rules.noise.score * rules.noise.score
        settings = cap, self._error(), noise, float(rules.sampling), NOISE_SHARE
        belief.update(values, packed, *settings, self.theta, self.precision, self.inverse, self._work)
        known = KNOWN / PRECISION * belief.squared_length(self._price_effect)
        self.ready = bool(self.ready or belief.variance_along(self.inverse, self._price_effect) <= known)
        self.version += 1
        self.follow(curvature.records)

    def price(self, context: FloatArray, uniform: float) -> float:
        """The price for a customer: a function of the context, a public coin and the releases alone."""
        return self.price_of(*self._features.parts(context), uniform)

    def price_of_checked(self, context: FloatArray, uniform: float) -> float:
        """The same price for a context that was checked before, in one compiled call where all parts are built in."""
        if not self.ready:
            return self._unknown(uniform)
        if not self._compiled:
            return self.price(context, uniform)
        return customer.price_of_customer(
            self._features.code,
            self._demand.family,
            self._constants,
            context,
            uniform,
            self.theta,
            self.inverse,
            self._parts,
            self._rows,
            self._search,
        )

    def price_of(self, u: FloatArray, v: FloatArray, uniform: float) -> float:
        """The price for a customer whose features are u + p v; `uniform` in [0, 1] disperses it."""
        rules, demand = self._rules, self._demand
        if not self.ready:
            return self._unknown(uniform)
        a, b, q0, q1, q2, price = np.empty((6, 1))
        columns = u.reshape(-1, 1), v.reshape(-1, 1)
        coefficients.demand_line(self.theta, *columns, 1, a, b)
        coefficients.bonus_curve(self.inverse, *columns, 1, q0, q1, q2, np.empty((2, 1)))
        spread.spread_lines(float(rules.spread), 1, np.array([uniform]), a, b, q1, q2)
        cost = float(rules.unit_cost)
        width = float(rules.width)
        if cost > 0.0:
            width /= 1.0 - cost
            _above_cost(cost, a, b, q0, q1, q2)
        if demand.family == family.CUSTOM:
            share = reference.dense_price(demand, a.item(), b.item(), q0.item(), q1.item(), q2.item(), width)
        else:
            lanes.best_prices(demand.family, float(demand.slope), width, 1, a, b, q0, q1, q2, price, self._search)
            share = float(price[0])
        return min(cost + (1.0 - cost) * share, 1.0) if cost > 0.0 else share

    def _unknown(self, uniform: float) -> float:
        """Before anything is known: the reference price, dispersed."""
        rules = self._rules
        moved = rules.reference_price + rules.dispersion * (2.0 * uniform - 1.0)
        return float(min(max(moved, rules.unit_cost), 1.0))

    def _error(self) -> float:
        """The deviation of an entry of the batch's released curvature, at most."""
        column, row = self._strategies.column[self.level], self._strategies.row[self.level]
        return float(self._rules.cap * (self._rules.noise.curvature * column) * row)

    def _packed(self, curvature: CurvatureRelease) -> FloatArray:
        """The curvature as the compiled steps take it; it must be the one due."""
        if curvature.records != self.look:
            raise InvalidInput(f"curvature must be of {self.look} records, got {curvature.records}")
        return checks.vector(packed_size(self.theta.size), curvature=curvature.packed).copy()


def _above_cost(cost: float, a: FloatArray, b: FloatArray, q0: FloatArray, q1: FloatArray, q2: FloatArray) -> None:
    """Coefficients in r instead of p = c + (1 - c) r, in place: the search for revenue then finds the best margin.

    (p - c) f(a + b p) + width sqrt(q(p)) is (1 - c) times r f(a' + b' r) + width / (1 - c) sqrt(q'(r)), and r in [0, 1]
    are the prices from cost to ceiling.
    """
    above = 1.0 - cost
    a += b * cost
    b *= above
    q0 += cost * (q1 + cost * q2)
    q1 += 2.0 * cost * q2
    q1 *= above
    q2 *= above * above
