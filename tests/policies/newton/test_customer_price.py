"""One customer in one step: the same price, bit by bit, as by the steps it is made of; and the margin over a cost."""

from __future__ import annotations

import numpy as np
import pytest

from hushprice.demand import family
from hushprice.demand.features import by_name
from hushprice.policies.newton.pricing import dispersion, probe
from hushprice.policies.newton.pricing.customer_price import (
    LINES,
    above_cost,
    lines_for_one,
    price_for_one,
    price_of_customer,
)
from hushprice.price_search import coefficients, many
from hushprice.types import FloatArray

NEAR = 5.0  # moves nearly everybody
STILL = np.zeros(3)  # the tilt of a batch that is no probe


def draw(seed: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, float]:
    """A belief, a customer and a uniform."""
    draws = np.random.default_rng(seed)
    theta = draws.normal(size=3) / 2.0
    root = draws.normal(size=(3, 3)) * 0.3
    u, v = draws.normal(size=(2, 3)) / 2.0
    return theta, root @ root.T + 0.01 * np.eye(3), u, v, float(draws.uniform())


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", [family.LOGISTIC, family.GAUSSIAN, family.POISSON])
@pytest.mark.parametrize("tilted", [False, True])
def test_a_price_is_that_of_the_separate_steps(seed: int, kind: int, tilted: bool) -> None:
    theta, inverse, u, v, uniform = draw(seed)
    tilt = np.array([0.2, 0.0, -0.3]) if tilted else STILL
    a, b, q0, q1, q2, price = np.empty((6, 1))
    columns = u.reshape(-1, 1), v.reshape(-1, 1)
    coefficients.demand_line(theta, *columns, 1, a, b)
    coefficients.bonus_curve(inverse, *columns, 1, q0, q1, q2, np.empty((2, 1)))
    if tilted:
        up, down = np.empty((2, 1))
        coefficients.demand_line(tilt, *columns, 1, up, down)
        probe.move_lines(kind, 4.0, NEAR, 0.0, 1, up, down, a, b, q1, q2)
    dispersion.spread_lines(0.1, 1, np.array([uniform]), a, b, q1, q2)
    lines = np.empty((LINES, 1))
    known = kind, 4.0, theta, inverse, u, v, NEAR, tilt, 0.1, uniform, 0.0
    lines_for_one(*known, lines)
    assert lines[:5, 0].tolist() == [a[0], b[0], q0[0], q1[0], q2[0]]
    work = np.empty(many.WORK)
    many.best_prices(kind, 4.0, 0.2, 1, a, b, q0, q1, q2, price, work)
    assert price_for_one(*known, 0.2, work) == price[0]


@pytest.mark.parametrize("cost", [0.1, 0.5, 0.99])
def test_coefficients_above_cost_say_the_same_of_the_same_prices(cost: float) -> None:
    draws = np.random.default_rng(1)
    a, b, q0, q1, q2 = draws.normal(size=(5, 4))
    shares = np.linspace(0.0, 1.0, 11)[:, None]
    prices = cost + (1.0 - cost) * shares
    line, form = a + b * prices, q0 + prices * (q1 + prices * q2)
    above_cost(cost, 4, a, b, q0, q1, q2)
    np.testing.assert_allclose(a + b * shares, line, atol=1e-14)
    np.testing.assert_allclose(q0 + shares * (q1 + shares * q2), form, atol=1e-14)


def test_a_cost_moves_the_line_of_one_customer() -> None:
    theta, inverse, u, v, uniform = draw(3)
    plain, moved = np.empty((LINES, 1)), np.empty((LINES, 1))
    known = family.LOGISTIC, 4.0, theta, inverse, u, v, NEAR, STILL, 0.1, uniform
    lines_for_one(*known, 0.0, plain)
    lines_for_one(*known, 0.25, moved)
    above_cost(0.25, 1, *plain[:5])
    assert moved[:5].tolist() == plain[:5].tolist()


@pytest.mark.parametrize("name", ["main", "intercept", "interactions"])
@pytest.mark.parametrize("cost", [0.0, 0.3])
def test_a_live_quote_is_the_price_of_its_features(name: str, cost: float) -> None:
    draws = np.random.default_rng(5)
    features = by_name(name, 2)
    d = features.dimension
    work, parts = np.empty(many.WORK), np.empty((2, d))
    constants = np.array([12.0, 0.2, 0.1, cost, NEAR])
    for turn in range(20):
        tilt = draws.normal(size=d) / 4.0 if turn % 2 else np.zeros(d)
        theta, context, uniform = draws.normal(size=d) / 2.0, draws.uniform(-1.0, 1.0, 2), float(draws.uniform())
        inverse = 0.1 * np.eye(d)
        u, v = (np.ascontiguousarray(part) for part in features.parts(context))
        width = 0.2 / (1.0 - cost)
        known = theta, inverse, u, v, NEAR, tilt, 0.1, uniform, cost
        share = price_for_one(family.LOGISTIC, 12.0, *known, width, work)
        found = price_of_customer(
            features.code, family.LOGISTIC, constants, context, uniform, theta, inverse, tilt, parts, work
        )
        assert found == min(cost + (1.0 - cost) * share, 1.0)
