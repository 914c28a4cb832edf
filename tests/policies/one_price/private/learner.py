"""The side that reads records: what each tried price sold, released once, with noise.

A record adds y / B_Y, at most 1, to the entry of its slot's price: a score along that price's unit vector, so that the
event `Batches` covers it, with one batch of one block whose curvature is not even released.
"""

from __future__ import annotations

import numpy as np
from tests.policies.one_price.rules import OnePriceRules

from hushprice.demand.protocol import Demand
from hushprice.errors import BudgetExhausted
from hushprice.noise import NoiseSource
from hushprice.numerics import tape
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.ledger import Entry, Ledger
from hushprice.releases import ScoreRelease


class OnePriceLearner:
    """Sums of what was sold, by price. Paid for at the start."""

    def __init__(self, *, rules: OnePriceRules, demand: Demand, source: NoiseSource, adjacency: Adjacency) -> None:
        self._rules, self._bound, self._source = rules, demand.bound, source
        self.event = rules.noise.event(len(rules.prices), live=not source.simulated)
        allowed = Ledger(adjacency=adjacency, claimed=rules.noise.claimed, allowance=(Entry(self.event, 1),))
        self.ledger = allowed.spend(self.event)
        self.sold = np.zeros(len(rules.prices))  # sensitive
        self.learned, self._released = 0, False

    def absorb(self, demand: float) -> None:
        """Learn the next slot; those after the tried ones add nothing."""
        if self.learned < self._rules.tried:
            self.sold[self.learned % self.sold.size] += min(max(demand / self._bound, 0.0), 1.0)
        self.learned += 1

    def release(self) -> ScoreRelease:
        """What each price sold, with noise. Once."""
        if self._released:
            raise BudgetExhausted("what the tried prices sold was released already")
        self._released = True
        noisy = self._source.add(self.sold, self._rules.noise.sales, tape.ESTIMATE_NOISE, self.learned)
        return ScoreRelease(noisy, self.learned, self.event)

    def __repr__(self) -> str:
        return "OnePriceLearner(<sensitive>)"
