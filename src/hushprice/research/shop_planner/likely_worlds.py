"""Worlds that a product's own numbers make likely, one a shop: what a plan is tried out in.

What attributes matter is drawn from what policy cautious believes before the first customer. Conversion and elasticity
are those of all visitors together, near what the shop declares, and demand falls in price for everybody. Where the
product starts from a fit of a log, all of it is drawn from what the fit says instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtri
from scipy.stats import qmc

from hushprice.policies.cautious.rules import ATTRIBUTES, PERSONAL, RESPONSE
from hushprice.prior import Prior
from hushprice.product import Product
from hushprice.shops.customers import DeclaredCustomers
from hushprice.shops.fitted import Fitted
from hushprice.shops.worlds import Crowd, uniform
from hushprice.types import FloatArray

VISITORS = 4096  # drawn once; they come again
CONVERSION = 0.5  # deviation of its log-odds. The policy doubts it more, but a shop counts its purchases
LEAST = 0.1  # of the mean response, that the least responsive visitor has


@dataclass(frozen=True, eq=False)
class LikelyWorlds:
    """World number i depends on the product, the visitors, the seed and i alone."""

    product: Product
    rows: FloatArray  # contexts of the visitors
    seed: int

    def world(self, number: int) -> Fitted:
        """A logit: conversion, elasticity, and what attributes add to both."""
        product, k = self.product, self.product.contexts
        # Conversions and elasticities of few shops are spread out more evenly than luck would.
        spread = qmc.Halton(2, scramble=True, seed=np.random.default_rng((self.seed, 0))).random(number + 1)[-1]
        rng = np.random.default_rng((self.seed, 1, number))
        if product.prior_here is not None:
            return self._by_log(product.prior_here, rng)
        conversion = float(expit(product.level + CONVERSION * float(ndtri(spread[0]))))
        attributes = ATTRIBUTES * rng.standard_normal(k)
        personal = PERSONAL * rng.standard_normal(k)
        personal *= _falling_for_all(self.rows @ personal)
        unit = Fitted(
            product=product,
            level=np.array([_level(self.rows @ attributes, conversion), *attributes]),
            response=np.array([1.0, *personal]),
            rows=self.rows,
        )
        scale = drawn_elasticity(product, float(spread[1])) / unit.elasticity(self.rows)
        return replace(unit, response=scale * unit.response)

    def _by_log(self, prior: Prior, rng: np.random.Generator) -> Fitted:
        product, half = self.product, self.product.contexts + 1
        drawn = rng.multivariate_normal(np.array(prior.theta), np.array(prior.covariance), method="cholesky")
        level, response = drawn[:half], drawn[half:]
        level[0] += product.level
        middle = max(product.response + float(response[0]), LEAST * product.response)
        personal = response[1:] * _falling_for_all(self.rows @ response[1:] / middle)
        return Fitted(product=product, level=level, response=np.array([middle, *personal]), rows=self.rows)


def likely_worlds(product: Product, crowd: Crowd | None, seed: int) -> LikelyWorlds:
    """Worlds with these customers; without any, with whoever the product declares possible, evenly."""
    if crowd is None:
        crowd = uniform(product.contexts) if product.schema is None else DeclaredCustomers(product.schema)
    return LikelyWorlds(product, crowd(0, VISITORS, np.random.default_rng((seed, 2))), seed)


def drawn_elasticity(product: Product, quantile: float) -> float:
    """Of demand at today's price: even in its logarithm over a declared range, else log-normal around what is declared.

    The log-normal has its median at the declared elasticity, or at the one that makes today's price best, and the first
    belief's deviation as its coefficient of variation: a tenth is below 0.34 of it and a tenth above 2.9 of it.
    """
    if isinstance(product.elasticity, tuple):
        low, high = product.elasticity
        return float(low * (high / low) ** quantile)
    middle = product.response * product.reference_price * (1.0 - product.share) / product.reach
    return float(middle * math.exp(math.sqrt(math.log1p(RESPONSE * RESPONSE)) * ndtri(quantile)))


def _falling_for_all(moved: FloatArray) -> float:
    """The share of these effects on a response of 1 that leaves everybody at least LEAST."""
    return min(1.0, (1.0 - LEAST) / max(-float(moved.min(initial=0.0)), 1e-12))


def _level(moved: FloatArray, conversion: float) -> float:
    """The log-odds of the customer x = 0 at which all visitors together have this conversion."""
    middle = math.log(conversion / (1.0 - conversion))
    most = float(np.abs(moved).max(initial=0.0)) + 1e-9
    return float(brentq(lambda level: expit(level + moved).mean() - conversion, middle - most, middle + most))
