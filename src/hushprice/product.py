"""A product as a shop knows it: everything public, everything fixed before the first customer.

What a policy needs besides (the model's offset, scales and first belief) follows from these numbers, so nobody has to
know what a slope or a ball is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from hushprice import checks
from hushprice.demand.schema import OTHER, Schema
from hushprice.errors import InvalidInput
from hushprice.privacy.delta import parse_delta

MOST_CONTEXTS = 32
_USUAL = 100_000  # customers
LEAST_CONVERSION = 1e-4  # and as much below 1: else hardly a purchase, or hardly a refusal, is ever seen
ELASTICITIES = (0.05, 100.0)
LEAST_MARGIN = 0.01  # of today's price: else a share of what staying earns says nothing
LEAST_ROOM = 0.001  # of today's price, to either side of it: else no price can be tried out
MOST_FALL = 200.0  # of the log-odds between floor and ceiling: beyond it the least experiment is all or nothing
DOUBTS = (0.25, 2.0)  # the least and the most that a range of elasticities says, as a share of its middle


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
    # of demand at today's price, as a positive number; or a range (low, high); None: today's price is best
    elasticity: float | tuple[float, float] | None = None
    contexts: int = 0  # how many numbers in [-1, 1] describe a customer; follows from the schema where there is one
    schema: Schema | None = None
    epsilon: float = 1.0
    delta: float | str = "2/T^2"
    risk: float = 0.02  # the largest share of what staying would have earned that learning may cost

    def __post_init__(self) -> None:
        checks.finite(floor=self.floor, ceiling=self.ceiling, unit_cost=self.unit_cost)
        checks.positive(reference_price=self.reference_price, epsilon=self.epsilon)
        checks.probability(conversion=self.conversion)
        parse_delta(self.delta, _USUAL)  # nonsense is refused here, what a short horizon makes of a formula later
        checks.non_negative(floor=self.floor, unit_cost=self.unit_cost)
        checks.within(0.0, 1.0, risk=self.risk)
        _below("floor", self.floor, "reference_price", self.reference_price)
        _below("reference_price", self.reference_price, "ceiling", self.ceiling)
        _below("unit_cost", self.unit_cost, "reference_price", self.reference_price)
        if self.elasticity is not None:
            object.__setattr__(self, "elasticity", _elasticity(self.elasticity))
        if self.schema is not None:
            self._take_contexts(self.schema.dimension)
            if self.schema.unknown is None:
                object.__setattr__(self, "schema", replace(self.schema, unknown=OTHER))
        checks.whole(0, contexts=self.contexts)
        checks.within(0, MOST_CONTEXTS, contexts=self.contexts)
        self._check_fit()

    def _take_contexts(self, entries: int) -> None:
        if self.contexts not in (0, entries):
            raise InvalidInput(f"contexts is given by the schema ({entries}); got {self.contexts!r} as well")
        object.__setattr__(self, "contexts", entries)

    def _check_fit(self) -> None:
        """Refuse numbers that are each possible and that together leave the model nothing to say."""
        checks.within(LEAST_CONVERSION, 1.0 - LEAST_CONVERSION, conversion=self.conversion)
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

        By the declared elasticity (of a range, the geometric middle), or such that today's price is best: (price -
        cost) b (1 - conversion) = 1 (Lerner).
        """
        if self.elasticity is None:
            return 1.0 / (self.margin * (1.0 - self.conversion))
        middle = math.sqrt(math.prod(self.elasticity)) if isinstance(self.elasticity, tuple) else self.elasticity
        return middle * self.reach / (self.reference_price * (1.0 - self.conversion))

    @property
    def response_doubt(self) -> float | None:
        """How far off `response` may be, as a share of it: one deviation reaches the range's upper end; or None.

        Never less than a quarter, so that a shop that is too sure of itself still learns.
        """
        if not isinstance(self.elasticity, tuple):
            return None
        low, high = self.elasticity
        return min(max(math.sqrt(high / low) - 1.0, DOUBTS[0]), DOUBTS[1])

    @property
    def lowest(self) -> float:
        """The floor as a relative price."""
        return (self.floor - self.reference_price) / self.reach

    @property
    def highest(self) -> float:
        """The ceiling as a relative price."""
        return (self.ceiling - self.reference_price) / self.reach


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


def _below(low_name: str, low: float, high_name: str, high: float) -> None:
    if not low < high:
        raise InvalidInput(f"{low_name} must be below {high_name}, {high!r}, got {low!r}")
