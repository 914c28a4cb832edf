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
_SLACK = 1e-9  # steps: 29.99 is on a ladder that ends in .99, whatever a float makes of it
_DIGITS = 9


@dataclass(frozen=True, kw_only=True)
class Product:
    """Prices are in the shop's currency; `conversion` is the share of visitors expected to buy at today's price.

    Where a visitor may buy several, up to `most`, it is how many a visitor is expected to buy.

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
    most: float = 1.0  # the largest quantity that one visitor can buy
    step: float | None = None  # prices that can be charged are this far apart; None: any price can be
    ending: float = 0.0  # and this is one of them: prices with step 1 and ending 0.99 end in .99
    epsilon: float = 1.0
    delta: float | str = "2/T^2"
    holdout: float = 0.0  # share of customers, by a coin, who go on paying today's price: what others are compared with
    risk: float = 0.02  # the largest share of what staying would have earned that learning may cost

    def __post_init__(self) -> None:
        checks.finite(floor=self.floor, ceiling=self.ceiling, unit_cost=self.unit_cost)
        checks.positive(reference_price=self.reference_price, epsilon=self.epsilon)
        checks.at_least(1.0, most=self.most)
        if self.most == 1.0:
            checks.probability(conversion=self.conversion)
        checks.positive(conversion=self.conversion)
        _below("conversion", self.conversion, "most", self.most)
        checks.non_negative(floor=self.floor, unit_cost=self.unit_cost)
        checks.within(0.0, 1.0, risk=self.risk)
        checks.within(0.0, 0.5, holdout=self.holdout)
        _below("floor", self.floor, "reference_price", self.reference_price)
        _below("reference_price", self.reference_price, "ceiling", self.ceiling)
        _below("unit_cost", self.unit_cost, "reference_price", self.reference_price)
        if self.elasticity is not None:
            checks.positive(elasticity=self.elasticity)
        checks.non_negative(ending=self.ending)
        if self.step is not None:
            checks.positive(step=self.step)
            self._check_step()
        if self.schema is not None:
            self._take_contexts(self.schema.dimension)
        checks.whole(0, contexts=self.contexts)
        checks.within(0, MOST_CONTEXTS, contexts=self.contexts)

    def _take_contexts(self, entries: int) -> None:
        if self.contexts not in (0, entries):
            raise InvalidInput(f"contexts is given by the schema ({entries}); got {self.contexts!r} as well")
        object.__setattr__(self, "contexts", entries)

    def _check_step(self) -> None:
        """There must be something to try out on both sides of today's price."""
        given = f"step {self.step!r} with ending {self.ending!r}"
        if not self.cheapest < self.reference_price:
            raise InvalidInput(f"{given} leaves no price from floor to below reference_price")
        if not self.dearest > self.reference_price:
            raise InvalidInput(f"{given} leaves no price from above reference_price to ceiling")

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
        return math.log(self._share / (1.0 - self._share))

    @property
    def _share(self) -> float:
        """Of the largest quantity, what a visitor is expected to buy at today's price."""
        return self.conversion / self.most

    @property
    def response(self) -> float:
        """How much the log-odds are expected to fall over one `reach`.

        By the declared elasticity, or such that today's price is best: (price - cost) b (1 - conversion) = 1 (Lerner).
        """
        if self.elasticity is None:
            return 1.0 / (self.margin * (1.0 - self._share))
        return self.elasticity * self.reach / (self.reference_price * (1.0 - self._share))

    @property
    def cheapest(self) -> float:
        """The lowest price that can be charged."""
        return self.floor if self.step is None else self._rung(math.ceil(self._steps(self.floor) - _SLACK))

    @property
    def dearest(self) -> float:
        """The highest price that can be charged."""
        return self.ceiling if self.step is None else self._rung(math.floor(self._steps(self.ceiling) + _SLACK))

    @property
    def lowest(self) -> float:
        """The lowest price that can be charged, as a relative price."""
        return self.relative_of(self.cheapest)

    @property
    def highest(self) -> float:
        """The highest price that can be charged, as a relative price."""
        return self.relative_of(self.dearest)

    def relative_of(self, price: float) -> float:
        """z of a price."""
        return (price - self.reference_price) / self.reach

    def price_of(self, relative: float) -> float:
        """The price that is charged where z is asked for: the nearest that can be, without a float's last digits."""
        price = self.reference_price + self.reach * relative
        if self.step is not None:
            price = self._rung(round(self._steps(price)))
        return min(max(round(price, _DIGITS), self.cheapest), self.dearest)

    def _steps(self, price: float) -> float:
        return (price - self.ending) / (self.step or 1.0)

    def _rung(self, steps: int) -> float:
        return round(self.ending + steps * (self.step or 1.0), _DIGITS)


def _below(low_name: str, low: float, high_name: str, high: float) -> None:
    if not low < high:
        raise InvalidInput(f"{low_name} must be below {high_name}, {high!r}, got {low!r}")
