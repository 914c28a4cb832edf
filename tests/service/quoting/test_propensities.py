"""The probability told with a quote is that of its price, over the coin and the holdout's draw, for this customer."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.service.cautious_runs import cautious_spec
from tests.service.products import make_product

from hushprice.service.quoting.priced_product import PricedProduct
from hushprice.service.shared.tariff import PriceRules
from hushprice.service.store.values import Status, StoredProduct

COIN = (0.25, 0.75)  # uniforms of its two sides


def stored(spec: bytes, rules: PriceRules | None = None, status: Status = "open") -> PricedProduct:
    return PricedProduct(
        StoredProduct("tea", spec, status, msgspec.json.encode(rules or PriceRules()), None, 0, 0.0), None
    ).open()


def contexts(count: int) -> list[bytes]:
    return [each.astype("<f8").tobytes() for each in np.random.default_rng(2).uniform(-1.0, 1.0, (count, 2))]


@pytest.mark.parametrize(
    ("changes", "rules", "different"),
    [
        ({}, None, 3),
        ({"holdout": 0.0}, None, 2),
        ({}, PriceRules(largest_step=0.01), 3),
        ({"holdout": 0.3}, PriceRules(ceiling=10.0), 2),  # the coin's upper price is today's
        ({"holdout": 0.3}, PriceRules(floor=10.0, ceiling=10.0), 1),
    ],
)
def test_every_price_is_as_likely_as_it_says(changes: dict[str, Any], rules: PriceRules | None, different: int) -> None:
    priced = stored(cautious_spec(**changes), rules)
    share = priced.product.holdout
    for context in contexts(8):
        chances: Counter[str] = Counter()
        told: dict[str, float | None] = {}
        for holdout in (False, True):
            for uniform in COIN:
                charged, told[charged.charged] = priced.offer(context, uniform, holdout=holdout)
                chances[charged.charged] += 0.5 * (share if holdout else 1.0 - share)
                assert charged == (priced.reference if holdout else priced.price(context, uniform))
        chances = Counter({price: chance for price, chance in chances.items() if chance > 0.0})
        assert len(chances) == different
        assert {price: told[price] for price in chances} == pytest.approx(dict(chances))


def test_one_price_for_everybody_is_certain() -> None:
    frozen = stored(cautious_spec(), status="frozen")
    fixed = stored(msgspec.json.encode(make_product(policy="fixed", reference_price=20.0)))
    for priced in (frozen, fixed):
        for holdout in (False, True):
            assert priced.offer(contexts(1)[0], 0.75, holdout=holdout) == (priced.reference, 1.0)


def test_a_policy_that_draws_from_a_density_says_nothing() -> None:
    priced = stored(msgspec.json.encode(make_product(policy="noisy-newton")))
    context = contexts(1)[0]
    assert priced.offer(context, 0.75, holdout=True) == (priced.reference, None)
    assert priced.offer(context, 0.75, holdout=False) == (priced.price(context, 0.75), None)
