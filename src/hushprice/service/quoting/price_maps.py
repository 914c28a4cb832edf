"""Prices and demand as the last release has them: post-processing, so public. No customer and no coin is in them."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from hushprice.demand.schema import Boolean, Category, Number
from hushprice.errors import InvalidInput
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.policies.cautious.pricing.shop_model import with_constant
from hushprice.policies.newton.pricing.quoter import NewtonQuoter
from hushprice.service.quoting.priced_product import PricedProduct
from hushprice.service.shared import problems
from hushprice.service.shared.problems import Problem
from hushprice.service.shared.product import demand_of, features_of, schema_of, shop_product_of
from hushprice.service.shared.report_messages import Axis, DemandCurve, PriceMap
from hushprice.types import FloatArray

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_POINTS = 51  # of a demand curve
_BAND = 2.0  # deviations of the belief to either side
Feature = Number | Category | Boolean
Value = float | bool | str


def map_features(priced: PricedProduct) -> dict[str, Feature]:
    """What a map can be drawn over: declared attributes, or the numbers of a context as x1, x2, ..."""
    schema = schema_of(priced.product)
    if schema is not None:
        return {each.name: each for each in schema.attributes}
    numbers = range(1, (priced.product.contexts or 0) + 1)
    return {f"x{i}": Number(name=f"x{i}", low=-1.0, high=1.0) for i in numbers}


class MapPlan(NamedTuple):
    """Which prices a map has: over one feature, or over two."""

    across: Axis
    up: Axis | None

    @property
    def points(self) -> int:
        """How many prices it has."""
        return len(self.across.values) * (1 if self.up is None else len(self.up.values))

    @property
    def name(self) -> tuple[str, int, str, int]:
        """What tells it from another map of the same product."""
        up = Axis("", []) if self.up is None else self.up
        return self.across.name, len(self.across.values), up.name, len(up.values)


def plan_map(priced: PricedProduct, x: str | None, y: str | None, steps: int) -> MapPlan:
    """The plan of a map over the features x and y, or a Problem that names what cannot be drawn."""
    declared = map_features(priced)
    names = list(declared)
    across = _chosen(declared, "x", x or (names[0] if names else None))
    up = _chosen(declared, "y", y) if y else None
    if up is not None and up.name == across.name:
        raise problems.invalid("y", "must be another feature than x")
    return MapPlan(Axis(across.name, _values(across, steps)), None if up is None else Axis(up.name, _values(up, steps)))


def draw_map(priced: PricedProduct, plan: MapPlan, rest: Callable[[float], None] = lambda took: None) -> PriceMap:
    """Prices charged over one or two features, the others in the middle. `rest` is told what each row took."""
    declared, prices = map_features(priced), []
    for other in [None] if plan.up is None else plan.up.values:
        began = time.perf_counter()
        row = {} if plan.up is None or other is None else {plan.up.name: other}
        prices.append([_price(priced, declared, {**row, plan.across.name: value}) for value in plan.across.values])
        rest(time.perf_counter() - began)
    return PriceMap(plan.across, plan.up, prices, priced.product.currency, priced.label)


def demand_curve(priced: PricedProduct, given: Mapping[str, str]) -> DemandCurve:
    """Believed demand over price for the customer described, two deviations to either side."""
    if priced.quoter is None:
        raise Problem(404, "no_belief", "policy fixed learns no demand")
    declared, point = map_features(priced), {}
    for name, text in given.items():
        if name not in declared:
            raise problems.invalid("query", f"features are {', '.join(declared)}")
        point[name] = _parsed(declared[name], text)
    context = _context(declared, point)
    if isinstance(priced.quoter, CautiousQuoter):
        prices, curves = _cautious_curve(priced, priced.quoter, context)
    else:
        prices, curves = _newton_curve(priced, priced.quoter, context)
    low, middle, high = (_numbers(curve) for curve in curves)
    best = float(priced.price(context.tobytes(), 0.5).charged)
    return DemandCurve(_numbers(prices), middle, low, high, best, priced.label)


def _newton_curve(
    priced: PricedProduct, quoter: NewtonQuoter, context: FloatArray
) -> tuple[FloatArray, list[FloatArray]]:
    """Prices, and demand at them: two deviations below, as believed, and above."""
    u, v = features_of(priced.product).parts(context)
    shares = np.linspace(0.0, 1.0, _POINTS)
    phi = u + shares[:, None] * v
    mean = phi @ quoter.theta
    deviation = np.sqrt(np.einsum("ij,jk,ik->i", phi, quoter.inverse, phi))
    demand = demand_of(priced.product)
    return shares * priced.product.ceiling, [demand.mean(mean + side * deviation) for side in (-_BAND, 0.0, _BAND)]


def _cautious_curve(
    priced: PricedProduct, quoter: CautiousQuoter, context: FloatArray
) -> tuple[FloatArray, list[FloatArray]]:
    """Prices that may be charged, where alone something is learned, and demand at them, likewise."""
    shop, model, customer = shop_product_of(priced.product), quoter.model, with_constant(context.reshape(1, -1))
    relative = np.linspace(model.lowest, model.highest, _POINTS)
    level, response = model.lines(quoter.belief.theta, customer)
    phi = np.hstack([np.repeat(customer, _POINTS, axis=0), -relative[:, None] * customer])
    deviation = np.sqrt(np.einsum("ij,jk,ik->i", phi, quoter.belief.covariance, phi))
    mean = level - response * relative
    prices = shop.reference_price + shop.reach * relative
    return prices, [shop.most * expit(mean + side * deviation) for side in (-_BAND, 0.0, _BAND)]


def _numbers(values: FloatArray) -> list[float]:
    return [float(f"{value:.6g}") for value in values]


def _chosen(declared: dict[str, Feature], field: str, name: str | None) -> Feature:
    if name is None:
        raise Problem(404, "no_features", "this product has no features to draw prices over")
    if name not in declared:
        raise problems.invalid(field, f"must be one of {', '.join(declared)}")
    return declared[name]


def _values(feature: Feature, steps: int) -> list[Value]:
    if isinstance(feature, Category):
        return list(feature.levels)
    if isinstance(feature, Boolean):
        return [False, True]
    return list(_numbers(np.linspace(feature.low, feature.high, steps)))


def _price(priced: PricedProduct, declared: dict[str, Feature], point: Mapping[str, Value]) -> float:
    return float(priced.price(_context(declared, point).tobytes(), 0.5).charged)


def _context(declared: dict[str, Feature], point: Mapping[str, Value]) -> FloatArray:
    """The context of a point; a feature it does not name is in the middle: 0, or the base level of a category."""
    entries: list[float] = []
    for name, feature in declared.items():
        if name in point:
            entries += feature.encode(point[name])
        else:
            entries += [0.0] * len(feature.entries)
    return np.array(entries)


def _parsed(feature: Feature, text: str) -> Value:
    """A value from a query; the message never repeats it."""
    try:
        value: Value = text
        if isinstance(feature, Number):
            if not _NUMBER.fullmatch(text):  # float() would take 1_0 for 10, blanks, and digits of any script
                raise ValueError
            value = float(text)
        elif isinstance(feature, Boolean):
            value = {"true": True, "false": False}[text]
        feature.encode(value)
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError
    except (InvalidInput, ValueError, KeyError):
        raise problems.invalid(feature.name, f"must be {_wanted(feature)}") from None
    return value


def _wanted(feature: Feature) -> str:
    choices: Sequence[str] = feature.levels if isinstance(feature, Category) else ("true", "false")
    return "a number" if isinstance(feature, Number) else f"one of {', '.join(choices)}"
