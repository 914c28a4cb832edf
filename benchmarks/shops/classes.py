"""Random markets of the paper's model: an intercept, interactions, few profiles, slopes 4 to 10, one to eight entries.

A market is f = 1 / (1 + exp(-slope theta' phi(x, p))), prices in [0, 1], theta of length 1 in a direction that lets
demand fall in price. The product says what a shop would know: today's price 1/2, and that half buy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from hushprice.price_search.logistic import best_relative_price
from hushprice.product import Product
from hushprice.types import FloatArray

SPARSE = 4  # profiles, in classes that have few


@dataclass(frozen=True)
class MarketClass:
    features: str  # main, intercept, interactions
    contexts: int
    slope: float
    crowd: str = "uniform"  # or correlated, profiles


CLASSES = {
    "main, k = 2, slope 4, correlated": MarketClass("main", 2, 4.0, "correlated"),
    "intercept, k = 2, slope 6": MarketClass("intercept", 2, 6.0),
    "intercept, k = 4, slope 8, correlated": MarketClass("intercept", 4, 8.0, "correlated"),
    "interactions, k = 2, slope 8": MarketClass("interactions", 2, 8.0),
    "main, k = 4, slope 6, four profiles": MarketClass("main", 4, 6.0, "profiles"),
    "interactions, k = 8, slope 10": MarketClass("interactions", 8, 10.0),
    "intercept, k = 1, slope 10": MarketClass("intercept", 1, 10.0),
    "interactions, k = 4, slope 6, four profiles": MarketClass("interactions", 4, 6.0, "profiles"),
}
DESIGNED = tuple(CLASSES)[:5]  # the others were first run when all was chosen


class Market:
    """A random market of a class; `number` says which."""

    def __init__(self, kind: MarketClass, number: int) -> None:
        self.kind = kind
        k = kind.contexts
        rng = np.random.default_rng((number, k, int(kind.slope)))
        self._mix = np.linalg.qr(rng.standard_normal((k, k)))[0] * np.linspace(1.0, 0.3, k)
        self._profiles = rng.uniform(-1.0, 1.0, (SPARSE, k))
        self._shares = rng.dirichlet(np.full(SPARSE, 2.0))
        size = {"main": k + 1, "intercept": k + 2, "interactions": 2 * k + 2}[kind.features]
        theta = rng.standard_normal(size)
        theta /= np.linalg.norm(theta)
        priced = size - 1 if kind.features != "interactions" else k + 1
        theta[priced] = abs(theta[priced])
        if kind.features == "interactions":  # every customer buys less at a higher price
            theta[priced] = max(theta[priced], np.abs(theta[priced + 1 :]).sum() + 0.2)
            theta /= np.linalg.norm(theta)
        else:
            theta[priced] = max(theta[priced], 0.3)
            theta /= np.linalg.norm(theta)
        self.theta = theta

    def product(self, epsilon: float = 1.0) -> Product:
        return Product(
            floor=0.0,
            ceiling=1.0,
            reference_price=0.5,
            conversion=0.5,
            contexts=self.kind.contexts,
            epsilon=epsilon,
            risk=1.0,
        )

    def contexts(self, start: int, count: int, rng: np.random.Generator) -> FloatArray:
        k = self.kind.contexts
        if self.kind.crowd == "profiles":
            return np.asarray(self._profiles[rng.choice(SPARSE, count, p=self._shares)])
        if self.kind.crowd == "correlated":
            return np.asarray(np.tanh(rng.standard_normal((count, k)) @ self._mix.T))
        return rng.uniform(-1.0, 1.0, (count, k))

    def probabilities(self, start: int, contexts: Any, prices: FloatArray) -> FloatArray:
        level, response = self.lines(contexts)
        return np.asarray(expit(level - response * prices))

    def lines(self, contexts: FloatArray) -> tuple[FloatArray, FloatArray]:
        k, theta = self.kind.contexts, self.theta
        scale = self.kind.slope / np.sqrt(theta.size)
        first = 0 if self.kind.features == "main" else 1
        level = (theta[0] if first else 0.0) + contexts @ theta[first : first + k]
        response = theta[first + k] + np.zeros(len(contexts))
        if self.kind.features == "interactions":
            response = response + contexts @ theta[first + k + 1 :]
        return scale * level, scale * response

    def best_earnings(self, start: int, contexts: FloatArray) -> FloatArray:
        """What each customer is worth at the price that is best for them."""
        level, response = self.lines(contexts)
        prices = best_relative_price(level, response, margin=0.0, lowest=0.0, highest=1.0)
        return np.asarray(prices * expit(level - response * prices))
