"""The dullest rivals: staying at today's price, one price for all, and Thompson sampling without privacy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from hushprice.price_search.logistic import best_relative_price
from hushprice.product import Product
from hushprice.shops.strategy import Strategy
from hushprice.types import FloatArray


class Staying:
    """Today's price for everybody, for good."""

    due = 2**62

    def __init__(self, product: Product, horizon: int, noise: bool, rng: np.random.Generator) -> None:
        self._price = product.reference_price

    def prices(self, contexts: FloatArray) -> FloatArray:
        return np.full(len(contexts), self._price)

    def learn(self, contexts: FloatArray, prices: FloatArray, sales: FloatArray) -> None:
        pass


class OnePrice:
    """Explore, then commit: LEVELS prices in turn for a share of the customers, then the one that earned most.

    Sales at each level are released once with Laplace noise. Which level a customer gets follows from the slot alone,
    so replacing one record moves one count by at most 1, and noise of scale 1/epsilon gives pure epsilon.
    """

    LEVELS = 5
    SHARE = 0.2

    def __init__(self, product: Product, horizon: int, noise: bool, rng: np.random.Generator) -> None:
        self._product, self._rng = product, rng
        self._scale = 1.0 / product.epsilon if noise else 0.0
        self._levels = np.linspace(product.floor, product.ceiling, self.LEVELS)
        self._explored = max(self.LEVELS, int(horizon * self.SHARE))
        self._count, self._sales, self._customers = 0, np.zeros(self.LEVELS), np.zeros(self.LEVELS)
        self._price = product.reference_price

    @property
    def due(self) -> int:
        left = self._explored - self._count
        return left if left > 0 else 2**62

    def prices(self, contexts: FloatArray) -> FloatArray:
        if self._count >= self._explored:
            return np.full(len(contexts), self._price)
        return np.asarray(self._levels[(self._count + np.arange(len(contexts))) % self.LEVELS])

    def learn(self, contexts: FloatArray, prices: FloatArray, sales: FloatArray) -> None:
        if self._count >= self._explored:
            return
        level = (self._count + np.arange(len(sales))) % self.LEVELS
        np.add.at(self._sales, level, sales)
        np.add.at(self._customers, level, 1.0)
        self._count += len(sales)
        if self._count >= self._explored:
            noisy = self._sales + self._rng.laplace(size=self.LEVELS) * self._scale
            earned = (self._levels - self._product.unit_cost) * noisy / self._customers
            self._price = float(self._levels[np.argmax(earned)])


class Thompson:
    """A Bayesian logistic regression with attribute x price terms (Laplace), a draw of it for every customer.

    It starts from what the product declares, with deviations of 3 on the level and 1 on everything else, and is fitted
    anew whenever customers have grown by a twentieth. No privacy at all.
    """

    STEPS = 3  # of Newton, at each fit

    def __init__(self, product: Product, horizon: int, noise: bool, rng: np.random.Generator) -> None:
        self._product, self._rng = product, rng
        size = 2 * (product.contexts + 1)
        self._mean, self._precision = np.zeros(size), np.eye(size)
        self._precision[0, 0] = 1.0 / 9.0
        self._count, self._rows = 0, [np.empty((0, size))]
        self._offsets: list[FloatArray] = []
        self._sales: list[FloatArray] = []
        self.due = 20

    def prices(self, contexts: FloatArray) -> FloatArray:
        product, half = self._product, product_half(contexts)
        root = np.linalg.cholesky(np.linalg.inv(self._precision))
        drawn = self._mean + self._rng.standard_normal((len(half), len(self._mean))) @ root.T
        columns = half.shape[1]
        best = best_relative_price(
            product.level + (half * drawn[:, :columns]).sum(1),
            product.response + (half * drawn[:, columns:]).sum(1),
            margin=product.margin,
            lowest=product.lowest,
            highest=product.highest,
        )
        return np.clip(product.reference_price + product.reach * best, product.floor, product.ceiling)

    def learn(self, contexts: FloatArray, prices: FloatArray, sales: FloatArray) -> None:
        product, half = self._product, product_half(contexts)
        z = (prices - product.reference_price) / product.reach
        self._rows.append(np.concatenate([half, -z[:, None] * half], axis=1))
        self._offsets.append(product.level - product.response * z)
        self._sales.append(sales)
        self._count += len(sales)
        self.due -= len(sales)
        if self.due <= 0:
            self._fit()
            self.due = max(20, self._count // 20)

    def _fit(self) -> None:
        rows, offsets, sales = np.concatenate(self._rows), np.concatenate(self._offsets), np.concatenate(self._sales)
        mean = self._mean.copy()
        for _ in range(self.STEPS):
            bought = expit(offsets + rows @ mean)
            precision = self._precision + (rows * (bought * (1.0 - bought))[:, None]).T @ rows
            score = rows.T @ (bought - sales) + self._precision @ (mean - self._mean)
            mean = mean - np.linalg.solve(precision, score)
        self._mean, self._precision = mean, precision
        self._rows, self._offsets, self._sales = [rows[:0]], [], []


def product_half(contexts: FloatArray) -> FloatArray:
    """[1; x] of every customer."""
    return np.concatenate([np.ones((len(contexts), 1)), contexts], axis=1)


YARDSTICKS: dict[str, Callable[[Product, int, bool, np.random.Generator], Strategy]] = {
    "staying": Staying,
    "one-price": OnePrice,
    "thompson": Thompson,
}
