"""Both sides in one process: what a live pricer runs."""

from __future__ import annotations

from typing import Any

from tests.policies.one_price.policy import OnePrice
from tests.policies.one_price.pricing.quoter import OnePriceQuoter
from tests.policies.one_price.private.learner import OnePriceLearner

from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.noise import NoiseSource
from hushprice.policies.protocol import SlotsDue
from hushprice.types import FloatArray


class OnePriceEngine:
    """Learns slot by slot; releases after the last slot of a tried price."""

    def __init__(self, policy: OnePrice, demand: Demand, source: NoiseSource) -> None:
        self._tried = policy.rules.tried
        self.quoter = OnePriceQuoter(policy.rules)
        self.learner = OnePriceLearner(rules=policy.rules, demand=demand, source=source, adjacency=policy.adjacency)

    def learn(self, slots: SlotsDue, period: int) -> None:
        """Learn what the quote of this period makes due."""
        due = slots.due()
        if due is None:
            return
        self.learner.absorb(due[1])
        if self.learner.learned == self._tried:
            self.quoter.accept(self.learner.release())

    def price(self, u: FloatArray, v: FloatArray, period: int) -> float:
        """The price of this period: the same whoever comes."""
        return self.quoter.price(period)

    def own_parts(self, *, certified: bool) -> dict[str, bool]:
        """Nothing of it is hushprice's own, so it can be neither saved nor certified."""
        return {"policy": False}


def make_engine(
    *, policy: OnePrice, demand: Demand, features: FeatureMap, horizon: int, source: NoiseSource, **parts: Any
) -> OnePriceEngine:
    """The engine of a live pricer."""
    return OnePriceEngine(policy, demand, source)
