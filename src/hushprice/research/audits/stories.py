"""The two stories of the introduction about a watcher: what did customer t buy, and what is customer t like?

Each is two worlds that differ by the record of one period. The records are those that move a release most: the customer
stands in a corner of the cube of contexts, and by default comes right after exploration, when the price of ignorance is
1. On the paper's features ||phi|| = 1 then, and the two attributes give orthogonal features at d = 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hushprice.errors import InvalidInput
from hushprice.simulation.changed_record import GivenCustomer
from hushprice.simulation.market import Market


@dataclass(frozen=True, slots=True)
class Story:
    """A question a watcher of later prices asks, as two worlds."""

    name: str
    first: GivenCustomer
    second: GivenCustomer

    @property
    def period(self) -> int:
        return self.first.period


def purchase(market: Market, period: int) -> Story:
    """Did the customer buy? The most one may buy, or nothing, by a customer whose attributes the watcher knows."""
    corner = [1.0] * market.features.contexts
    return Story(
        "purchase",
        GivenCustomer(period=period, context=corner, demand=market.demand.bound),
        GivenCustomer(period=period, context=corner, demand=0.0),
    )


def attribute(market: Market, period: int) -> Story:
    """Which kind of customer was it? One corner of the cube or the opposite one; the customer answers as ever."""
    corner = [1.0] * market.features.contexts
    opposite = [-1.0] * market.features.contexts
    return Story(
        "attribute", GivenCustomer(period=period, context=corner), GivenCustomer(period=period, context=opposite)
    )


STORIES: dict[str, Callable[[Market, int], Story]] = {"purchase": purchase, "attribute": attribute}


def story_of(name: str, market: Market, period: int) -> Story:
    """The story of that name, about the customer of that period."""
    if name not in STORIES:
        raise InvalidInput(f"story must be one of {', '.join(STORIES)}, got {name!r}")
    return STORIES[name](market, period)
