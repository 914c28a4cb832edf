"""How much noise a budget buys, and the event that describes it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hushprice import checks
from hushprice.privacy import accountant
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import Batches
from hushprice.privacy.loss import loss_of

_NOT_RELEASED = 1e9  # times the noise of sales: what the event says of curvatures, which stay with the learner


@dataclass(frozen=True, kw_only=True, slots=True)
class SalesNoise:
    """The standard deviation of what is added to the sales of each price, bought with `claimed`."""

    sales: float
    claimed: EpsilonDelta

    def __post_init__(self) -> None:
        checks.positive(sales=self.sales)

    def event(self, prices: int, *, live: bool) -> Batches:
        """All that is ever released, as one event: one batch of one block."""
        return Batches(
            dimension=prices,
            score_noise=self.sales,
            curvature_noise=_NOT_RELEASED * self.sales,
            levels=0,
            live=live,
        )

    def proven_epsilon(self, prices: int, adjacency: Adjacency) -> float:
        """What this noise proves at the claim's delta, drawn live."""
        return accountant.epsilon_of(loss_of(self.event(prices, live=True), 1, adjacency), self.claimed.delta)


def calibrate(claimed: EpsilonDelta, *, prices: int, adjacency: Adjacency) -> SalesNoise:
    """The least noise that proves the claim, found by halving to a share of 1e-9; what is left falls on the safe side.

    >>> noise = calibrate(EpsilonDelta(1.0, 1e-9), prices=5, adjacency=Adjacency.REPLACE_ONE)
    >>> round(noise.sales, 2), round(noise.proven_epsilon(5, Adjacency.REPLACE_ONE), 6)
    (10.99, 1.0)
    """
    low, high = 1e-3, 1e6
    while high > (1.0 + 1e-9) * low:
        middle = math.sqrt(low * high)
        enough = SalesNoise(sales=middle, claimed=claimed).proven_epsilon(prices, adjacency) <= claimed.epsilon
        low, high = (low, middle) if enough else (middle, high)
    return SalesNoise(sales=high, claimed=claimed)
