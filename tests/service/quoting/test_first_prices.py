"""Before anything is released prices are around today's, whatever whole cents do to the middle of the coin's two."""

from __future__ import annotations

import msgspec
import pytest
from tests.service.products import make_product

from hushprice.service.quoting.priced_product import PricedProduct
from hushprice.service.quoting.product_health import health_of
from hushprice.service.store.values import StoredProduct


@pytest.mark.parametrize(("today", "ladder"), [(15.99, None), (16.0, None), (15.98, None), (15.99, 0.99)])
def test_a_new_product_learns_around_todays_price_and_says_which_prices_it_tries(
    today: float, ladder: float | None
) -> None:
    shop = {"reference_price": today, "floor": 12.0, "ceiling": 20.0, "conversion": 0.02, "elasticity": [1.0, 3.0]}
    rules = {} if ladder is None else {"rules": {"ladder": ladder}}
    product = make_product(schema=None, contexts=1, unit_cost=6.5, **shop, **rules)
    stored = msgspec.json.encode(product.rules)
    priced = PricedProduct(StoredProduct("mug", msgspec.json.encode(product), "open", stored, None, 0, 0.0), None)
    context = priced.context(None, [0.3])
    assert float(priced.price(context, 0.5).charged) == today
    assert priced.range == (today, today)
    tried = [priced.offer(context, uniform, holdout=False)[0].charged for uniform in (0.25, 0.75)]
    assert float(tried[0]) < today < float(tried[1])
    health = health_of(priced, with_cost=False)
    assert health.status == "learning"
    assert f"A coin sets {tried[0]} or {tried[1]}" in health.words
