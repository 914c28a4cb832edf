"""The largest outcome that a store takes of a product, by what was declared."""

from __future__ import annotations

import math

import pytest

from hushprice.service.store.decisions import largest_demand


@pytest.mark.parametrize(
    ("spec", "most"),
    [
        (b'{"family": "logistic"}', 1.0),
        (b'{"family": "logistic", "most": 3.0}', 3.0),
        (b'{"family": "logistic", "most": null}', 1.0),
        (b'{"family": "poisson", "bound": 5}', 5.0),
        (b'{"family": "poisson", "bound": 5, "most": 1.0}', 5.0),
        (b'{"family": "other"}', math.inf),
    ],
)
def test_a_product_declares_the_most_that_one_visitor_buys(spec: bytes, most: float) -> None:
    assert largest_demand(spec) == most
