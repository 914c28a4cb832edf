"""The prices whose worth is asked for: those that a fit makes best, today's, or one for everybody."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.policies.cautious.pricing.shop_model import ShopModel, model_of
from hushprice.prior import Prior
from hushprice.product import Product
from hushprice.types import FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class PricePolicy:
    """Relative prices of customers. With a theta they are personal, else everybody's is `common`."""

    label: str
    model: ShopModel
    theta: FloatArray | None = None
    common: float = 0.0
    choices: tuple[float, ...] = ()  # relative prices there are, where the log has but a few

    def prices(self, contexts: FloatArray) -> FloatArray:
        """The relative price of every row of contexts."""
        if self.theta is None:
            return np.full(len(contexts), self.common)
        level, response = self._lines(self.theta, contexts)
        if self.choices:
            tried = np.array(self.choices)
            worth = (self.model.margin + tried) * expit(level[:, None] - response[:, None] * tried)
            return np.asarray(tried[np.argmax(worth, axis=1)])
        best = self.model.best(level, response)
        step = self.model.step
        if step > 0.0:
            best = np.clip(
                self.model.lowest + step * np.round((best - self.model.lowest) / step), None, self.model.highest
            )
        return np.asarray(best)

    def among(self, choices: tuple[float, ...]) -> PricePolicy:
        """This policy, held to these relative prices; one for everybody stays as it is, charged before or not."""
        return replace(self, choices=choices)

    def demand(self, contexts: FloatArray, prices: FloatArray) -> FloatArray:
        """What its theta, or else the shop's declaration, expects of rows at relative prices."""
        theta = np.zeros(self.model.size) if self.theta is None else self.theta
        level, response = self._lines(theta, contexts)
        return np.asarray(expit(level - response * prices))

    def _lines(self, theta: FloatArray, contexts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Level and response of rows, bit for bit the same whoever comes with them.

        A product of matrices is not: its last digits depend on how many rows there are, and a customer with one row
        less would move what everybody else adds to a release.
        """
        half = self.model.contexts + 1
        level = self.model.level + theta[0] + (contexts * theta[1:half]).sum(axis=1)
        return level, self.model.response + theta[half] + (contexts * theta[half + 1 :]).sum(axis=1)


def fitted_prices(product: Product, prior: Prior, label: str = "fit") -> PricePolicy:
    """The personal prices that a fit of this product makes best."""
    model = model_of(product)
    if prior.contexts != model.contexts or prior.most != product.most:
        theirs, ours = (prior.contexts, prior.most), (model.contexts, product.most)
        raise InvalidInput(f"the fit is of another product: its contexts and most are {theirs}, the product's {ours}")
    same = prior.rebased(
        level=model.level,
        response=model.response,
        reference_price=product.reference_price,
        reach=product.reach,
    )
    return PricePolicy(label=label, model=model, theta=np.array(same.theta))


def common_price(product: Product, price: float | None = None) -> PricePolicy:
    """One price for everybody; None: today's."""
    if price is None:
        return PricePolicy(label="today's price", model=model_of(product), common=0.0)
    checks.within(product.floor, product.ceiling, price=price)
    return PricePolicy(label=f"price {price:g}", model=model_of(product), common=product.relative_of(price))
