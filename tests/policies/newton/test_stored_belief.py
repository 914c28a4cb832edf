"""A belief that the learner hands to quoters: they price alike, and one of another product is refused."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.service.products import make_product

from hushprice.errors import InvalidInput
from hushprice.policies.newton.pricing.quoter import NewtonQuoter
from hushprice.policies.newton.pricing.stored_belief import StoredBelief, belief_of, set_belief
from hushprice.service.shared.product import Product, features_of, quoter_of


def learned(product: Product) -> StoredBelief:
    """A belief after two batches, as a release would bring it."""
    quoter = quoter_of(product)
    size = quoter.theta.size
    quoter.theta, quoter.precision, quoter.inverse = 0.1 * np.arange(size), 5.0 * np.eye(size), np.eye(size) / 5.0
    quoter.ready, quoter.version = True, 2
    quoter.follow(300)
    quoter.go_on()
    return belief_of(quoter)


def test_a_belief_crosses_as_text_and_prices_the_same() -> None:
    product = make_product()
    belief = learned(product)
    read = msgspec.json.decode(msgspec.json.encode(belief), type=StoredBelief)
    one, other = set_belief(quoter_of(product), belief), set_belief(quoter_of(product), read)
    assert belief_of(other) == belief == read
    context = np.array([0.3, -0.4])
    assert one.price(context, 0.7) == other.price(context, 0.7)


def probing(product: Product) -> NewtonQuoter:
    """A quoter in a probe: what it knows was learned at one price."""
    quoter, draws = quoter_of(product), np.random.default_rng(1)
    quoter.theta, quoter.ready, quoter.version = np.array([0.1, 0.0, 0.0, 0.9]), True, 5
    quoter.inverse = 1e-9 * np.eye(4)  # for a moment: the best price, without a bonus
    best = quoter.price(np.zeros(2), 0.5)
    for x in draws.uniform(-1.0, 1.0, (500, 2)):
        u, v = features_of(product).parts(x)
        quoter.precision = quoter.precision + 10.0 * np.outer(u + best * v, u + best * v)
    quoter.inverse = np.linalg.inv(quoter.precision)
    quoter.follow(5000)
    assert np.any(quoter.tilt)
    return quoter


def test_who_reads_a_belief_in_a_probe_makes_the_same_tilt() -> None:
    """It is no field of the belief: the releases and the slot decide it, so every quoter finds it again."""
    product = make_product(features="intercept")
    quoter, draws = probing(product), np.random.default_rng(2)
    read = msgspec.json.decode(msgspec.json.encode(belief_of(quoter)), type=StoredBelief)
    other = set_belief(quoter_of(product), read)
    assert (other.tilt.tolist(), other.end) == (quoter.tilt.tolist(), quoter.end)
    for x in draws.uniform(-1.0, 1.0, (20, 2)):
        uniform = float(draws.uniform())
        assert other.price_of_checked(x, uniform) == quoter.price(x, uniform)


def test_a_refused_belief_leaves_a_probe_as_it_was() -> None:
    product = make_product(features="intercept")
    quoter = probing(product)
    before, tilt = belief_of(quoter), quoter.tilt.tolist()
    for changes in ({"version": 6}, {"ready": False}, {"look": before.end + 1}):
        with pytest.raises(InvalidInput, match=r"^belief.end and belief.look"):
            set_belief(quoter, msgspec.structs.replace(before, **changes))
        assert (belief_of(quoter), quoter.tilt.tolist()) == (before, tilt)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("theta", (0.1,)),
        ("theta", (0.1, 0.2, 0.3, math.nan)),
        ("precision", ((1.0, 0.0), (0.0,))),
        ("inverse", ((1.0,),)),
        ("end", 1),
        ("look", 300),
        ("look", 10**9),
        ("batch", 301),
    ],
)
def test_a_belief_of_another_product_is_refused_and_changes_nothing(field: str, value: Any) -> None:
    product = make_product()
    quoter = set_belief(quoter_of(product), learned(product))
    before = belief_of(quoter)
    with pytest.raises(InvalidInput, match=r"^belief\."):
        set_belief(quoter, msgspec.structs.replace(before, **{field: value}))
    assert belief_of(quoter) == before
