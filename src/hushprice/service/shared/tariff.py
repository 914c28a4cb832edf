"""Prices in currency: price = ceiling x p, then the operator's rules, which are post-processing.

Rules read a price and public constants, never a customer, an earlier quote or a count. The record keeps the price that
was charged, so that demand is learned at the price people saw.

Prices are counted in whole units of the currency's last decimal, so that what is charged is exact.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Annotated, Protocol

import msgspec

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.trust.till import Rungs

MOST_DECIMALS = 4
HIGHEST = 1e9  # a ceiling, in currency: with four decimals still a whole number that a float holds


class PriceRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All optional, all in currency. Applied in this order: largest step, floor and ceiling, ladder."""

    floor: Annotated[float | None, msgspec.Meta(description="no price is below")] = None
    ceiling: Annotated[float | None, msgspec.Meta(description="no price is above")] = None
    largest_step: Annotated[float | None, msgspec.Meta(description="from the reference price, to either side")] = None
    ladder: Annotated[float | None, msgspec.Meta(description="such as 0.99: prices end in .99")] = None


class PriceBounds(Protocol):
    """The part of a product that is read here."""

    @property
    def ceiling(self) -> float: ...
    @property
    def unit_cost(self) -> float: ...
    @property
    def decimals(self) -> int: ...


class Charged(msgspec.Struct, frozen=True):  # made at every quote, in a third of a named tuple's time
    """A price: as text in currency, and as a share of the ceiling, which the record keeps."""

    charged: str
    share: float


class Tariff:
    """The rules of one product, worked out once: a price costs a multiplication, a clamp and a line of text."""

    __slots__ = ("_decimals", "_nearest", "_one", "_text", "_top", "reference", "reference_units", "rungs")

    def __init__(self, product: PriceBounds, rules: PriceRules, reference: float) -> None:
        check_rules(rules, product, reference)
        decimals = product.decimals
        self._decimals = decimals
        self._text = f"%d.%0{decimals}d"
        self._one = 10**decimals
        self._top = top = units(product.ceiling, decimals)
        middle = units(reference, decimals)
        step = top if rules.largest_step is None else units(rules.largest_step, decimals)
        floor = 0 if rules.floor is None else units(rules.floor, decimals)
        ceiling = top if rules.ceiling is None else units(rules.ceiling, decimals)
        # The reference price obeys all of them (check_rules), so what they leave is never empty.
        low = max(middle - step, floor, lowest_units(product))
        high = min(middle + step, ceiling)
        ladder = None if rules.ladder is None else units(rules.ladder, decimals)
        self.rungs = Rungs(top, low, high, self._one, ladder, *_ends(ladder, self._one, low, high))
        self._nearest = self.rungs.nearest
        self.reference_units = middle
        self.reference = self.as_charged(middle)  # for the holdout, a frozen product, and before anything is known

    def charge(self, p: float) -> Charged:
        """What is charged where the optimizer says p in [0, 1]."""
        return self.as_charged(self._nearest(p))

    def as_charged(self, price: int) -> Charged:
        """A price that was counted in units of the currency's last decimal."""
        if self._decimals == 0:
            return Charged(str(price), price / self._top)
        return Charged(self._text % divmod(price, self._one), price / self._top)


def charge(p: float, product: PriceBounds, rules: PriceRules, reference: float) -> Charged:
    """The price charged where the optimizer says p. Who asks often keeps the `Tariff`.

    >>> from types import SimpleNamespace
    >>> shirt = SimpleNamespace(ceiling=40.0, unit_cost=0.0, decimals=2)
    >>> charge(0.333, shirt, PriceRules(), 20.0), charge(0.333, shirt, PriceRules(ladder=0.99), 20.0)
    (Charged(charged='13.32', share=0.333), Charged(charged='12.99', share=0.32475))
    """
    checks.within(0.0, 1.0, p=p)
    return Tariff(product, rules, reference).charge(p)


def check_rules(rules: PriceRules, product: PriceBounds, reference: float) -> None:
    """Refuse rules that no price obeys, or not the reference price (in currency), by the field."""
    decimals = product.decimals
    checks.positive(reference_price=reference)
    units(reference, decimals, "reference_price")
    for field, value in msgspec.structs.asdict(rules).items():
        if value is not None:
            checks.non_negative(**{f"rules.{field}": value})
            units(value, decimals, f"rules.{field}")
    if rules.largest_step is not None:
        checks.positive(**{"rules.largest_step": rules.largest_step})
    if rules.ladder is not None and not rules.ladder < 1.0:
        raise InvalidInput(f"rules.ladder must be below 1, the part after the point, got {rules.ladder!r}")
    bounds = {
        "the product's unit_cost": (float(product.unit_cost), None),
        "the product's ceiling": (None, float(product.ceiling)),
        "rules.floor": (rules.floor, None),
        "rules.ceiling": (None, rules.ceiling),
    }
    given = {"rules.floor": rules.floor, "rules.ceiling": rules.ceiling, "reference_price": reference}
    for field, value in given.items():
        for bound, (low, high) in bounds.items():
            if value is not None and field != bound:
                _check_side(field, value, bound, low, high)


def _check_side(field: str, value: float, bound: str, low: float | None, high: float | None) -> None:
    if low is not None and value < low:
        raise InvalidInput(f"{field} must be at or above {bound}, {low!r}, got {value!r}")
    if high is not None and value > high:
        raise InvalidInput(f"{field} must be at or below {bound}, {high!r}, got {value!r}")


def units(value: float, decimals: int, field: str = "price") -> int:
    """An amount of currency in units of its last decimal; one that has more decimals is refused.

    >>> units(12.99, 2), units(12.99, 4)
    (1299, 129900)
    """
    checks.within(0.0, HIGHEST, **{field: value})
    exact = Decimal(repr(float(value))).scaleb(decimals)  # the digits somebody wrote, not the nearest binary fraction
    whole = int(exact)
    if whole != exact:
        raise InvalidInput(f"{field} must have at most {decimals} decimals, got {value!r}")
    return whole


def lowest_units(product: PriceBounds) -> int:
    """The lowest price that is not below cost."""
    cost = Decimal(repr(float(product.unit_cost))).scaleb(product.decimals)
    return math.ceil(cost)


def _ends(ladder: int | None, one: int, low: int, high: int) -> tuple[int, int]:
    """The lowest and the highest price on the ladder that the bounds allow; the bounds themselves where none is."""
    if ladder is None:
        return low, high
    least = low + (ladder - low) % one
    most = high - (high - ladder) % one
    return (least, most) if least <= most else (low, high)
