"""The side that prices. It sees the release and nothing of any record."""

from __future__ import annotations

import numpy as np
from tests.policies.one_price.rules import OnePriceRules

from hushprice.releases import ScoreRelease


class OnePriceQuoter:
    """Tries the prices in turn, by slot number; after the release, the price that earned most."""

    def __init__(self, rules: OnePriceRules) -> None:
        self._rules, self._best, self.version = rules, rules.prices[len(rules.prices) // 2], 0

    def price(self, slot: int) -> float:
        """The price of a slot, the first being 1."""
        rules = self._rules
        return rules.prices[(slot - 1) % len(rules.prices)] if slot <= rules.tried else self._best

    def accept(self, release: ScoreRelease) -> None:
        """Keep the price with the largest noisy revenue; each was tried equally often."""
        self._best = self._rules.prices[int(np.argmax(release.score * np.array(self._rules.prices)))]
        self.version += 1
