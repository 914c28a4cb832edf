"""cautious over its two sides: when a record is learned, when its batch is released, and what the price is.

A customer's coin, and who is in the holdout, are drawn without looking at the customer: from the slot's number and a
key that is saved, so that the learner can draw the same again. A coin that a record could turn would be part of it.
"""

from __future__ import annotations

import bisect
import hashlib
import logging
import math
import secrets
from typing import NamedTuple

import numpy as np

from hushprice.demand.features import FeatureMap, main_effects
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.noise import NoiseSource
from hushprice.numerics import tape
from hushprice.policies.cautious.policy import CautiousPolicy
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter, coin_of, first_rule
from hushprice.policies.cautious.private.exact_batch import ExactSums
from hushprice.policies.cautious.private.learner import CautiousLearner
from hushprice.policies.cautious.private.sums import IdealSums
from hushprice.policies.protocol import SlotsDue
from hushprice.releases import MomentRelease
from hushprice.types import BoolArray, FloatArray

KEY_BYTES = 32

_log = logging.getLogger("hushprice")


class PricedRecords(NamedTuple):
    """Records, a row each, with how their prices were chosen."""

    contexts: FloatArray
    prices: FloatArray  # relative, as charged
    coins: FloatArray
    demands: FloatArray  # in [0, 1]
    holdout: BoolArray


class CautiousEngine:
    """Quoter and learner of policy 'cautious', joined."""

    def __init__(self, *, policy: CautiousPolicy, source: NoiseSource) -> None:
        self.product = policy.product
        self.key = secrets.token_bytes(KEY_BYTES)  # of the coins
        self.switches: list[int] = []  # the first slot of each time that everybody pays today's price, and after it
        self._source = source
        self.quoter = CautiousQuoter(policy.rules, first_rule(policy.rules))
        self.learner = self._learner_of(policy, source)

    def _learner_of(self, policy: CautiousPolicy, source: NoiseSource) -> CautiousLearner:
        return CautiousLearner(rules=policy.rules, source=source, choice=self.quoter.rule.choice)

    def learn(self, slots: SlotsDue, period: int) -> None:
        """Learn what the quote of this period makes due, and release what is due after that slot.

        A draw that fails is tried again with the next quote.
        """
        due, before = slots.due(), self.quoter.health
        if due is None:
            self.release()
        else:
            self.step(*due, slot=slots.learned)
        health = self.quoter.health
        if health is not before and health.misfit and not before.misfit:
            _log.warning("visitors lately buy otherwise than believed, beyond noise and chance")
        if health.alarms > before.alarms and not self.frozen:
            self.switches.append(period)
            _log.warning(
                "prices earned less than the holdout, beyond the risk, up to slot %d: everybody pays %s, "
                "today's price, until the pricer is told to resume",
                health.alarmed,
                self.product.reference_price,
            )

    @property
    def frozen(self) -> bool:
        """Does everybody pay today's price, as prices have earned too little?"""
        return len(self.switches) % 2 == 1

    def resume(self, period: int) -> None:
        """Price from this quote on as planned; nothing happens where it is not frozen."""
        if self.frozen:
            self.switches.append(period)

    def step(self, phi: FloatArray, demand: float, slot: int | None = None) -> MomentRelease | None:
        """Learn the next record, given as features; returns what is released after it.

        `slot` is the quote's, whose coin is meant; without one, records are counted.
        """
        product, slot = self.product, self.learner.count + 1 if slot is None else slot
        x, p = _read(phi)
        # Features are rounded once more than contexts and prices, which were inside; a last digit is no clipping.
        price = min(max(product.relative_of(p * product.ceiling), -1.0), 1.0)
        coin, apart = self._drawn(slot)
        record = PricedRecords(
            np.clip(x, -1.0, 1.0).reshape(1, -1),
            np.array([price]),
            np.array([coin]),
            np.array([demand / product.most]),
            np.array([apart]),
        )
        return self.steps(record, 0)

    def steps(self, records: PricedRecords, skipped: int, skipped_holdout: int = 0) -> MomentRelease | None:
        """Learn slots up to the batch's end at most: records, and `skipped` slots that contribute nothing.

        Of these, so many are in the holdout: whether a slot holds a record or not, how its price was chosen counts.
        All are scored at one belief, so that which slots contribute matters and their order does not.
        """
        slots, room = records.demands.size + skipped, self.quoter.end - self.learner.count
        if slots > room:  # a slot past the end belongs to another batch
            raise InvalidInput(f"slots must be at most {room}, those before the next release, got {slots}")
        contexts, prices, coins, demands, holdout = records
        self.learner.absorb(contexts, prices, coins, demands, self.quoter.belief.theta, holdout=holdout)
        self.learner.skip(skipped, skipped_holdout)
        return self.release()

    def release(self) -> MomentRelease | None:
        """What is due after the last slot learned. Slots decide, and a release that was made is never made anew."""
        made = None
        if self.learner.count == self.quoter.end:
            made = self.learner.release()
            self.quoter.accept(made)
        if self.learner.ended:
            self.learner.begin(self.quoter.rule.choice)
        return made

    def jump(self, records: int) -> None:
        """Learn no slot up to `records` (any more): the batch at hand is dropped, and one begins after them."""
        if records < self.learner.count:
            raise InvalidInput(f"records must be at least {self.learner.count}, the slots learned, got {records}")
        self.quoter.follow(records)
        self.learner.jump(records, self.quoter.rule.choice)

    def price(self, u: FloatArray, v: FloatArray, period: int) -> float:
        """The price, as a share of the ceiling, for a customer whose features are u + p v."""
        coin, apart = self._drawn(period)
        relative = 0.0 if apart else self.quoter.relative_price(np.clip(_read(u)[0], -1.0, 1.0), coin)
        return self.product.price_of(relative) / self.product.ceiling

    def _drawn(self, slot: int) -> tuple[float, bool]:
        """The coin of a slot, and whether it is in the holdout: the same whenever it is asked."""
        if self._source.simulated:
            first, second = (self._source.uniform(stream, slot) for stream in (tape.EXPLORATION, tape.HOLDOUT))
        else:
            drawn = hashlib.blake2b(slot.to_bytes(8, "big"), digest_size=16, key=self.key).digest()
            first, second = (_uniform(drawn[:8]), _uniform(drawn[8:]))
        frozen = bisect.bisect_right(self.switches, slot) % 2 == 1  # then everybody is in the holdout
        return coin_of(first) or 1.0, second < self.product.holdout or frozen

    def own_parts(self, *, certified: bool) -> dict[str, bool]:
        """Are the sums those of hushprice's own, drawing live noise where that is to be certified?"""
        return {"batch": type(self.learner.batch) in ((ExactSums,) if certified else (IdealSums, ExactSums))}


def _read(phi: FloatArray) -> tuple[FloatArray, float]:
    """Context and price from the features [x; -p] / sqrt(k + 1)."""
    scaled = phi * math.sqrt(phi.size)
    return scaled[:-1], -float(scaled[-1])


def _uniform(drawn: bytes) -> float:
    """Strictly inside (0, 1), from 8 random bytes; never 1/2."""
    return ((int.from_bytes(drawn, "big") >> 12) + 0.5) * 2.0**-52


def make_engine(
    *,
    policy: CautiousPolicy,
    demand: Demand,
    features: FeatureMap,
    horizon: int,
    source: NoiseSource,
    **parts: object,
) -> CautiousEngine:
    """The engine of a live pricer. It takes no part of the user's own; customers and prices are read off features."""
    if any(given is not None for given in parts.values()):
        raise InvalidInput(f"{' and '.join(parts)} are for policies 'paper' and 'nonprivate'")
    if features != main_effects(policy.product.contexts):
        raise InvalidInput(f"features must be 'main' for policy 'cautious', got {features.name!r}")
    return CautiousEngine(policy=policy, source=source)
