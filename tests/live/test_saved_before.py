"""Pricers that an earlier version saved are read, and go on as that version went on, price by price.

The files in format_5/ were written before policies had folders of their own, after 220 customers of seed 1; prices.json
has what that version quoted to the next 60.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hushprice import Pricer
from hushprice.numerics.jit import COMPILED

FOLDER = Path(__file__).parent / "format_5"
PRICES = json.loads((FOLDER / "prices.json").read_text())
LEARNED = 220


@pytest.mark.parametrize("name", PRICES)
def test_a_pricer_of_an_earlier_version_goes_on_to_the_last_digit(name: str) -> None:
    pricer = Pricer.load(FOLDER / f"{name}.pricer", simulation=True)
    random = np.random.default_rng(1)
    for _ in range(LEARNED):
        random.uniform(-1, 1, 2), random.random()
    prices = []
    for _ in PRICES[name]:
        quote = pricer.quote(random.uniform(-1, 1, 2))
        prices.append(quote.price)
        pricer.observe(quote.id, int(random.random() < 0.95 - 0.9 * quote.price))
    if COMPILED:
        assert prices == PRICES[name]
    else:  # plain Python rounds the last digit otherwise here and there
        np.testing.assert_allclose(prices, PRICES[name], rtol=1e-6)
