"""The two prices that a coin picks from: inside the limits, chargeable, the same for one customer as for many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hushprice import Product
from hushprice.policies.cautious.pricing.belief import Rule
from hushprice.policies.cautious.pricing.customer_prices import CustomerPrices, of_coin
from hushprice.policies.cautious.pricing.shop_model import ShopModel, model_of, with_constant

X = np.random.default_rng(3).uniform(-1.0, 1.0, (80, 2))
THETA = np.array([-2.0, 0.5, -0.4, 0.5, 2.5, -1.2])  # attributes change the response: best prices lie at both limits


def model(step: float | None = None) -> ShopModel:
    product = Product(
        floor=8.0, ceiling=12.0, reference_price=10.0, unit_cost=4.0, conversion=0.3, contexts=2, step=step
    )
    return model_of(product)


def prices(shop: ShopModel, **rule: float) -> tuple[Any, Any, Any]:
    lines = shop.lines(THETA, with_constant(X))
    given = {"move": 0.0, "spread": 0.0, "offset": 0.0, **rule}
    return shop.best(*lines), *shop.coin_prices(*lines, **given)


@pytest.mark.parametrize("spread", [0.0, 0.3, 1.0])
def test_own_prices_stay_where_they_are_and_are_tried_out_as_far_as_limits_allow(spread: float) -> None:
    shop = model()
    best, dearer, cheaper = prices(shop, move=1.0, spread=spread)
    assert best.min() == shop.lowest
    assert best.max() == shop.highest  # and between: all cases there are
    np.testing.assert_allclose(0.5 * (dearer + cheaper), best, atol=1e-12)
    room = np.minimum(shop.highest - best, best - shop.lowest)
    np.testing.assert_allclose(0.5 * (dearer - cheaper), np.minimum(spread, room), atol=1e-12)


@pytest.mark.parametrize("offset", [-1.0, -0.4, 0.0, 0.9])
def test_a_common_price_moves_inside_until_all_of_the_spread_fits(offset: float) -> None:
    shop = model()
    _, dearer, cheaper = prices(shop, spread=0.3, offset=offset)
    assert np.ptp(dearer) == np.ptp(cheaper) == 0.0
    assert dearer[0] - cheaper[0] == pytest.approx(0.6)
    assert 0.5 * (dearer[0] + cheaper[0]) == pytest.approx(min(max(offset, -0.7), 0.7))


@pytest.mark.parametrize("step", [None, 0.25, 0.5])
@pytest.mark.parametrize("where", [(0.0, 0.0), (0.0, -0.6), (0.5, 0.0), (1.0, 0.0)])
def test_both_prices_can_be_charged_and_are_those_of_one_customer_at_a_time(
    where: tuple[float, float], step: float | None
) -> None:
    shop = model(step)
    move, offset = where
    spread = shop.fitting(0.3)
    rule = Rule(count=10, move=move, spread=spread, choice=1, offset=offset)
    _, dearer, cheaper = prices(shop, move=move, spread=spread, offset=offset)
    assert (dearer >= cheaper).all()
    assert cheaper.min() >= shop.lowest - 1e-12
    assert dearer.max() <= shop.highest + 1e-12
    if shop.step:
        rungs = (np.concatenate([dearer, cheaper]) - shop.lowest) / shop.step
        np.testing.assert_allclose(rungs, np.round(rungs), atol=1e-9)
    alone = CustomerPrices(shop, rule, THETA)
    both = np.array([alone.both(x) for x in X.tolist()])
    np.testing.assert_allclose(both, np.column_stack([dearer, cheaper]), atol=1e-9)
    assert [of_coin((2.0, 1.0), coin) for coin in (1.0, -1.0, 0.0)] == [2.0, 1.0, 1.5]
