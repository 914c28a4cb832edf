"""Revenue against the holdout: means and standard errors as numpy has them, of both stores and of single quotes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.service.store.samples import PRODUCT, give, quote, tell

from hushprice.service.learning.operator_port import daily_of, revenue_of
from hushprice.service.store.protocol import LearnerStore
from hushprice.types import FloatArray

CEILING = 40.0


def sell(store: LearnerStore, count: int, holdout: bool, **more: Any) -> FloatArray:
    """Quotes at many prices, some bought, some of them two at once; what each brought."""
    random = np.random.default_rng(count)
    prices, demands = random.uniform(0.2, 0.9, count), random.integers(0, 3, count).astype(float)
    quotes = [quote(price=float(price), holdout=holdout, **more) for price in prices]
    give(store, *quotes)
    for each, demand in zip(quotes, demands, strict=True):
        tell(store, each.id, float(demand))
    return prices * demands * CEILING


def error(revenue: FloatArray) -> float:
    return float(revenue.std(ddof=1) / np.sqrt(revenue.size))


def test_standard_errors_are_those_of_the_quotes(learner: LearnerStore) -> None:
    personal, holdout = sell(learner, 40, False), sell(learner, 15, True)
    found = revenue_of(learner.figures(PRODUCT), CEILING)
    assert found.difference == pytest.approx(personal.mean() - holdout.mean())
    assert found.standard_error == pytest.approx(np.hypot(error(personal), error(holdout)))
    ((day, figures),) = learner.daily_figures(PRODUCT, 1)
    daily = daily_of(day, figures, CEILING)
    assert (daily.day, daily.quoted) == (day, 55)
    assert daily.personal_standard_error == pytest.approx(error(personal))
    assert daily.holdout_standard_error == pytest.approx(error(holdout))


def test_a_forgotten_customer_leaves_the_errors_too(learner: LearnerStore) -> None:
    personal = sell(learner, 12, False)
    sell(learner, 9, False, customer=b"c" * 32)
    learner.forget(b"c" * 32)
    daily = daily_of("", learner.figures(PRODUCT), CEILING)
    assert daily.personal_standard_error == pytest.approx(error(personal))


def test_too_few_quotes_have_no_standard_error(learner: LearnerStore) -> None:
    assert revenue_of(learner.figures(PRODUCT), CEILING) == revenue_of(learner.figures(PRODUCT), 1.0)
    personal = sell(learner, 5, False)
    alone = revenue_of(learner.figures(PRODUCT), CEILING)
    assert alone.personal_per_quote == pytest.approx(personal.mean())
    assert (alone.holdout_per_quote, alone.difference, alone.standard_error) == (None, None, None)
    sell(learner, 1, True)
    both = revenue_of(learner.figures(PRODUCT), CEILING)
    assert both.difference is not None
    assert both.standard_error is None
    assert daily_of("", learner.figures(PRODUCT), CEILING).holdout_standard_error is None
