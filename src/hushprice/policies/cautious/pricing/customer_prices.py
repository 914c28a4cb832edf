"""Prices of one customer at a time, on plain numbers: arrays of one take five times as long.

The same steps as `ShopModel.coin_prices` takes for many; what a belief and a rule say to all customers is read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul

from hushprice.policies.cautious.pricing.belief import Rule
from hushprice.policies.cautious.pricing.shop_model import ShopModel
from hushprice.price_search.logistic import best_price_of_one, clipped
from hushprice.types import FloatArray


class CustomerPrices:
    """By one belief and one rule. Nothing changes here: threads may ask at once."""

    __slots__ = ("_common", "_level", "_levels", "_model", "_response", "_responses", "_rule")

    def __init__(self, model: ShopModel, rule: Rule, theta: FloatArray) -> None:
        (level, *levels), (response, *responses) = theta.reshape(2, -1).tolist()
        self._model, self._rule = model, rule
        self._level, self._response, self._levels, self._responses = level, response, levels, responses
        self._common = self._both(rule.offset)

    def both(self, context: Sequence[float]) -> tuple[float, float]:
        """The two relative prices of a customer with this context, which was checked before: the dearer first."""
        model, rule = self._model, self._rule
        if not rule.move:
            return self._common
        level = model.level + sum(map(mul, self._levels, context), self._level)
        response = model.response + sum(map(mul, self._responses, context), self._response)
        best = best_price_of_one(level, response, margin=model.margin, lowest=model.lowest, highest=model.highest)
        return self._both(rule.move * best + rule.offset)

    def _both(self, away: float) -> tuple[float, float]:
        lowest, highest, step = self._model.lowest, self._model.highest, self._model.step
        spread, own = self._rule.spread, self._rule.move > 0.0
        middle = clipped(away, lowest, highest) if own else clipped(away, lowest + spread, highest - spread)
        fits = min(spread, highest - middle, middle - lowest) if own else spread
        dearer, cheaper = middle + fits, middle - fits
        if not step:
            return dearer, cheaper
        cheaper = lowest + step * round((cheaper - lowest) / step)
        return lowest + step * round((dearer - lowest) / step) if own else cheaper + 2.0 * spread, cheaper


def of_coin(both: tuple[float, float], coin: float) -> float:
    """The price that a coin picks; a coin of 0 leaves it in the middle."""
    dearer, cheaper = both
    return dearer if coin > 0.0 else cheaper if coin < 0.0 else 0.5 * (dearer + cheaper)
