"""The prices whose worth is asked for: those that a fit makes best, today's, or one for everybody."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.policies.cautious.pricing.shop_model import ShopModel, model_of, with_constant
from hushprice.prior import Prior
from hushprice.product import Product
from hushprice.types import FloatArray

_SAME = 1e-9  # how far numbers that describe the same product may be apart


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
        level, response = self.model.lines(self.theta, with_constant(contexts))
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
        """The same, held to these relative prices; one for everybody stays as it is, charged before or not."""
        return replace(self, choices=choices)

    def demand(self, contexts: FloatArray, prices: FloatArray) -> FloatArray:
        """What its theta, or else the shop's declaration, expects of rows at relative prices."""
        theta = np.zeros(self.model.size) if self.theta is None else self.theta
        level, response = self.model.lines(theta, with_constant(contexts))
        return np.asarray(expit(level - response * prices))


def fitted_prices(product: Product, prior: Prior, label: str = "fit") -> PricePolicy:
    """The personal prices that a fit of this product makes best."""
    model = model_of(product)
    ours = (model.level, model.response, product.reference_price, product.reach)
    theirs = (prior.level, prior.response, prior.reference_price, prior.reach)
    for name, mine, other in zip(("level", "response", "reference_price", "reach"), ours, theirs, strict=True):
        if not math.isclose(mine, other, rel_tol=_SAME, abs_tol=_SAME):
            raise InvalidInput(f"the fit is of another product: its {name} is {other!r}, the product's {mine!r}")
    theta = checks.vector(model.size, theta=np.array(prior.theta, dtype=np.float64))
    return PricePolicy(label=label, model=model, theta=theta)


def common_price(product: Product, price: float | None = None) -> PricePolicy:
    """One price for everybody; None: today's."""
    if price is None:
        return PricePolicy(label="today's price", model=model_of(product), common=0.0)
    checks.within(product.floor, product.ceiling, price=price)
    return PricePolicy(label=f"price {price:g}", model=model_of(product), common=product.relative_of(price))
