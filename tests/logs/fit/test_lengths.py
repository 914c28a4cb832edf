"""Where a score spends its length: nothing that a search finds leaves less of what matters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from tests.logs.fit.fit_logs import PRODUCT, THETA

from hushprice.logs.fit import lengths, score_plan
from hushprice.logs.fit.description import Moments
from hushprice.logs.fit.likeness import likeness_of
from hushprice.logs.fit.score_plan import ScorePlan, plan_score
from hushprice.policies.cautious.pricing.shop_model import model_of
from hushprice.types import FloatArray

APART = np.diag([0.3, 0.2, 0.1])
FOLLOWED = np.array([[0.3, 0.0, 0.16], [0.0, 0.2, 0.0], [0.16, 0.0, 0.1]])  # prices went with the first attribute
DOUBT = np.diag([0.2, 0.5, 0.4, 0.6, 0.1, 0.3])
ROWS = 20_000.0


def planned(covariance: FloatArray, noise: float = 20.0) -> ScorePlan:
    moments = Moments(ROWS, np.zeros(3), covariance)
    given = {"model": model_of(PRODUCT), "moments": moments, "likeness": likeness_of(moments)}
    return plan_score(**given, theta=THETA, covariance=DOUBT, noise=noise)


@pytest.mark.parametrize("covariance", [APART, FOLLOWED])
def test_no_other_spending_leaves_less_of_what_matters(monkeypatch: pytest.MonkeyPatch, covariance: FloatArray) -> None:
    """By a general search from random starts, over a model of the score that is written down here again."""
    monkeypatch.setattr(lengths, "_LEAST", 0.0)
    monkeypatch.setattr(lengths, "_STEPS", 100)
    monkeypatch.setattr(score_plan, "_WIDTHS", (1e-3, 1e-3))  # no row is held
    noise = 0.05
    plan, likeness = planned(covariance, noise), likeness_of(Moments(ROWS, np.zeros(3), covariance))
    chances = expit(likeness.log_odds(plan.model, THETA))
    variance = chances * (1.0 - chances)
    ones = np.ones(len(chances))
    white = likeness.contexts @ plan.whitening.T
    price = plan.price_scale * likeness.prices
    u = np.stack([ones, *white.T, price, *(price[:, None] * white).T]).T
    slope = ROWS * np.mean(np.einsum("r,ri,rj->rij", plan.residual_weights(chances) * variance, u, u), axis=0)
    curved = np.mean(np.einsum("r,ri,rj->rij", variance, u, u), axis=0) / variance.mean()
    turned = np.linalg.lstsq(u, likeness.features, rcond=None)[0]  # features = u turned
    before = np.linalg.inv(turned @ DOUBT @ turned.T)

    def left(weights: FloatArray) -> float:
        told = slope.T @ np.diag(weights**2 / (noise * (1.0 + plan.largest)) ** 2) @ slope
        after = np.linalg.inv(before + told)
        return float(np.sum(curved * after) + lengths.PRICE * (plan.model.size - 1.0) * after[3, 3])

    length = float(np.linalg.norm(plan.weights[1:]))

    def spent(free: FloatArray) -> FloatArray:
        shares = np.exp(free - free.max())
        return np.concatenate([plan.weights[:1], length * np.sqrt(shares / shares.sum())])

    random = np.random.default_rng(0)
    found = min(minimize(lambda free: left(spent(free)), random.normal(size=5)).fun for _ in range(5))
    assert left(plan.weights) <= found * 1.002
    even = np.concatenate([plan.weights[:1], np.full(5, length / np.sqrt(5.0))])
    assert left(even) > found * 1.1  # else anything would do


def test_an_attribute_that_prices_went_with_gets_length_for_the_prices_sake() -> None:
    def share(covariance: FloatArray) -> float:
        squares = planned(covariance).weights ** 2
        return float(squares[1] / squares[1:].sum())

    assert share(FOLLOWED) > 1.5 * share(APART)


def test_every_direction_gets_some_of_the_length() -> None:
    squares = planned(APART).weights[1:] ** 2
    assert (squares / squares.sum()).min() >= lengths._LEAST / 5 - 1e-12
