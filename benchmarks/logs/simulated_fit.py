"""A fit of a simulated log: maximum likelihood in the product's model, with Gaussian noise of the size a budget asks.

The log has prices spread evenly within a tenth of today's, drawn without looking at customers. One Newton step from the
maximum with a noisy score: entries of psi = [x~; -z x~] are scaled so that psi has length at most 1, and residuals lie
in [-1, largest], so replacing a row moves the score by at most 1 + largest.
"""

from __future__ import annotations

import hashlib

import numpy as np
from scipy.special import expit

from hushprice.policies.cautious.pricing.shop_model import model_of, with_constant
from hushprice.prior import Prior
from hushprice.privacy import gaussian
from hushprice.privacy.budget import EpsilonDelta
from hushprice.product import Product
from hushprice.shops.world import World, chances, encoded

ROWS = 50_000
SPREAD = 0.2  # of today's price, to either side, as far as the product allows it
DELTA = 1e-8


def simulated_fit(product: Product, world: World, *, epsilon: float, seed: int, rows: int = ROWS) -> Prior:
    """The prior of a fit of `rows` rows of this world."""
    model, rng = model_of(product), np.random.default_rng((seed, 77))
    customers = world.contexts(0, rows, rng)
    today, spread = product.reference_price, SPREAD * product.reference_price
    low, high = max(today - spread, product.cheapest), min(today + spread, product.dearest)
    prices = rng.uniform(low, high, rows)
    x = with_constant(encoded(product, customers, rows))
    bought = (rng.random(rows) < chances(world, 0, customers, prices)).astype(float)
    z = (prices - today) / product.reach
    rows_of = np.hstack([x, -z[:, None] * x])
    offset = model.level - model.response * z
    theta = np.zeros(model.size)
    for _ in range(30):
        chance = expit(offset + rows_of @ theta)
        curvature = (rows_of * (chance * (1.0 - chance))[:, None]).T @ rows_of + 1e-6 * np.eye(model.size)
        step = np.linalg.solve(curvature, rows_of.T @ (bought - chance))
        theta = theta + step * min(1.0, 2.0 / np.abs(step).max())
        if np.abs(step).max() < 1e-9:
            break
    farthest, entries = max(abs(low - today), abs(high - today)) / product.reach, max(model.contexts, 1)
    halves = np.array([0.5, *[0.5 / np.sqrt(entries)] * model.contexts])
    weights = np.concatenate([halves, halves / farthest])
    mu = gaussian.mu_of(epsilon, DELTA)
    noise = (1.0 + model.largest) / mu / weights
    inverse = np.linalg.inv(curvature)
    theta = theta + inverse @ (rng.standard_normal(model.size) * noise)
    covariance = inverse + inverse @ np.diag(noise**2) @ inverse
    return Prior(
        theta=tuple(theta.tolist()),
        covariance=tuple(map(tuple, (0.5 * (covariance + covariance.T)).tolist())),
        level=product.level,
        response=product.response,
        reference_price=today,
        reach=product.reach,
        most=product.most,
        claimed=EpsilonDelta(epsilon, DELTA),
        fit=hashlib.sha256(theta.tobytes()).hexdigest(),
        mu=mu * (1.0 - 1e-9),
    )
