"""Prices of one customer at a time, on plain numbers: arrays of one take five times as long.

The same steps as `ShopModel.middle` takes for many; what a belief and a rule say to all customers is read once.
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

    __slots__ = ("_highest", "_level", "_levels", "_lowest", "_model", "_response", "_responses", "_rule")

    def __init__(self, model: ShopModel, rule: Rule, theta: FloatArray) -> None:
        (level, *levels), (response, *responses) = theta.reshape(2, -1).tolist()
        self._model, self._rule = model, rule
        self._level, self._response, self._levels, self._responses = level, response, levels, responses
        self._lowest, self._highest = model.lowest + rule.spread, model.highest - rule.spread

    def middle(self, context: Sequence[float]) -> float:
        """The relative price before the coin of a customer with this context, which was checked before."""
        model, rule = self._model, self._rule
        middle = rule.offset
        if rule.move:
            level = model.level + sum(map(mul, self._levels, context), self._level)
            response = model.response + sum(map(mul, self._responses, context), self._response)
            middle += rule.move * best_price_of_one(
                level, response, margin=model.margin, lowest=model.lowest, highest=model.highest
            )
        middle, step = clipped(middle, self._lowest, self._highest), model.step
        # Of both of the coin's prices, which then can be charged: the spread is one that fits.
        return self._lowest + step * round((middle - self._lowest) / step) if step else middle
