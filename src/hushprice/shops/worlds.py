"""Worlds to try a product in. Each is a few lines; write your own in the same shape.

>>> world = Logit(conversion=0.02, elasticity=2.0, reference_price=25.0, attributes=(0.5,), interactions=(0.3,))
>>> world.probabilities(0, np.zeros((2, 1)), np.array([25.0, 30.0])).round(4).tolist()
[0.02, 0.0134]
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, ndtr, ndtri

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.shops.world import World
from hushprice.types import FloatArray

Crowd = Callable[[int, int, np.random.Generator], FloatArray]  # start, count, rng: the customers of a world


def uniform(entries: int) -> Crowd:
    """Customers whose contexts are uniform in [-1, 1]^entries."""
    return functools.partial(_uniform, entries)


def _uniform(entries: int, start: int, count: int, rng: np.random.Generator) -> FloatArray:
    return rng.uniform(-1.0, 1.0, (count, entries))


def mixed(start: int, count: int, rng: np.random.Generator) -> FloatArray:
    """Customers of an ordinary shop: six correlated, skewed attributes in nine entries."""
    taste = rng.standard_normal((count, 4))
    member, mobile = taste[:, 0] > 0.4, 0.6 * taste[:, 0] + 0.8 * taste[:, 1] > 0.9
    region = np.digitize(0.5 * taste[:, 1] + 0.87 * taste[:, 2], [-0.6, 0.5, 1.3])
    basket = np.minimum(np.exp(0.8 * taste[:, 2] - 1.0), 4.0) / 2.0 - 1.0
    age, visits = np.tanh(0.7 * taste[:, 3] + 0.3 * taste[:, 0]), np.clip(0.5 * taste[:, 3] ** 2 - 0.5, -1.0, 1.0)
    flags = [member, mobile, *(region == level for level in (1, 2, 3))]
    return np.column_stack([*flags, basket, age, visits, rng.uniform(-1.0, 1.0, count)]).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class _PricedFrom:
    """Customers, and a price that demand is measured from."""

    reference_price: float
    conversion: float  # of the customer x = 0 at the reference price
    attributes: tuple[float, ...] = ()  # what each entry of x adds to the level
    crowd: Crowd | None = None

    def __post_init__(self) -> None:
        checks.positive(reference_price=self.reference_price)
        checks.probability(conversion=self.conversion)

    def contexts(self, start: int, count: int, rng: np.random.Generator) -> FloatArray:
        return (self.crowd or uniform(len(self.attributes)))(start, count, rng)


@dataclass(frozen=True, kw_only=True)
class Logit(_PricedFrom):
    """Log-odds fall along a line in price; `elasticity` is that of the customer x = 0 at the reference price."""

    elasticity: float
    interactions: tuple[float, ...] = ()  # what each entry of x adds to the elasticity

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive(elasticity=self.elasticity)

    def probabilities(self, start: int, contexts: Any, prices: FloatArray) -> FloatArray:
        steep = self.elasticity + (contexts @ np.array(self.interactions) if self.interactions else 0.0)
        fall = steep / (1.0 - self.conversion) * (prices / self.reference_price - 1.0)
        level = math.log(self.conversion / (1.0 - self.conversion))
        return np.asarray(expit(level + contexts @ np.array(self.attributes) - fall))


@dataclass(frozen=True, kw_only=True)
class Probit(_PricedFrom):
    """Normal tails, where those of Logit are logistic."""

    steepness: float  # deviations of taste that a doubling of the price is worth

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive(steepness=self.steepness)

    def probabilities(self, start: int, contexts: Any, prices: FloatArray) -> FloatArray:
        level = ndtri(self.conversion) + contexts @ np.array(self.attributes)
        return np.asarray(ndtr(level - self.steepness * (prices / self.reference_price - 1.0)))


@dataclass(frozen=True, kw_only=True)
class LogNormal(_PricedFrom):
    """Willingness to pay is log-normal: who would pay the price buys."""

    deviation: float  # of the logarithm of willingness to pay

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive(deviation=self.deviation)

    def probabilities(self, start: int, contexts: Any, prices: FloatArray) -> FloatArray:
        level = ndtri(self.conversion) + contexts @ np.array(self.attributes)
        relative = np.maximum(prices / self.reference_price, 1e-300)  # everybody takes a gift
        return np.asarray(ndtr(level - np.log(relative) / self.deviation))


@dataclass(frozen=True, kw_only=True)
class LatentClasses:
    """Kinds of customers that the shop cannot see; contexts shift the odds of each kind."""

    kinds: tuple[World, ...]
    shift: FloatArray  # (entries, kinds): what each entry adds to the log-odds of each kind
    crowd: Crowd

    def __post_init__(self) -> None:
        if np.ndim(self.shift) != 2 or np.shape(self.shift)[1] != len(self.kinds):
            wanted = f"(entries, {len(self.kinds)}) numbers, one column a kind"
            raise InvalidInput(f"shift must hold {wanted}, got shape {np.shape(self.shift)}")

    def contexts(self, start: int, count: int, rng: np.random.Generator) -> FloatArray:
        return self.crowd(start, count, rng)

    def probabilities(self, start: int, contexts: Any, prices: FloatArray) -> FloatArray:
        odds = np.exp(contexts @ self.shift)
        chance = np.column_stack([kind.probabilities(start, contexts, prices) for kind in self.kinds])
        return np.asarray((odds * chance).sum(1) / odds.sum(1))


@dataclass(frozen=True, kw_only=True)
class Jump:
    """One world until `at` customers have come, another after. Customers are those of the first."""

    before: World
    after: World
    at: int

    def __post_init__(self) -> None:
        checks.whole(0, at=self.at)

    def contexts(self, start: int, count: int, rng: np.random.Generator) -> Any:
        return self.before.contexts(start, count, rng)

    def probabilities(self, start: int, contexts: Any, prices: FloatArray) -> FloatArray:
        old = start + np.arange(len(prices)) < self.at
        chances = (world.probabilities(start, contexts, prices) for world in (self.before, self.after))
        return np.where(old, *chances)


@dataclass(frozen=True, kw_only=True)
class Drift:
    """One world that turns into another, evenly over `over` customers."""

    before: World
    after: World
    over: int

    def __post_init__(self) -> None:
        checks.whole(1, over=self.over)

    def contexts(self, start: int, count: int, rng: np.random.Generator) -> Any:
        return self.before.contexts(start, count, rng)

    def probabilities(self, start: int, contexts: Any, prices: FloatArray) -> FloatArray:
        share = np.minimum((start + np.arange(len(prices))) / self.over, 1.0)
        old, new = (world.probabilities(start, contexts, prices) for world in (self.before, self.after))
        return np.asarray((1.0 - share) * old + share * new)


@dataclass(frozen=True, kw_only=True)
class Season:
    """Log-odds of a purchase go up and down by `size`, once in `period` customers."""

    world: World
    period: int
    size: float

    def __post_init__(self) -> None:
        checks.whole(1, period=self.period)
        checks.finite(size=self.size)

    def contexts(self, start: int, count: int, rng: np.random.Generator) -> Any:
        return self.world.contexts(start, count, rng)

    def probabilities(self, start: int, contexts: Any, prices: FloatArray) -> FloatArray:
        phase = 2.0 * math.pi * (start + np.arange(len(prices))) / self.period
        return _moved(self.world.probabilities(start, contexts, prices), self.size * np.sin(phase))


@dataclass(frozen=True, kw_only=True)
class Competitors:
    """A rival whose price changes every `every` customers; the dearer the rival, the likelier a purchase here."""

    world: World
    every: int
    deviation: float  # of the rival's relative price
    weight: float  # log-odds for a rival twice as dear
    seed: int = 0

    def __post_init__(self) -> None:
        checks.whole(1, every=self.every)
        checks.whole(0, seed=self.seed)
        checks.non_negative(deviation=self.deviation)
        checks.finite(weight=self.weight)

    def contexts(self, start: int, count: int, rng: np.random.Generator) -> Any:
        return self.world.contexts(start, count, rng)

    def probabilities(self, start: int, contexts: Any, prices: FloatArray) -> FloatArray:
        period = (start + np.arange(len(prices))) // self.every
        listed, which = np.unique(period, return_inverse=True)
        rival = [np.random.default_rng((self.seed, int(each))).standard_normal() for each in listed]
        return _moved(
            self.world.probabilities(start, contexts, prices), self.weight * self.deviation * np.array(rival)[which]
        )


def _moved(chance: FloatArray, by: FloatArray) -> FloatArray:
    """The same chances with that much added to their log-odds."""
    odds = chance * np.exp(by)
    return np.asarray(odds / (1.0 - chance + odds))
