"""Priors that several test files start from."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushprice.prior import Prior
from hushprice.privacy import gaussian
from hushprice.privacy.budget import EpsilonDelta
from hushprice.product import Product

CLAIMED = EpsilonDelta(0.5, 1e-7)
MU = gaussian.mu_of(0.5, 1e-7) * (1.0 - 1e-4)  # numbers on a grid cost a little


def prior_for(product: Product, theta: Any = None, deviation: float = 0.2, **changes: Any) -> Prior:
    """A fit of a log of this product, with as many entries as it has."""
    size = 2 * (product.contexts + 1)
    given: dict[str, Any] = {
        "theta": tuple(np.zeros(size)) if theta is None else tuple(theta),
        "covariance": tuple(map(tuple, (deviation**2 * np.eye(size)).tolist())),
        "level": product.level,
        "response": product.response,
        "reference_price": product.reference_price,
        "reach": product.reach,
        "most": product.most,
        "claimed": CLAIMED,
        "mu": MU,
        "numbers": 40,
        "fit": "ab" * 32,
    }
    return Prior(**given | changes)
