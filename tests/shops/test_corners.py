"""The widest and the narrowest shops there may be: every strategy prices them inside floor and ceiling."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import hushprice
from hushprice import Product
from hushprice.shops.worlds import Logit, LogNormal

CONVERSIONS = (0.001, 0.95)
RANGES = ((23.75, 26.25), (0.0, 100.0))  # 5 % to either side, and from nothing to four times the price

CORNERS = [*itertools.product(CONVERSIONS, RANGES, (0,)), (0.001, RANGES[1], 32), (0.95, RANGES[0], 32)]


@pytest.mark.parametrize(("conversion", "limits", "contexts"), CORNERS)
def test_the_corners_of_what_may_be_declared_are_priced(
    conversion: float, limits: tuple[float, float], contexts: int
) -> None:
    product = Product(
        floor=limits[0], ceiling=limits[1], reference_price=25.0, conversion=conversion, contexts=contexts, epsilon=3.0
    )
    given = {"conversion": conversion, "reference_price": 25.0, "attributes": (0.05,) * contexts}
    worlds = {"cautious": Logit(elasticity=2.0, **given), "thompson": LogNormal(deviation=0.5, **given)}
    for policy, world in {**worlds, "one-price": worlds["thompson"]}.items():
        result = hushprice.simulate(policy, product=product, world=world, horizon=150, trials=1, keep_prices=True)
        assert result.prices is not None
        assert np.isfinite(result.earnings).all()
        assert product.floor <= result.prices.min() <= result.prices.max() <= product.ceiling


@pytest.mark.parametrize(("conversion", "limits"), [(0.001, RANGES[1]), (0.95, RANGES[0])])
def test_in_a_corner_prices_are_tried_out_too(conversion: float, limits: tuple[float, float]) -> None:
    product = Product(floor=limits[0], ceiling=limits[1], reference_price=25.0, conversion=conversion)
    world = Logit(conversion=conversion, reference_price=25.0, elasticity=3.0)
    result = hushprice.simulate(
        "cautious", product=product, world=world, horizon=3000, trials=1, noise=False, keep_prices=True
    )
    assert result.prices is not None
    assert len(np.unique(result.prices)) > 1
