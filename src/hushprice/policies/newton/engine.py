"""noisy-newton over its two sides: when a record is learned, when its batch is looked at, and what the price is."""

from __future__ import annotations

from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.noise import NoiseSource
from hushprice.numerics import tape
from hushprice.policies.newton.policy import NewtonPolicy
from hushprice.policies.newton.pricing.quoter import NewtonQuoter
from hushprice.policies.newton.private.batches import IdealBatch
from hushprice.policies.newton.private.exact_batches import ExactBatch
from hushprice.policies.newton.private.learner import NewtonLearner
from hushprice.policies.protocol import SlotsDue
from hushprice.releases import CurvatureRelease, ScoreRelease
from hushprice.types import FloatArray

Releases = tuple[CurvatureRelease | ScoreRelease, ...]  # none, a curvature, or a curvature and its batch's score


class NewtonEngine:
    """Policy 'noisy-newton'. simulation/kernels/newton.py does the same, a block of periods at a time."""

    def __init__(self, *, policy: NewtonPolicy, demand: Demand, features: FeatureMap, source: NoiseSource) -> None:
        self._source = source
        self.quoter = NewtonQuoter(demand=demand, features=features, rules=policy.rules)
        self.learner = NewtonLearner(
            demand=demand,
            dimension=features.dimension,
            rules=policy.rules,
            source=source,
            adjacency=policy.adjacency,
            level=self.quoter.level,
        )

    def learn(self, slots: SlotsDue, period: int) -> None:
        """Learn what the quote of this period makes due, and release what is due after that slot.

        A draw that fails is tried again with the next quote.
        """
        due = slots.due()
        if due is None:
            self.release()
        else:
            self.step(*due)

    def step(self, phi: FloatArray, demand: float) -> Releases:
        """Learn the next slot, whose record is given; returns what is released after it."""
        self.learner.absorb(phi, demand, self.quoter.theta, self.quoter.inverse)
        return self.release()

    def skip(self, slots: int = 1) -> Releases:
        """The next slot, or several, contribute nothing and keep their places; returns what is released after them."""
        self._check_slots(slots)
        self.learner.skip(slots)
        return self.release()

    def steps(self, phi: FloatArray, demands: FloatArray, skipped: int) -> Releases:
        """Learn slots up to the next look at most: records, columns of phi, and `skipped` that contribute nothing.

        All are scored at one belief, so that which slots contribute matters and their order does not.
        """
        self._check_slots(demands.size + skipped)
        self.learner.absorb_all(phi, demands, self.quoter.theta, self.quoter.inverse)
        return self.skip(skipped)

    def _check_slots(self, slots: int) -> None:
        """A slot past the next look belongs to another block, and perhaps to another belief."""
        room = self.quoter.look - self.learner.count
        if slots > room:
            raise InvalidInput(f"slots must be at most {room}, those before the next release, got {slots}")

    def release(self) -> Releases:
        """What is due after the last slot learned. Slots decide, and a release that was made is never made anew."""
        quoter, learner = self.quoter, self.learner
        made: Releases = ()
        if learner.count == quoter.look:
            curvature = learner.curvature()
            made = (curvature,)
            if quoter.ends(curvature):
                score = learner.score()
                made = (curvature, score)
                quoter.accept(score, curvature)
            else:
                quoter.go_on()
        if learner.ended:
            learner.begin(quoter.level)
        return made

    def jump(self, records: int) -> None:
        """Learn no slot up to `records` (any more): the batch at hand is dropped, and one begins after them."""
        self.learner.check_jump(records)
        self.quoter.follow(records)
        self.learner.jump(records, self.quoter.level)

    def price(self, u: FloatArray, v: FloatArray, period: int) -> float:
        """The price for a customer whose features are u + p v."""
        return self.quoter.price_of(u, v, self._source.uniform(tape.EXPLORATION, period))

    def own_parts(self, *, certified: bool) -> dict[str, bool]:
        """Is the batch one of hushprice's own, drawing live noise where that is to be certified?"""
        return {"batch": type(self.learner.batch) in ((ExactBatch,) if certified else (IdealBatch, ExactBatch))}


def make_engine(
    *, policy: NewtonPolicy, demand: Demand, features: FeatureMap, horizon: int, source: NoiseSource, **parts: object
) -> NewtonEngine:
    """The engine of a live pricer. It is bound to no horizon and takes no part of the user's own."""
    if any(given is not None for given in parts.values()):
        raise InvalidInput(f"{' and '.join(parts)} are for policies 'paper' and 'nonprivate'")
    return NewtonEngine(policy=policy, demand=demand, features=features, source=source)
