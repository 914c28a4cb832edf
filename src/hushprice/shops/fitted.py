"""Demand fitted once to a shop's own past, to simulate in. It reads every record and is not private."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit

from hushprice.errors import InvalidInput
from hushprice.product import Product
from hushprice.shops.customers import FiledCustomers
from hushprice.types import FloatArray

_DEVIATION = 10.0  # of a coefficient beforehand: it only keeps at 0 what no row tells, such as a level nobody has
_STEPS = 100  # far more than a strictly concave likelihood takes


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """Log-odds [1; x]'level - [1; x]'response z + bend z^2, with z = (price - today's) / reach as the product says."""

    product: Product
    level: FloatArray
    response: FloatArray
    rows: FloatArray  # contexts of the customers it was fitted to, who come again
    bend: float = 0.0

    def contexts(self, start: int, count: int, rng: np.random.Generator) -> FloatArray:
        return FiledCustomers(self.rows)(start, count, rng)

    def probabilities(self, start: int, contexts: FloatArray, prices: FloatArray) -> FloatArray:
        z = (prices - self.product.reference_price) / self.product.reach
        level = self.level[0] + contexts @ self.level[1:]
        return np.asarray(expit(level - self.responses(contexts) * z + self.bend * z * z))

    def responses(self, contexts: FloatArray) -> FloatArray:
        """How fast each customer's log-odds fall at today's price, in units of one reach."""
        return np.asarray(self.response[0] + contexts @ self.response[1:])

    def elasticity(self, contexts: FloatArray) -> float:
        """The elasticity of these customers' demand at today's price."""
        today = self.product.reference_price
        chance = self.probabilities(0, contexts, np.full(len(contexts), today))
        fall = (chance * (1.0 - chance) * self.responses(contexts)).sum() / self.product.reach
        return float(today * fall / chance.sum())


def fit_demand(product: Product, contexts: FloatArray, prices: FloatArray, sales: FloatArray) -> Fitted:
    """The likeliest logit with attribute x price terms; with a bend in price, common to all, where rows show one.

    They do where it is worth more than Schwarz's half the logarithm of their number, and demand falls all the way from
    floor to ceiling. Without it a truth that is no logit, such as willingness to pay that is log-normal, is fitted
    poorly at floor and ceiling, which is where a plan earns.
    """
    if not np.ptp(prices) > 1e-9 * product.reference_price:
        raise InvalidInput(f"fit.price must hold more than one price, got {float(prices[0])!r} in every row")
    if not 0.0 < sales.mean() < 1.0:
        raise InvalidInput(f"fit.outcome must hold purchases and refusals, got {float(sales[0])!r} in every row")
    half = np.column_stack([np.ones(len(contexts)), contexts])
    z = (prices - product.reference_price) / product.reach
    rows = np.hstack([half, -z[:, None] * half])
    straight, height = _likeliest(rows, sales)
    bent, bent_height = _likeliest(np.column_stack([rows, z * z]), sales)
    split = half.shape[1]
    steepness = float(half.mean(axis=0) @ bent[split:-1])
    falls = all(steepness - 2.0 * bent[-1] * end > 0.0 for end in (product.lowest, product.highest))
    shown = falls and bent_height - height > 0.5 * np.log(len(rows))
    theta, bend = (bent[:-1], float(bent[-1])) if shown else (straight, 0.0)
    return Fitted(product=product, level=theta[:split], response=theta[split:], bend=bend, rows=contexts)


def _likeliest(rows: FloatArray, sales: FloatArray) -> tuple[FloatArray, float]:
    """Coefficients and their log-likelihood, by Newton's method with halved steps."""

    def height(theta: FloatArray) -> float:
        odds = rows @ theta
        likelihood = sales * log_expit(odds) + (1.0 - sales) * log_expit(-odds)
        return float(likelihood.sum() - 0.5 * (theta @ theta) / _DEVIATION**2)

    theta = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        bought = expit(rows @ theta)
        curvature = (rows * (bought * (1.0 - bought))[:, None]).T @ rows + np.eye(theta.size) / _DEVIATION**2
        gradient = rows.T @ (sales - bought) - theta / _DEVIATION**2
        step = np.linalg.solve(curvature, gradient)
        if gradient @ step < 1e-12 * len(rows):
            break
        share, now = 1.0, height(theta)
        while share > 1e-9 and not height(theta + share * step) > now:
            share *= 0.5
        theta = theta + share * step
    return theta, height(theta)
