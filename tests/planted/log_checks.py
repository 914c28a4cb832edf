"""What must hold of charged answers about a log."""

from __future__ import annotations

import numpy as np
import pytest

from hushprice.errors import BudgetExhausted
from hushprice.logs import private_sums
from hushprice.logs.price_policy import PricePolicy
from hushprice.logs.private_sums import SumPrice, open_sums, release_sum
from hushprice.logs.rows import LogRows
from hushprice.policies.cautious.pricing.shop_model import model_of
from hushprice.privacy.budget import EpsilonDelta
from hushprice.product import Product
from hushprice.research.audits.log_sums import MemoryLog, NoNoise, audit_log_sums


def log_sums_keep_to_what_is_charged() -> None:
    """Neighbours at corners and far out of bounds, with more rows than count; exact, no chance is involved."""
    private_sums._calibrated.cache_clear()  # a planted sensitivity must be asked, and not be remembered
    try:
        found = audit_log_sums()
    finally:
        private_sums._calibrated.cache_clear()
    for each in found:
        assert each.holds, each
    assert max(each.moved / each.charged for each in found) > 0.99  # counts of prices reach the bound


def a_sum_is_paid_for_once() -> None:
    """A second release is refused before anything is drawn."""
    rows = LogRows(np.zeros((1, 0)), np.zeros(1), np.ones(1), None, None, 0)
    ledger = open_sums(EpsilonDelta(1.0, 1e-6), (SumPrice(1),), rows=1)
    _, spent = release_sum(MemoryLog(rows), lambda block: np.ones((1, 1)), ledger, 0, NoNoise())

    class Forbidden(NoNoise):
        def integers(self, scale: float, count: int) -> list[int]:
            raise AssertionError("noise was drawn for a sum that was not paid for")

    with pytest.raises(BudgetExhausted):
        release_sum(MemoryLog(rows), lambda block: np.ones((1, 1)), spent, 0, Forbidden())


def a_row_adds_the_same_whoever_comes_with_it() -> None:
    """Bit for bit."""
    product = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.3, contexts=19)
    rng = np.random.default_rng(1)
    fit = PricePolicy(label="fit", model=model_of(product), theta=rng.normal(size=40))
    contexts, prices = rng.uniform(-1.0, 1.0, (301, 19)), rng.uniform(-1.0, 1.0, 301)
    together = np.stack([fit.prices(contexts), fit.demand(contexts, prices)])
    for count in (1, 2, 3, 7, 150):
        alone = np.stack([fit.prices(contexts[:count]), fit.demand(contexts[:count], prices[:count])])
        assert np.array_equal(alone, together[:, :count])
