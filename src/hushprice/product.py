"""A product as a shop knows it: everything public, everything fixed before the first customer.

What a policy needs besides (the model's offset, scales and first belief) follows from these numbers, so nobody has to
know what a slope or a ball is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from hushprice import checks
from hushprice.demand.schema import OTHER, Schema
from hushprice.errors import InvalidInput
from hushprice.prior import Prior, first_difference, prior_of, read_prior
from hushprice.privacy.certificates import canonical
from hushprice.privacy.delta import parse_delta

MOST_CONTEXTS = 32
_USUAL = 100_000  # customers
LEAST_CONVERSION = 1e-4  # and as much below 1: else hardly a purchase, or hardly a refusal, is ever seen
ELASTICITIES = (0.05, 100.0)
LEAST_MARGIN = 0.01  # of today's price: else a share of what staying earns says nothing
LEAST_ROOM = 0.001  # of today's price, to either side of it: else no price can be tried out
MOST_FALL = 200.0  # of the log-odds between floor and ceiling: beyond it the least experiment is all or nothing
DOUBTS = (0.25, 2.0)  # the least and the most that a range of elasticities says, as a share of its middle
GUESS = 3.0  # times: how far off a single elasticity may be
MOST_UNITS = 1e6  # that one visitor can buy
_SLACK = 1e-9  # steps: 29.99 is on a ladder that ends in .99, whatever a float makes of it
_DIGITS = 9
_MOST_STEPS = 2.0**53


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
    unit_cost: float = 0.0  # no price is below it either
    # of demand at today's price, as a positive number; or a range (low, high); None: today's price is best
    elasticity: float | tuple[float, float] | None = None
    contexts: int = 0  # how many numbers in [-1, 1] describe a customer; follows from the schema where there is one
    schema: Schema | None = None
    most: float = 1.0  # the largest quantity that one visitor can buy
    step: float | None = None  # prices that can be charged are this far apart; None: any price can be
    ending: float = 0.0  # and this is one of them: prices with step 1 and ending 0.99 end in .99
    epsilon: float = 1.0
    delta: float | str = "2/T^2"
    holdout: float = 0.0  # share of customers, by a coin, who go on paying today's price: what others are compared with
    risk: float = 0.02  # the largest share of what staying would have earned that learning may cost
    prior: Prior | None = None  # what a private fit of a log says; a path to the fit's file is read

    def __post_init__(self) -> None:
        checks.finite(floor=self.floor, ceiling=self.ceiling, unit_cost=self.unit_cost)
        checks.positive(reference_price=self.reference_price, epsilon=self.epsilon)
        parse_delta(self.delta, _USUAL)  # nonsense is refused here, what a short horizon makes of a formula later
        checks.within(1.0, MOST_UNITS, most=self.most)
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
            object.__setattr__(self, "elasticity", _elasticity(self.elasticity))
        checks.non_negative(ending=self.ending)
        if self.step is not None:
            checks.positive(step=self.step)
            self._check_step()
        elif self.ending != 0.0:
            raise InvalidInput(
                f"ending needs a step: it is one of the prices that are a step apart, got {self.ending!r}"
            )
        if self.schema is not None:
            if not isinstance(self.schema, Schema):
                raise InvalidInput(f"schema must be a Schema, got {checks.shown(self.schema)}")
            self._take_contexts(self.schema.dimension)
            if self.schema.unknown is None:
                object.__setattr__(self, "schema", replace(self.schema, unknown=OTHER))
        checks.whole(0, contexts=self.contexts)
        checks.within(0, MOST_CONTEXTS, contexts=self.contexts)
        self._check_fit()
        if self.prior is not None:
            object.__setattr__(self, "prior", _prior(self.prior))
            self._check_prior()

    def _take_contexts(self, entries: int) -> None:
        if self.contexts not in (0, entries):
            raise InvalidInput(f"contexts is given by the schema ({entries}); got {self.contexts!r} as well")
        object.__setattr__(self, "contexts", entries)

    def _check_fit(self) -> None:
        """Refuse numbers that are each possible and that together leave the model nothing to say."""
        checks.within(LEAST_CONVERSION * self.most, (1.0 - LEAST_CONVERSION) * self.most, conversion=self.conversion)
        today = self.reference_price
        for name, most in (("floor", 1.0 - LEAST_ROOM), ("unit_cost", 1.0 - LEAST_MARGIN)):
            if not getattr(self, name) <= most * today:
                share = f"{most:g} of reference_price, {today!r}"
                raise InvalidInput(f"{name} must be at most {share}, got {getattr(self, name)!r}")
        if not self.ceiling >= (1.0 + LEAST_ROOM) * today:
            share = f"{1.0 + LEAST_ROOM:g} of reference_price, {today!r}"
            raise InvalidInput(f"ceiling must be at least {share}, got {self.ceiling!r}")
        fall = self.response * (self.highest - self.lowest)
        if not fall <= MOST_FALL:
            cause = "unit_cost" if self.elasticity is None else "elasticity"
            raise InvalidInput(
                f"floor and ceiling must be nearer to reference_price, or {cause} lower: the log-odds of a purchase "
                f"would fall by {fall:.0f} between them, {MOST_FALL:.0f} at most, got {self.floor!r} and "
                f"{self.ceiling!r} with {cause} {getattr(self, cause)!r}"
            )

    def _check_prior(self) -> None:
        """Refuse what a log of other attributes says; prices, conversion and elasticity may differ (`prior_here`)."""
        prior = self.prior
        assert prior is not None
        if prior.contexts != self.contexts:
            raise InvalidInput(f"prior must be about the product's {self.contexts} contexts, got {prior.contexts}")
        if prior.most != self.most:
            raise InvalidInput(f"prior must be about quantities up to most, {self.most!r}, got {prior.most!r}")
        if prior.schema is None or self.schema is None:
            return
        here, there = schema_text(self.schema), prior.schema
        if json.loads(here) != json.loads(there):  # 18 and 18.0 are one bound
            here, there = first_difference(json.loads(here), json.loads(there))
            raise InvalidInput(f"prior must be about the product's attributes, {here:.200}, got {there:.200}")

    @property
    def prior_here(self) -> Prior | None:
        """What the log says, in this product's own numbers."""
        if self.prior is None:
            return None
        return self.prior.rebased(
            level=self.level, response=self.response, reference_price=self.reference_price, reach=self.reach
        )

    def _check_step(self) -> None:
        """There must be something to try out on both sides of today's price."""
        given = f"step {self.step!r} with ending {self.ending!r}"
        if not max(abs(self._steps(self.floor)), abs(self._steps(self.ceiling))) < _MOST_STEPS:
            raise InvalidInput(f"{given} leaves more prices than can be told apart")
        lowest = "floor" if self.bottom == self.floor else "unit_cost"
        if not self.cheapest < self.reference_price:
            raise InvalidInput(f"{given} leaves no price from {lowest} to below reference_price")
        if not self.dearest > self.reference_price:
            raise InvalidInput(f"{given} leaves no price from above reference_price to ceiling")

    @property
    def bottom(self) -> float:
        """No price is below: the floor, or the unit cost where that is higher."""
        return max(self.floor, self.unit_cost)

    @cached_property
    def reach(self) -> float:
        """How far a price can be from today's. Relative prices z = (price - today's) / reach lie in [-1, 1]."""
        return max(self.reference_price - self.bottom, self.ceiling - self.reference_price)

    @property
    def margin(self) -> float:
        """What a purchase earns at today's price, in units of `reach`."""
        return (self.reference_price - self.unit_cost) / self.reach

    @property
    def level(self) -> float:
        """The expected log-odds of a purchase at today's price."""
        return math.log(self.share / (1.0 - self.share))

    @property
    def share(self) -> float:
        """The share of the largest quantity that a visitor is expected to buy at today's price."""
        return self.conversion / self.most

    @property
    def response(self) -> float:
        """How much the log-odds are expected to fall over one `reach`.

        By the declared elasticity (of a range, the geometric middle), or such that today's price is best: (price -
        cost) b (1 - conversion) = 1 (Lerner).
        """
        if self.elasticity is None:
            return 1.0 / (self.margin * (1.0 - self.share))
        middle = math.sqrt(math.prod(self.elasticity)) if isinstance(self.elasticity, tuple) else self.elasticity
        return middle * self.reach / (self.reference_price * (1.0 - self.share))

    @property
    def response_doubt(self) -> float | None:
        """How far off `response` may be, as a share of it: one deviation reaches the range's upper end; or None.

        A single number is a guess, and means the range from a third of it to three times it: with less doubt, prices
        would leave today's on the guess alone. Never less than a quarter, so that a shop that is too sure of itself
        still learns.
        """
        if self.elasticity is None:
            return None
        low, high = self.elasticity if isinstance(self.elasticity, tuple) else (1.0, GUESS * GUESS)
        return min(max(math.sqrt(high / low) - 1.0, DOUBTS[0]), DOUBTS[1])

    @cached_property
    def cheapest(self) -> float:
        """The lowest price that can be charged."""
        return self.bottom if self.step is None else self._rung(math.ceil(self._steps(self.bottom) - _SLACK))

    @cached_property
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
        """A price as the policy sees it: its distance from today's price in units of the reach."""
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


def check_product(product: object) -> None:
    """Refuse what is no product, where one is asked for."""
    if not isinstance(product, Product):
        raise InvalidInput(f"product must be a hushprice.Product, got {checks.shown(product)}")


def _elasticity(given: object) -> float | tuple[float, float]:
    if not isinstance(given, (list, tuple)):
        checks.positive(elasticity=given)  # type: ignore[arg-type]
        checks.within(*ELASTICITIES, elasticity=given)  # type: ignore[arg-type]
        return given  # type: ignore[return-value]
    if len(given) != 2:
        raise InvalidInput(f"elasticity must be a number or a range of two, got {checks.shown(given)}")
    for end, value in enumerate(given):
        checks.positive(**{f"elasticity[{end}]": value})
        checks.within(*ELASTICITIES, **{f"elasticity[{end}]": value})
    _below("elasticity[0]", given[0], "elasticity[1]", given[1])
    return (float(given[0]), float(given[1]))


def _prior(given: object) -> Prior:
    """A prior as it is, or read: from a file, or from what a file holds."""
    if isinstance(given, (str, Path)):
        return read_prior(given)
    if isinstance(given, Mapping):
        return prior_of(given)
    if not isinstance(given, Prior):
        raise InvalidInput(f"prior must be a Prior or the path of a fit's file, got {checks.shown(given)}")
    return given


def with_prior(product: Product | None, prior: Prior | str | Path) -> Product:
    """The product with what a fit of a log says about it, given beside it."""
    if product is None:
        raise InvalidInput(f"prior is for a product, and none is given, got {checks.shown(prior)}")
    if product.prior is not None:
        raise InvalidInput(f"prior is the product's where it has one, got {checks.shown(prior)} beside it")
    return replace(product, prior=_prior(prior))


def schema_text(schema: Schema) -> str:
    """The attributes as a prior names them."""
    return canonical.encode(schema.to_dict()).decode()


def _below(low_name: str, low: float, high_name: str, high: float) -> None:
    if not low < high:
        raise InvalidInput(f"{low_name} must be below {high_name}, {high!r}, got {low!r}")
