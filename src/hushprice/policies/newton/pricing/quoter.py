"""The side of noisy-newton that prices: a belief made of releases, and when batches and their blocks end.

It never sees a record, and an import contract keeps it so. What releases do to it is in transition.py.
"""

from __future__ import annotations

import numpy as np

from hushprice import checks
from hushprice.demand import family
from hushprice.demand.features import CUSTOM, FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.numerics.linear import packed_size
from hushprice.policies.newton.pricing import customer_price, transition
from hushprice.policies.newton.pricing.probe import work_shape
from hushprice.policies.newton.pricing.transition import TiltedBelief
from hushprice.policies.newton.rules import NewtonRules
from hushprice.price_search import plain
from hushprice.price_search.certified import STACK
from hushprice.releases import CurvatureRelease, ScoreRelease
from hushprice.types import FloatArray, IntArray


class _WholeNumber:
    """One of transition.py's whole numbers, as an attribute."""

    def __init__(self, entry: int) -> None:
        self._entry = entry

    def __get__(self, quoter: NewtonQuoter, kind: type) -> int:
        return int(quoter.progress[self._entry])

    def __set__(self, quoter: NewtonQuoter, value: int) -> None:
        quoter.progress[self._entry] = value


class NewtonQuoter:
    """Prices from the belief after the last batch. Slots are counted as they are learned."""

    batch = _WholeNumber(transition.BATCH)  # the slot that the batch at hand follows
    end = _WholeNumber(transition.END)  # the slot after which it ends at the latest
    level = _WholeNumber(transition.LEVEL)
    block = _WholeNumber(transition.BLOCK)
    look = _WholeNumber(transition.LOOK)  # the slot after which a curvature is released next
    version = _WholeNumber(transition.LEARNED)  # batches accepted
    ended_early = _WholeNumber(transition.ENDED_EARLY)  # of these

    def __init__(self, *, demand: Demand, features: FeatureMap, rules: NewtonRules) -> None:
        d = features.dimension
        self._demand = demand
        self._features = features
        self._rules = rules
        self._batches = transition.batch_rules(rules, demand, features)
        self._work = np.empty(work_shape(d))  # of batches, which one thread learns; a price has its own scratch
        constants = demand.slope, rules.width, rules.spread, rules.unit_cost, rules.near
        self._constants = np.array(constants, dtype=np.float64)
        self._compiled = demand.family != family.CUSTOM and features.code != CUSTOM
        self.progress: IntArray = np.empty(transition.ENTRIES, dtype=np.int64)
        self.theta: FloatArray = np.empty(d)
        self.precision: FloatArray = np.empty((d, d))
        self.inverse: FloatArray = np.empty((d, d))
        self.tilt: FloatArray = np.empty(d)  # of the batch, where it is a probe
        transition.start(self._batches, np.array(rules.center), self.progress, self._believed)

    @property
    def ready(self) -> bool:
        """Is the belief worth pricing by? Never unlearned."""
        return bool(self.progress[transition.READY])

    @ready.setter
    def ready(self, ready: bool) -> None:
        self.progress[transition.READY] = ready

    def follow(self, records: int) -> None:
        """A batch begins after this many slots: when it ends at the latest, and its blocks, are settled here."""
        transition.begin_batch(self._batches, self.progress, self._believed, records, self._work)

    def ends(self, curvature: CurvatureRelease) -> bool:
        """Does the batch end after this block: at its public end, or because some direction has gained enough?"""
        packed = self._packed(curvature)
        records = int(curvature.records)
        return bool(transition.ends(self._batches, self.progress, self._believed, packed, records, self._work))

    def go_on(self) -> None:
        """The batch goes on: look again after the next block."""
        transition.go_on(self.progress)

    def accept(self, score: ScoreRelease, curvature: CurvatureRelease) -> None:
        """Learn from a batch's releases, and begin the next batch."""
        packed = self._packed(curvature)
        if score.records != curvature.records:
            raise InvalidInput(f"score must be of {curvature.records} records, got {score.records}")
        values = checks.vector(self.theta.size, score=score.score).copy()
        records = int(curvature.records)
        transition.accept(self._batches, self.progress, self._believed, values, packed, records, self._work)

    def price(self, context: FloatArray, uniform: float) -> float:
        """The price for a customer: a function of the context, a public coin and the releases alone."""
        return self.price_of(*self._features.parts(context), uniform)

    def price_of_checked(self, context: FloatArray, uniform: float) -> float:
        """The same price for a context that was checked before, in one compiled call where all parts are built in.

        Threads may ask at once: the arrays that a customer's features are written to belong to the call.
        """
        if not self.ready:
            return self._unknown(uniform)
        if not self._compiled:
            return self.price(context, uniform)
        if context.shape != (self._features.contexts,):  # compiled code does not look
            raise InvalidInput(f"context must have {self._features.contexts} entries, got shape {context.shape}")
        return customer_price.price_of_customer(
            self._features.code,
            self._demand.family,
            self._constants,
            context,
            uniform,
            self.theta,
            self.inverse,
            self.tilt,
            np.empty((2, self.theta.size)),
            np.empty(STACK),
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
            share = plain.dense_price(demand, a, b, (q0, q1, q2), width)
        else:
            share = float(customer_price.price_for_one(*known, width, np.empty(STACK)))
        return min(cost + (1.0 - cost) * share, 1.0) if cost > 0.0 else share

    def _unknown(self, uniform: float) -> float:
        """Before anything is known: the reference price, dispersed."""
        rules = self._rules
        moved = rules.reference_price + rules.dispersion * (2.0 * uniform - 1.0)
        return float(min(max(moved, rules.unit_cost), 1.0))

    @property
    def _believed(self) -> TiltedBelief:
        return TiltedBelief(self.theta, self.precision, self.inverse, self.tilt)

    def _packed(self, curvature: CurvatureRelease) -> FloatArray:
        """The curvature as the compiled steps take it; it must be the one due."""
        if curvature.records != self.look:
            raise InvalidInput(f"curvature must be of {self.look} records, got {curvature.records}")
        return checks.vector(packed_size(self.theta.size), curvature=curvature.packed).copy()
