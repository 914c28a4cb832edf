"""Feature maps affine in price: phi(x, p) = u(x) + p v(x).

Affinity is what makes a quote cheap (see price_search/certified.py). Contexts lie in [-1, 1]^k and prices in [0, 1], so
the built-in maps have ||phi|| <= 1 by their scaling; a map of one's own declares its largest norm and is divided by it.
Records are checked again where they are stored, so the guarantee never rests on a declaration.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.numerics.functions import multiple
from hushprice.numerics.jit import step
from hushprice.types import FloatArray

MAIN = 0
INTERCEPT = 1
INTERACTIONS = 2
CUSTOM = 3


class FeatureMap(Protocol):
    """u and v for a customer with context x; `code` is the compiled switch, or CUSTOM."""

    @property
    def name(self) -> str: ...
    @property
    def code(self) -> int: ...
    @property
    def contexts(self) -> int:
        """k, the length of x."""
        ...

    @property
    def dimension(self) -> int:
        """d, the length of phi."""
        ...

    def parts(self, context: FloatArray) -> tuple[FloatArray, FloatArray]:
        """u(x) and v(x)."""
        ...


@step
def fill(code: int, contexts: FloatArray, count: int, u: FloatArray, v: FloatArray) -> None:
    """u(x) and v(x) of `count` customers; contexts is (k, customers), u and v are (d, customers)."""
    k, d = contexts.shape[0], u.shape[0]
    scale = 1.0 / math.sqrt(multiple(1.0, d))
    for j in range(d):
        for i in range(count):
            u[j, i] = 0.0
            v[j, i] = 0.0
    first = 0 if code == MAIN else 1
    for i in range(count):
        if code != MAIN:
            u[0, i] = scale
        v[first + k, i] = -scale
    for j in range(k):
        for i in range(count):
            u[first + j, i] = scale * contexts[j, i]
            if code == INTERACTIONS:
                v[first + k + 1 + j, i] = -scale * contexts[j, i]


@dataclass(frozen=True, slots=True)
class _BuiltInMap:
    contexts: int
    name: str
    code: int
    dimension: int

    def parts(self, context: FloatArray) -> tuple[FloatArray, FloatArray]:
        x = checks.vector(self.contexts, context=context)
        u, v = np.empty((self.dimension, 1)), np.empty((self.dimension, 1))
        fill(self.code, x.reshape(-1, 1), 1, u, v)
        return u[:, 0], v[:, 0]


def main_effects(contexts: int) -> FeatureMap:
    """[x; -p] / sqrt(k + 1), the map of sec:numerical."""
    checks.whole(0, contexts=contexts)
    return _BuiltInMap(contexts, "main", MAIN, contexts + 1)


def with_intercept(contexts: int) -> FeatureMap:
    """[1; x; -p] / sqrt(k + 2)."""
    checks.whole(0, contexts=contexts)
    return _BuiltInMap(contexts, "intercept", INTERCEPT, contexts + 2)


def with_interactions(contexts: int) -> FeatureMap:
    """[1; x; -p; -p x] / sqrt(2k + 2): every customer has a price sensitivity of their own."""
    checks.whole(0, contexts=contexts)
    return _BuiltInMap(contexts, "interactions", INTERACTIONS, 2 * contexts + 2)


MAPS: dict[str, Callable[[int], FeatureMap]] = {
    "main": main_effects,
    "intercept": with_intercept,
    "interactions": with_interactions,
}


def by_name(name: str, contexts: int) -> FeatureMap:
    """The built-in map of that name."""
    if name not in MAPS:
        raise InvalidInput(f"features.map must be one of {', '.join(MAPS)}, got {name!r}")
    return MAPS[name](contexts)


@dataclass(frozen=True, slots=True)
class Affine:
    """Your own map: functions u and v, and the largest norm phi can have, by which everything is divided.

    >>> square = Affine(1, 3, lambda x: np.array([x[0], x[0] ** 2, 0.0]), lambda x: np.array([0.0, 0.0, -1.0]), 3**0.5)
    >>> [part.round(3).tolist() for part in square.parts(np.array([1.0]))]
    [[0.577, 0.577, 0.0], [0.0, 0.0, -0.577]]
    """

    contexts: int
    dimension: int
    u: Callable[[FloatArray], FloatArray]
    v: Callable[[FloatArray], FloatArray]
    largest_norm: float
    name: str = "custom"
    code: int = CUSTOM

    def __post_init__(self) -> None:
        checks.whole(0, contexts=self.contexts)
        checks.whole(1, dimension=self.dimension)
        checks.positive(largest_norm=self.largest_norm)

    def parts(self, context: FloatArray) -> tuple[FloatArray, FloatArray]:
        x = checks.vector(self.contexts, context=context)
        u = checks.vector(self.dimension, u=self.u(x)) / self.largest_norm
        v = checks.vector(self.dimension, v=self.v(x)) / self.largest_norm
        for price in (0.0, 1.0):  # ||u + p v|| is convex in p, so its largest value is at an end
            norm = float(np.linalg.norm(u + price * v))
            if not norm <= 1.0 + 1e-9:
                given = f"{norm * self.largest_norm:g} at price {price:g}"
                raise InvalidInput(f"features: ||phi|| is {given}, above largest_norm {self.largest_norm:g}")
        return u, v
