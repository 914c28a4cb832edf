"""Every choice made before the first customer."""

from __future__ import annotations

from dataclasses import dataclass

from tests.policies.one_price.noise import SalesNoise

from hushprice import checks


@dataclass(frozen=True, kw_only=True, slots=True)
class OnePriceRules:
    """The prices to try, how often each, and the noise on what they sold."""

    prices: tuple[float, ...]
    rounds: int  # how often each price is tried
    noise: SalesNoise

    def __post_init__(self) -> None:
        checks.whole(1, rounds=self.rounds)

    @property
    def tried(self) -> int:
        """Customers who see a price that is tried."""
        return self.rounds * len(self.prices)
