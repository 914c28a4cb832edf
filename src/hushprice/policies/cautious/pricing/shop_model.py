"""Demand as a shop states it: log-odds that fall along a line in price, a line of its own for every customer.

With z = (price - today's) / reach and x~ = [1; x],

    log-odds of a purchase = level + theta_1' x~ - (response + theta_2' x~) z,

so that theta = 0 says "the shop is right": its conversion, and today's price best (or the elasticity it declared).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from hushprice import checks
from hushprice.price_search.logistic import best_relative_price
from hushprice.product import Product
from hushprice.types import FloatArray

_LARGEST = 700.0  # exp() of it is finite
_HELD = 5.0  # times the expected chance to buy, or not to buy: what a purchase is compared with, at most
_NARROW = 2.0  # times the expected odds, where residuals become bits: a wide range makes them coarse


@dataclass(frozen=True, kw_only=True, slots=True)
class ShopModel:
    """The public numbers of a product that demand is written in; `product.py` says how they follow from a shop's."""

    contexts: int
    margin: float  # of a purchase at today's price, in units of reach
    level: float
    response: float
    lowest: float  # relative price of the floor, in [-1, 0)
    highest: float
    narrow: bool = False  # are residuals sent as bits?
    step: float = 0.0  # prices that can be charged are `lowest` and every so much above it; 0: any price can be

    def __post_init__(self) -> None:
        checks.whole(0, contexts=self.contexts)
        checks.positive(margin=self.margin, response=self.response, highest=self.highest)
        checks.finite(level=self.level)
        checks.non_negative(step=self.step)
        checks.within(-1.0, 0.0, lowest=self.lowest)
        checks.within(0.0, 1.0, highest=self.highest)

    @property
    def size(self) -> int:
        """Entries of theta: a level and a response for the constant and for every entry of a context."""
        return 2 * (self.contexts + 1)

    @property
    def conversion(self) -> float:
        """The share of visitors expected to buy at today's price."""
        return float(expit(self.level))

    @property
    def least(self) -> float:
        """The least chance of a purchase that one is compared with: the narrower, the less noise is needed."""
        if self.narrow:
            return float(expit(self.level - math.log(_NARROW)))
        return max(0.0, 1.0 - _HELD * (1.0 - self.conversion))

    @property
    def most(self) -> float:
        """The largest chance of a purchase that one is compared with."""
        if self.narrow:
            return float(expit(self.level + math.log(_NARROW)))
        return min(1.0, _HELD * self.conversion)

    def held(self, believed: FloatArray) -> FloatArray:
        """What a purchase is compared with: the believed chance, between `least` and `most`."""
        return np.fmax(np.fmin(believed, self.most), self.least)  # not np.clip: a number that is none must not pass

    @property
    def widest(self) -> float:
        """The largest dispersion that fits on both sides of today's price."""
        return min(self.highest, -self.lowest)

    def lines(self, theta: FloatArray, customers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Level and response of customers, rows x~ of (customers, k + 1); theta may be a row or rows of draws."""
        half = self.contexts + 1
        return self.level + theta[..., :half] @ customers.T, self.response + theta[..., half:] @ customers.T

    def best(self, level: FloatArray, response: FloatArray) -> FloatArray:
        """The relative price that earns most."""
        return best_relative_price(level, response, margin=self.margin, lowest=self.lowest, highest=self.highest)

    def coin_prices(
        self,
        level: FloatArray,
        response: FloatArray,
        move: FloatArray | float,
        spread: FloatArray | float,
        offset: FloatArray | float,
    ) -> tuple[FloatArray, FloatArray]:
        """The two relative prices of every customer, of which a fair coin picks one: the dearer first.

        They lie about `move` of the way from today's price to the one believed best for the customer, and `offset`.
        Own prices stay where they are, and are tried out as far as both prices are inside the limits: who is at a limit
        pays just that. A common price moves inside until all of the spread fits.
        """
        best = self.best(level, response) if np.any(move) else np.zeros(level.shape)
        own, away = np.greater(move, 0.0), np.clip(move * best + offset, self.lowest, self.highest)
        middle = np.where(own, away, np.clip(away, self.lowest + spread, self.highest - spread))
        fits = np.where(own, np.minimum(spread, np.minimum(self.highest - middle, middle - self.lowest)), spread)
        dearer, cheaper = middle + fits, middle - fits
        if self.step == 0.0:
            return dearer, cheaper
        cheaper = self.lowest + self.step * np.round((cheaper - self.lowest) / self.step)
        dearer = self.lowest + self.step * np.round((dearer - self.lowest) / self.step)
        return np.where(own, dearer, cheaper + 2.0 * spread), cheaper  # a common spread is one that can be charged

    def fitting(self, spread: float) -> float:
        """The widest dispersion, at most this, whose two prices can both be charged."""
        if self.step == 0.0:
            return spread
        return min(spread, 0.5 * self.step * math.floor(2.0 * spread / self.step + 1e-9))

    def earned(self, level: FloatArray, response: FloatArray, price: FloatArray | float) -> FloatArray:
        """Mean earnings of a visit over the customers (the last axis), in units of reach."""
        earned = chances(level - response * price)
        earned *= self.margin + price
        return np.asarray(np.add.reduce(earned, axis=-1) / earned.shape[-1])  # mean() takes twice as long


def chances(odds: FloatArray) -> FloatArray:
    """1 / (1 + exp(-odds)), in place: three times as fast as SciPy's, and the last digit apart. Plans ask this most."""
    np.negative(odds, out=odds)
    np.minimum(odds, _LARGEST, out=odds)
    np.exp(odds, out=odds)
    odds += 1.0
    return np.reciprocal(odds, out=odds)


def model_of(product: Product) -> ShopModel:
    """The model of a product."""
    return ShopModel(
        contexts=product.contexts,
        margin=product.margin,
        level=product.level,
        response=product.response,
        lowest=product.lowest,
        highest=product.highest,
        step=0.0 if product.step is None else product.step / product.reach,
    )


def with_constant(contexts: FloatArray) -> FloatArray:
    """Rows [1; x] of rows x."""
    return np.column_stack([np.ones(len(contexts)), contexts])
