"""A rival in a simulated shop: the product as a frame, relative prices, contexts as features."""

from __future__ import annotations

import importlib
import math

import numpy as np

from hushprice.policies import POLICIES
from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.rival_policy import KERNEL, Asked, RivalPolicy
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.delta import parse_delta
from hushprice.product import Product
from hushprice.types import FloatArray

LEVEL_DOUBT, DOUBT = 3.0, 1.0  # deviations: of the level, and of everything else, in log-odds
RIVALS = tuple(name for name, module in POLICIES.items() if ".rivals." in module)


def product_frame(product: Product, horizon: int) -> Frame:
    """phi = [1; x; -z; -z x]: every entry of a context may move the level and the response."""
    half = product.contexts + 1
    return Frame(
        horizon=horizon,
        contexts=product.contexts,
        dimension=2 * half,
        lowest=product.lowest,
        highest=product.highest,
        slope=1.0,
        length=math.sqrt(2.0 * half),
        doubts=(LEVEL_DOUBT,) + (DOUBT,) * (2 * half - 1),
        margin=product.margin,
        level=product.level,
        response=product.response,
        today=0.0,
    )


def rival_of(name: str, product: Product, horizon: int, noise: bool) -> RivalPolicy:
    """The rival of that name, made for a product; without noise it claims nothing."""
    claimed = EpsilonDelta(product.epsilon, parse_delta(product.delta, horizon))
    asked = Asked(name=name, claimed=claimed, drawn=noise)
    policy: RivalPolicy = importlib.import_module(POLICIES[name]).rival(asked, product_frame(product, horizon))
    assert policy.kernel == KERNEL
    return policy


class RivalStrategy:
    """A rival as a Strategy of shops."""

    def __init__(self, policy: RivalPolicy, product: Product, rng: np.random.Generator) -> None:
        self._product, self._rival = product, policy.begin(policy.frame, rng)

    @property
    def due(self) -> int:
        return self._rival.due

    def prices(self, contexts: FloatArray) -> FloatArray:
        product = self._product
        prices = product.reference_price + product.reach * self._rival.prices(_customers(contexts))
        return np.clip(prices, product.cheapest, product.dearest)  # its last digit may be beyond them

    def learn(self, contexts: FloatArray, prices: FloatArray, sales: FloatArray) -> None:
        relative = (prices - self._product.reference_price) / self._product.reach
        self._rival.learn(_customers(contexts), relative, sales)


def _customers(contexts: FloatArray) -> Customers:
    half = np.concatenate([np.ones((1, len(contexts))), contexts.T])
    nothing = np.zeros_like(half)
    return Customers(contexts.T, np.concatenate([half, nothing]), np.concatenate([nothing, -half]))
