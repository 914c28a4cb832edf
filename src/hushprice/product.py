"""A product as a shop knows it: everything public, everything fixed before the first customer.

What a policy needs besides (the model's offset, scales and first belief) follows from these numbers, so nobody has to
know what a slope or a ball is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hushprice import checks
from hushprice.demand.schema import Schema
from hushprice.errors import InvalidInput

MOST_CONTEXTS = 32


@dataclass(frozen=True, kw_only=True)
class Product:
    """Prices are in the shop's currency; `conversion` is the share of visitors expected to buy at today's price.

    >>> product = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.02, contexts=9)
    >>> product.reach, product.contexts, round(product.response, 3)
    (5.0, 9, 0.204)
    """

    floor: float
    ceiling: float
    reference_price: float  # what is charged today
    conversion: float
    unit_cost: float = 0.0
    elasticity: float | None = None  # of demand at today's price, as a positive number; None: today's price is best
    contexts: int = 0  # how many numbers in [-1, 1] describe a customer; follows from the schema where there is one
    schema: Schema | None = None
    epsilon: float = 1.0
    delta: float | str = "2/T^2"
    risk: float = 0.02  # the largest share of what staying would have earned that learning may cost

    def __post_init__(self) -> None:
        checks.finite(floor=self.floor, ceiling=self.ceiling, unit_cost=self.unit_cost)
        checks.positive(reference_price=self.reference_price, epsilon=self.epsilon)
        checks.probability(conversion=self.conversion)
        checks.non_negative(floor=self.floor, unit_cost=self.unit_cost)
        checks.within(0.0, 1.0, risk=self.risk)
        _below("floor", self.floor, "reference_price", self.reference_price)
        _below("reference_price", self.reference_price, "ceiling", self.ceiling)
        _below("unit_cost", self.unit_cost, "reference_price", self.reference_price)
        if self.elasticity is not None:
            checks.positive(elasticity=self.elasticity)
        if self.schema is not None:
            self._take_contexts(self.schema.dimension)
        checks.whole(0, contexts=self.contexts)
        checks.within(0, MOST_CONTEXTS, contexts=self.contexts)

    def _take_contexts(self, entries: int) -> None:
        if self.contexts not in (0, entries):
            raise InvalidInput(f"contexts is given by the schema ({entries}); got {self.contexts!r} as well")
        object.__setattr__(self, "contexts", entries)

    @property
    def reach(self) -> float:
        """How far a price can be from today's. Relative prices z = (price - today's) / reach lie in [-1, 1]."""
        return max(self.reference_price - self.floor, self.ceiling - self.reference_price)

    @property
    def margin(self) -> float:
        """What a purchase earns at today's price, in units of `reach`."""
        return (self.reference_price - self.unit_cost) / self.reach

    @property
    def level(self) -> float:
        """The expected log-odds of a purchase at today's price."""
        return math.log(self.conversion / (1.0 - self.conversion))

    @property
    def response(self) -> float:
        """How much the log-odds are expected to fall over one `reach`.

        By the declared elasticity, or such that today's price is best: (price - cost) b (1 - conversion) = 1 (Lerner).
        """
        if self.elasticity is None:
            return 1.0 / (self.margin * (1.0 - self.conversion))
        return self.elasticity * self.reach / (self.reference_price * (1.0 - self.conversion))

    @property
    def lowest(self) -> float:
        """The floor as a relative price."""
        return (self.floor - self.reference_price) / self.reach

    @property
    def highest(self) -> float:
        """The ceiling as a relative price."""
        return (self.ceiling - self.reference_price) / self.reach


def _below(low_name: str, low: float, high_name: str, high: float) -> None:
    if not low < high:
        raise InvalidInput(f"{low_name} must be below {high_name}, {high!r}, got {low!r}")
