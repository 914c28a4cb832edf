"""What a world is, and what is asked of one before its numbers are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np

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
        """The chance that each buys at its price, in currency."""
        ...


def encoded(product: Product, customers: Contexts, count: int) -> FloatArray:
    """What a strategy sees of customers: their contexts, (count, k), in [-1, 1]."""
    if isinstance(customers, Mapping):
        if product.schema is None:
            raise InvalidInput("world.contexts returned columns by name; the product needs a schema")
        return product.schema.encode_columns(customers, count)
    array = np.asarray(customers, dtype=np.float64)
    if array.shape != (count, product.contexts):
        raise InvalidInput(f"world.contexts must return {(count, product.contexts)} numbers, got shape {array.shape}")
    if not (np.abs(array) <= 1.0).all():  # NaN fails
        row, column = np.argwhere(~(np.abs(array) <= 1.0))[0]
        raise InvalidInput(f"world.contexts must lie in [-1, 1], got {float(array[row, column])!r} in column {column}")
    return array


def chances(world: World, start: int, customers: Contexts, prices: FloatArray) -> FloatArray:
    """The world's purchase probabilities, checked."""
    array = np.asarray(world.probabilities(start, customers, prices), dtype=np.float64)
    if array.shape != prices.shape:
        raise InvalidInput(f"world.probabilities must return {len(prices)} numbers, got shape {array.shape}")
    if not ((array >= 0.0) & (array <= 1.0)).all():  # NaN fails
        bad = float(array[~((array >= 0.0) & (array <= 1.0))][0])
        raise InvalidInput(f"world.probabilities must lie in [0, 1], got {bad!r}")
    return array
