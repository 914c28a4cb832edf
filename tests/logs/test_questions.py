"""What a person may mean by a policy, and that tables and values give the same answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars
import pytest
from tests.logs.drawn_logs import PRODUCT, TRUE, currency, drawn, fit_of, log_of

import hushprice
from hushprice.errors import InvalidInput
from hushprice.logs.evaluation import evaluate_log
from hushprice.logs.questions import policy_of
from hushprice.prior import Prior
from hushprice.privacy.budget import EpsilonDelta
from hushprice.product import Product

PRIOR = Prior(
    theta=tuple(TRUE.tolist()),
    covariance=tuple(map(tuple, (0.01 * np.eye(6)).tolist())),
    level=PRODUCT.level,
    response=PRODUCT.response,
    reference_price=25.0,
    reach=10.0,
    claimed=EpsilonDelta(1.0, 1e-6),
    fit="0" * 64,
)


def test_a_policy_is_a_fit_a_product_a_price_or_today() -> None:
    contexts = np.random.default_rng(51).uniform(-1.0, 1.0, (20, 2))
    assert policy_of(PRIOR, PRODUCT).prices(contexts) == pytest.approx(fit_of().prices(contexts))
    assert (policy_of("today", PRODUCT).prices(contexts) == 0.0).all()
    assert policy_of(30, PRODUCT).prices(contexts) == pytest.approx(0.5)
    assert policy_of("27.5", PRODUCT).prices(contexts) == pytest.approx(0.25)
    dearer = Product(floor=15.0, ceiling=35.0, reference_price=28.0, conversion=0.2, contexts=2)
    assert policy_of(dearer, PRODUCT).prices(contexts) == pytest.approx(0.3)
    with_fit = Product(
        floor=15.0, ceiling=35.0, reference_price=25.0, conversion=0.2, contexts=2, unit_cost=5.0, prior=PRIOR
    )
    assert policy_of(with_fit, PRODUCT).prices(contexts) == pytest.approx(fit_of().prices(contexts))


def test_a_fit_means_the_same_demand_for_a_product_with_other_numbers() -> None:
    moved = Product(floor=10.0, ceiling=35.0, reference_price=24.0, conversion=0.3, contexts=2, unit_cost=5.0)
    contexts, prices = np.random.default_rng(52).uniform(-1.0, 1.0, (20, 2)), np.linspace(16.0, 34.0, 20)
    here, there = fit_of(), policy_of(PRIOR, moved)
    assert there.demand(contexts, (prices - 24.0) / moved.reach) == pytest.approx(
        here.demand(contexts, (prices - 25.0) / 10.0)
    )


@pytest.mark.parametrize("given", ["dear", True, Path("fit.yaml")])
def test_what_is_no_policy_is_refused(given: object) -> None:
    with pytest.raises(InvalidInput, match=r"policy must be a fit\.json"):
        policy_of(given, PRODUCT)  # type: ignore[arg-type]


def test_a_fit_of_other_attributes_is_refused() -> None:
    other = Product(floor=15.0, ceiling=35.0, reference_price=25.0, conversion=0.2, contexts=3)
    with pytest.raises(InvalidInput, match="the fit is of another product"):
        policy_of(PRIOR, other)


def test_a_table_gives_the_same_answer_as_its_rows() -> None:
    rows = drawn(800, np.random.default_rng(53))
    table = polars.DataFrame(
        {
            "price": currency(rows.prices),
            "bought": rows.demands > 0.0,
            "x1": rows.contexts[:, 0],
            "x2": rows.contexts[:, 1],
            "propensity": rows.propensities,
        }
    )
    found = hushprice.evaluate(table, product=PRODUCT, policy=PRIOR)
    plain = evaluate_log(log_of(rows), PRODUCT, fit_of())
    assert found.doubly_robust is not None
    assert plain.doubly_robust is not None
    assert found.doubly_robust.value == pytest.approx(plain.doubly_robust.value, rel=1e-6)
    assert hushprice.check_fit(table, PRIOR, product=PRODUCT).bins
