"""Logs of simulated shops, with what is true of them, for the tests of this folder."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from hushprice.logs.price_policy import PricePolicy
from hushprice.logs.rows import LogRows
from hushprice.policies.cautious.pricing.shop_model import model_of
from hushprice.product import Product
from hushprice.research.audits.log_sums import MemoryLog
from hushprice.shops.worlds import Logit
from hushprice.types import FloatArray

PRODUCT = Product(floor=15.0, ceiling=35.0, reference_price=25.0, conversion=0.2, contexts=2, unit_cost=5.0)
FEW = (-0.8, -0.4, 0.0, 0.4, 0.8)
SHOP = Logit(conversion=0.2, elasticity=2.0, reference_price=25.0, attributes=(0.5, -0.3), interactions=(0.8, 0.3))
_STEEP = 10.0 / 25.0 / 0.8  # log-odds over one reach, for each unit of elasticity
TRUE = np.array([0.0, 0.5, -0.3, 2.0 * _STEEP - PRODUCT.response, 0.8 * _STEEP, 0.3 * _STEEP])


def fit_of(theta: FloatArray = TRUE) -> PricePolicy:
    """The prices that this theta makes best; TRUE is the shop's own."""
    return PricePolicy(label="fit", model=model_of(PRODUCT), theta=theta)


def currency(relative: FloatArray) -> FloatArray:
    return PRODUCT.reference_price + PRODUCT.reach * relative


def chances_of(contexts: FloatArray) -> FloatArray:
    """Of FEW prices, where prices move with the first attribute."""
    odds = np.exp(contexts[:, :1] * np.linspace(-0.5, 0.5, len(FEW)))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def drawn(
    count: int, rng: np.random.Generator, prices: Literal["few", "even", "moved"] = "few", world: Any = SHOP
) -> LogRows:
    """`few` prices by chance of the attributes; `even` over the whole range; `moved` around a line in them."""
    contexts = rng.uniform(-1.0, 1.0, (count, 2))
    if prices == "few":
        chances = chances_of(contexts)
        which = (rng.random((count, 1)) > chances.cumsum(axis=1)).sum(axis=1)
        relative, likely = np.array(FEW)[which], chances[np.arange(count), which]
    elif prices == "even":
        relative, likely = rng.uniform(-1.0, 1.0, count), np.full(count, 0.05)  # per unit of currency
    else:
        left = rng.uniform(-0.6, 0.6, count)
        relative, likely = 0.4 * contexts[:, 0] + left, np.full(count, 1.0 / 12.0)
    bought = rng.random(count) < world.probabilities(0, contexts, currency(relative))
    return LogRows(contexts, relative, bought.astype(np.float64), None, likely, 0)


def log_of(*blocks: LogRows) -> MemoryLog:
    return MemoryLog(*blocks)


def worth(policy: PricePolicy, world: Any = SHOP, count: int = 400_000) -> float:
    """What a policy earns a visit: the mean over many customers, known to about a thousandth."""
    contexts = np.random.default_rng(99).uniform(-1.0, 1.0, (count, 2))
    prices = currency(policy.prices(contexts))
    return float(((prices - PRODUCT.unit_cost) * world.probabilities(0, contexts, prices)).mean())
