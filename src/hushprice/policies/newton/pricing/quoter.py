"""The side of noisy-newton that prices: a belief made of releases, and when batches and their blocks end.

Like quoter.py it never sees a record, and an import contract keeps it so. simulation/kernels/newton.py runs the same
steps.
"""

from __future__ import annotations

import numpy as np

from hushprice import checks
from hushprice.demand import family
from hushprice.demand.features import CUSTOM, FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.numerics.linear import packed_size
from hushprice.policies.newton.pricing import belief, customer_price, probe
from hushprice.policies.newton.pricing import schedule as batching
from hushprice.policies.newton.rules import (
    BLOCKS,
    GROWTH,
    KNOWN,
    NOISE_SHARE,
    PRECISION,
    SPARE,
    NewtonRules,
    references,
    schedule,
)
from hushprice.price_search import plain
from hushprice.price_search.certified import STACK
from hushprice.releases import CurvatureRelease, ScoreRelease
from hushprice.types import FloatArray


class NewtonQuoter:
    """Prices from the belief after the last batch. Slots are counted as they are learned."""

    def __init__(self, *, demand: Demand, features: FeatureMap, rules: NewtonRules) -> None:
        d = features.dimension
        self._demand = demand
        self._features = features
        self._rules = rules
        self._strategies = schedule(rules.noise.levels)
        self._price_effect = np.array(features.parts(np.zeros(features.contexts))[1])
        self._references = references(features)
        self._search = np.empty(STACK)
        self._work = np.empty(probe.work_shape(d))
        self._parts = np.empty((2, d))
        constants = demand.slope, rules.width, rules.spread, rules.unit_cost, rules.near
        self._constants = np.array(constants, dtype=np.float64)
        self._compiled = demand.family != family.CUSTOM and features.code != CUSTOM
        self.theta: FloatArray = np.array(rules.center)
        self.precision: FloatArray = PRECISION * np.eye(d)
        self.inverse: FloatArray = np.eye(d) / PRECISION
        self.ready = False  # is the belief worth pricing by? Never unlearned
        self.version = 0  # batches accepted
        self.tilt: FloatArray = np.zeros(d)  # of the batch, where it is a probe
        self.follow(0)

    def follow(self, records: int) -> None:
        """A batch begins after this many slots: when it ends at the latest, and its blocks, are settled here."""
        self.batch = records
        self.end = self._latest(batching.batch_end(records, self._rules.first, GROWTH))
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
        return customer_price.price_of_customer(
            self._features.code,
            self._demand.family,
            self._constants,
            context,
            uniform,
            self.theta,
            self.inverse,
            self.tilt,
            self._parts,
            self._search,
        )

    def price_of(self, u: FloatArray, v: FloatArray, uniform: float) -> float:
        """The price for a customer whose features are u + p v; `uniform` in [0, 1] disperses it."""
        rules, demand = self._rules, self._demand
        if not self.ready:
            return self._unknown(uniform)
        cost, width = float(rules.unit_cost), float(rules.width)
        u, v = np.ascontiguousarray(u, dtype=np.float64), np.ascontiguousarray(v, dtype=np.float64)
        settings = float(rules.near), self.tilt, float(rules.spread), float(uniform), cost
        known = demand.family, float(demand.slope), self.theta, self.inverse, u, v, *settings
        width = width / (1.0 - cost) if cost > 0.0 else width
        if demand.family == family.CUSTOM:
            lines = np.empty((customer_price.LINES, 1))
            customer_price.lines_for_one(*known, lines)
            a, b, q0, q1, q2 = lines[:5, 0].tolist()
            share = plain.dense_price(demand, a, b, q0, q1, q2, width)
        else:
            share = float(customer_price.price_for_one(*known, width, self._search))
        return min(cost + (1.0 - cost) * share, 1.0) if cost > 0.0 else share

    def _unknown(self, uniform: float) -> float:
        """Before anything is known: the reference price, dispersed."""
        rules = self._rules
        moved = rules.reference_price + rules.dispersion * (2.0 * uniform - 1.0)
        return float(min(max(moved, rules.unit_cost), 1.0))

    def _latest(self, end: int) -> int:
        """Where the batch that begins ends at the latest, and its tilt: a probe is shorter."""
        rules, demand = self._rules, self._demand
        if not self.ready:
            self.tilt[:] = 0.0
            return end
        end = probe.begin(
            demand.family,
            float(demand.slope),
            float(rules.probe),
            float(rules.reach),
            float(rules.least),
            float(rules.near),
            float(rules.unit_cost),
            self.theta,
            self.inverse,
            *self._references,
            self.version,
            self.batch,
            end,
            self.tilt,
            self._work,
        )
        return int(end)

    def _error(self) -> float:
        """The deviation of an entry of the batch's released curvature, at most."""
        column, row = self._strategies.column[self.level], self._strategies.row[self.level]
        return float(self._rules.cap * (self._rules.noise.curvature * column) * row)

    def _packed(self, curvature: CurvatureRelease) -> FloatArray:
        """The curvature as the compiled steps take it; it must be the one due."""
        if curvature.records != self.look:
            raise InvalidInput(f"curvature must be of {self.look} records, got {curvature.records}")
        return checks.vector(packed_size(self.theta.size), curvature=curvature.packed).copy()
