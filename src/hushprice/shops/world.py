"""What a world is, and what is asked of one before its numbers are used."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.product import Product
from hushprice.types import FloatArray

Contexts: TypeAlias = FloatArray | Mapping[str, Any]  # (count, k), or columns by name where the product has a schema


class World(Protocol):
    """Customers in, purchase probabilities at prices out. Both may depend on time: `start` customers came before."""

    def contexts(self, start: int, count: int, rng: np.random.Generator) -> Contexts:
        """The next `count` customers."""
        ...

    def probabilities(self, start: int, contexts: Any, prices: FloatArray) -> FloatArray:
        """The chance that each buys at its price, in currency; where `most` is above 1, of each of so many units."""
        ...


def bought(product: Product, chance: FloatArray, luck: FloatArray) -> FloatArray:
    """What each customer buys, as a share of `most`: a purchase or none, or a binomial number of units."""
    units = math.ceil(product.most)
    if units == 1:
        return (luck < chance).astype(np.float64)
    from scipy.stats import binom  # takes a while to load

    return np.asarray(np.fmax(binom.ppf(luck, units, chance), 0.0) / units)  # the quantile of luck 0 is -1


def numbers(method: str, returned: Any) -> FloatArray:
    """What a world's method returned, as an array of at least one axis; refused where it is no such thing."""
    try:
        array = np.asarray(returned)
    except ValueError:  # rows of unequal length
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "biuf" or array.ndim == 0:
        raise InvalidInput(f"world.{method} must return an array of numbers, got {checks.shown(returned)}")
    return array.astype(np.float64, copy=False)


def encoded(product: Product, customers: Contexts, count: int) -> FloatArray:
    """What a strategy sees of customers: their contexts, (count, k), in [-1, 1]."""
    if isinstance(customers, Mapping):
        if product.schema is None:
            raise InvalidInput("world.contexts returned columns by name; the product needs a schema")
        return product.schema.encode_columns(customers, count)
    array = numbers("contexts", customers)
    if array.shape != (count, product.contexts):
        raise InvalidInput(f"world.contexts must return {(count, product.contexts)} numbers, got shape {array.shape}")
    if not (np.abs(array) <= 1.0).all():  # NaN fails
        row, column = np.argwhere(~(np.abs(array) <= 1.0))[0]
        raise InvalidInput(f"world.contexts must lie in [-1, 1], got {float(array[row, column])!r} in column {column}")
    return array


def chances(world: World, start: int, customers: Contexts, prices: FloatArray) -> FloatArray:
    """The world's purchase probabilities, checked. Prices are its own: one that divides them in place changes none."""
    array = numbers("probabilities", world.probabilities(start, customers, prices.copy()))
    if array.shape != prices.shape:
        raise InvalidInput(f"world.probabilities must return {len(prices)} numbers, got shape {array.shape}")
    if not ((array >= 0.0) & (array <= 1.0)).all():  # NaN fails
        bad = float(array[~((array >= 0.0) & (array <= 1.0))][0])
        raise InvalidInput(f"world.probabilities must lie in [0, 1], got {bad!r}")
    return array
