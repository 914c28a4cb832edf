"""A fit held against a log: right fits pass, wrong ones do not, and a richer model is found where there is one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from tests.logs import tables
from tests.logs.drawn_logs import PRODUCT, SHOP, TRUE, currency, drawn, fit_of, log_of
from tests.logs.test_odd_logs import Parts

from hushprice.errors import InvalidInput
from hushprice.logs.calibration import Cells, names_of
from hushprice.logs.log_reader import LogReader
from hushprice.logs.model_check import check_model
from hushprice.logs.price_policy import common_price
from hushprice.logs.richer_model import extra_terms, richer_test
from hushprice.logs.rows import LogRows
from hushprice.product import Product
from hushprice.types import FloatArray


def test_a_right_fit_passes_and_a_wrong_level_or_response_does_not() -> None:
    log = log_of(drawn(20_000, np.random.default_rng(31), "even"))
    right = check_model(log, PRODUCT, fit_of())
    assert right.verdict.startswith("The model fits")
    assert right.label.startswith("EXACT")
    assert right.gap < 0.05
    level = check_model(log, PRODUCT, fit_of(TRUE + np.array([0.5, 0, 0, 0, 0, 0])))
    assert "believed demand is off by" in level.verdict
    assert "off by much" in level.verdict
    steep = check_model(log, PRODUCT, fit_of(TRUE + np.array([0, 0, 0, 0.6, 0, 0])))
    assert steep.response < 1e-6
    assert "reacts to prices otherwise" in steep.verdict


def test_without_attributes_everybody_is_the_segment() -> None:
    product = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.3, elasticity=1.0)
    rng = np.random.default_rng(41)
    z = rng.uniform(-1.0, 1.0, 20_000)
    model = common_price(product).model
    bought = (rng.random(z.size) < expit(model.level - model.response * z)).astype(np.float64)
    log = log_of(LogRows(np.zeros((z.size, 0)), z, bought, None, None, 0))
    right = check_model(log, product, common_price(product))
    assert right.verdict.startswith("The model fits")
    (everybody,) = right.segments
    assert everybody.name == "everybody"
    assert everybody.observed == pytest.approx(bought[z <= 0.0].mean() - bought[z > 0.0].mean())
    steep = replace(product, elasticity=2.0)
    assert "reacts to prices otherwise" in check_model(log, steep, common_price(steep)).verdict


def test_what_a_log_cannot_show_is_not_held_against_a_fit() -> None:
    """One price: no segment can be compared. Nothing bought: there is no share of it to be off by."""
    rows = drawn(5000, np.random.default_rng(42), "even")
    one = check_model(log_of(rows._replace(prices=np.zeros(5000))), PRODUCT, fit_of())
    assert (one.segments, one.response) == ((), 1.0)
    assert "segment" not in one.verdict
    none = check_model(log_of(rows._replace(demands=np.zeros(5000))), PRODUCT, fit_of())
    assert "nothing was bought" in none.verdict
    assert "inf" not in none.verdict


def test_bins_and_segments_are_those_of_a_loop() -> None:
    rows = drawn(3000, np.random.default_rng(32), "even")
    fit = fit_of()
    found = check_model(log_of(rows), PRODUCT, fit)
    believed = fit.demand(rows.contexts, rows.prices)
    for each in found.bins:
        inside = [i for i in range(3000) if each.low <= believed[i] < each.high]
        assert len(inside) == each.rows
        assert each.believed == pytest.approx(sum(believed[i] for i in inside) / len(inside))
        assert each.observed == pytest.approx(sum(rows.demands[i] for i in inside) / len(inside))
    (segment,) = [each for each in found.segments if each.name == "x2 above 0"]
    low = [i for i in range(3000) if rows.contexts[i, 1] > 0.0 and rows.prices[i] <= 0.0]
    high = [i for i in range(3000) if rows.contexts[i, 1] > 0.0 and rows.prices[i] > 0.0]
    assert segment.observed == pytest.approx(rows.demands[low].mean() - rows.demands[high].mean())
    assert segment.rows == len(low) + len(high)
    assert Cells(fit, 2).count == 18


def test_the_richer_test_is_quiet_under_the_model() -> None:
    """40 logs within the model: chances below 0.05 come 8 or more times of 40 once in 1,500 tests."""
    chances = [
        richer_test(fit_of().model, LogReader(log_of(drawn(1500, np.random.default_rng((seed, 33)), "even")))).chance
        for seed in range(40)
    ]
    assert sum(chance < 0.05 for chance in chances) < 8
    assert sum(chance > 0.5 for chance in chances) > 8


def test_the_richer_test_finds_a_square_and_a_product() -> None:
    class Bent:
        def __init__(self, theta: FloatArray) -> None:
            self.theta = theta

        def probabilities(self, start: int, contexts: FloatArray, prices: FloatArray) -> FloatArray:
            plain = SHOP.probabilities(start, contexts, prices)
            z = (prices - 25.0) / 10.0
            return np.asarray(expit(np.log(plain / (1.0 - plain)) + extra_terms(contexts, z) @ self.theta))

    for place in (0, 5):
        theta = np.zeros(6)
        theta[place] = 1.2
        log = log_of(drawn(6000, np.random.default_rng(34), "even", Bent(theta)))
        assert richer_test(fit_of().model, LogReader(log)).chance < 1e-6
    assert "squares and products" in check_model(log, PRODUCT, fit_of()).verdict


def test_a_squared_yes_or_no_is_no_new_term() -> None:
    rows = drawn(2000, np.random.default_rng(35), "even")
    flags = np.sign(rows.contexts)
    bought = np.random.default_rng(36).random(2000) < SHOP.probabilities(0, flags, currency(rows.prices))
    found = richer_test(fit_of().model, LogReader(log_of(rows._replace(contexts=flags, demands=bought.astype(float)))))
    assert found.terms == 4  # z^2, z^2 x1, z^2 x2, x1 x2
    assert math.isfinite(found.statistic)


def test_a_log_with_too_few_rows_cannot_tell() -> None:
    found = check_model(log_of(drawn(12, np.random.default_rng(37))), PRODUCT, fit_of())
    assert found.bins == ()
    assert found.verdict.startswith("This log cannot tell")
    with pytest.raises(InvalidInput, match="the log has no row"):
        check_model(Parts(), PRODUCT, fit_of())


def test_attributes_are_called_by_the_schemas_names() -> None:
    assert tables.PRODUCT.schema is not None
    assert names_of(tables.PRODUCT) == list(tables.PRODUCT.schema.names)
    assert names_of(PRODUCT) == ["x1", "x2"]
