"""What beliefs say prices would earn: for everybody on his own, and one price for all alike."""

from __future__ import annotations

import functools

import numpy as np

from hushprice.policies.cautious.pricing.shop_model import ShopModel, chances
from hushprice.types import FloatArray

_GRID = 9  # common prices looked at; the best lies between them
_LARGEST = 700.0  # exponents of either sign: their exp() is finite, and not 0


class Believed:
    """Beliefs with these means and one covariance, or one for each of some groups of as many of them, one after the
    other: best prices, and what prices gain over staying."""

    def __init__(self, model: ShopModel, means: FloatArray, covariance: FloatArray, customers: FloatArray) -> None:
        self._model = model
        self._covariance = covariance
        self._customers = customers
        self.level, self.response = model.lines(means, customers)
        self._here = chances(self.level.copy())
        self._staying = model.margin * self._here.mean(axis=1)
        self._spread_here = self._here * (1.0 - self._here) @ customers

    @functools.cached_property
    def best(self) -> FloatArray:
        """For every customer."""
        return self._model.best(self.level, self.response)

    @functools.cached_property
    def best_common(self) -> FloatArray:
        """For everybody alike: a column.

        From one price to the next, everybody's odds not to buy grow by the same factor: two exponentials do for all.
        """
        margin, grid = self._model.margin, np.linspace(self._model.lowest, self._model.highest, _GRID)
        against = np.exp(np.clip(self.response * grid[0] - self.level, -_LARGEST, _LARGEST))
        factor = np.exp(np.clip(self.response * (grid[1] - grid[0]), -_LARGEST, _LARGEST))
        heights, chance = np.empty((len(against), _GRID)), np.empty_like(against)
        with np.errstate(over="ignore"):  # then nobody buys
            for k, price in enumerate(grid.tolist()):
                np.reciprocal(np.add(against, 1.0, out=chance), out=chance)
                heights[:, k] = np.add.reduce(chance, axis=1) * (margin + price)
                against *= factor
        return _peaks(grid, heights / against.shape[1])[:, None]

    def gains(self, prices: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What these prices gain over staying, as a share of it, and how that depends on theta."""
        margin, customers, scale = self._model.margin, self._customers, 1.0 / len(self._customers)
        there = chances(self.level - self.response * prices)
        earned = (margin + prices) * there
        gain = earned.mean(axis=1) / self._staying - 1.0
        moved = earned * (1.0 - there)
        stayed = ((1.0 + gain) * margin)[:, None] * self._spread_here
        slopes = np.hstack([moved @ customers - stayed, -(moved * prices) @ customers])
        return np.asarray(gain), slopes * (scale / self._staying)[:, None]

    def deviation(self, slopes: FloatArray) -> FloatArray:
        """Of what depends on theta so, by the delta method."""
        grouped = slopes.reshape(*self._covariance.shape[:-2], -1, slopes.shape[1])
        return np.asarray(np.sqrt(np.maximum(((grouped @ self._covariance) * grouped).sum(axis=-1), 0.0)).ravel())


def _peaks(grid: FloatArray, heights: FloatArray) -> FloatArray:
    """Where each row is highest: the top of the parabola through its highest number and the two beside it."""
    top = heights.argmax(axis=1)
    inner = np.clip(top, 1, grid.size - 2)
    before, at, after = (heights[np.arange(len(heights)), inner + step] for step in (-1, 0, 1))
    bend = np.minimum(before - 2.0 * at + after, -1e-300)
    shift = np.where(top == inner, np.clip(0.5 * (before - after) / bend, -1.0, 1.0), 0.0)
    return np.asarray(grid[top] + shift * (grid[1] - grid[0]))
