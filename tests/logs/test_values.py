"""Estimates of what prices would have earned: equal to a slow reference, and right about simulated shops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.logs.drawn_logs import FEW, PRODUCT, TRUE, chances_of, drawn, fit_of, log_of, worth

from hushprice.errors import InvalidInput
from hushprice.logs.buckets import BUCKETS, folds_of
from hushprice.logs.crossed_demand import fit_crossed
from hushprice.logs.evaluation import evaluate_log
from hushprice.logs.log_reader import LogReader
from hushprice.logs.price_policy import common_price
from hushprice.logs.propensities import fit_choices, fit_spread
from hushprice.logs.rows import LogRows
from hushprice.logs.smoothing import kernel_weights
from hushprice.logs.survey import survey
from hushprice.product import Product
from hushprice.shops.worlds import LogNormal


def reference(rows: LogRows, thetas: Any, bandwidth: float | None) -> dict[str, float]:
    """Another writing of the same estimators: a row at a time, integrals as sums, prices by trying them all."""
    fit, grid = fit_of(), np.linspace(-1.0, 1.0, 4001)
    total: dict[str, float] = dict.fromkeys(("n", "w", "wr", "robust", "logged", "ww"), 0.0)
    for i in range(len(rows.prices)):
        x, p, y = rows.contexts[i], float(rows.prices[i]), float(rows.demands[i])

        def demand(theta: Any, z: float, x: Any = x) -> float:
            level = PRODUCT.level + theta[0] + theta[1] * x[0] + theta[2] * x[1]
            steep = PRODUCT.response + theta[3] + theta[4] * x[0] + theta[5] * x[1]
            return 1.0 / (1.0 + math.exp(-(level - steep * z)))

        tried = FEW if bandwidth is None else grid
        earned = [(20.0 + 10.0 * z) * demand(TRUE, z) for z in tried]
        wanted = float(tried[int(np.argmax(earned))])
        if bandwidth is None:
            weight = float(wanted == p) / float(rows.propensities[i])  # type: ignore[index]
        else:
            wanted = float(fit.prices(rows.contexts[i : i + 1])[0])  # the grid is too coarse for a kernel
            assert abs(wanted - float(tried[int(np.argmax(earned))])) < 1e-3
            weight = slow_kernel(p, wanted, bandwidth) / (float(rows.propensities[i]) * 10.0)  # type: ignore[index]
        own = thetas[int(folds_of(rows)[i])]
        margin = 20.0 + 10.0 * wanted
        total["n"] += 1.0
        total["w"] += weight
        total["ww"] += weight * weight
        total["wr"] += weight * margin * y
        total["robust"] += margin * (demand(own, wanted) + weight * (y - demand(own, p)))
        total["logged"] += (20.0 + 10.0 * p) * y
    return total


def slow_kernel(price: float, wanted: float, bandwidth: float) -> float:
    """The boundary kernel by its definition: a line times Epanechnikov with total 1 and mean 0 on the range."""
    u = np.linspace(-1.0, 1.0, 20001)
    inside = (wanted + bandwidth * u >= -1.0) & (wanted + bandwidth * u <= 1.0)
    shape = np.where(inside, 0.75 * (1.0 - u * u), 0.0) * (u[1] - u[0])
    moments = np.array([[shape.sum(), (shape * u).sum()], [(shape * u).sum(), (shape * u * u).sum()]])
    a, b = np.linalg.solve(moments, [1.0, 0.0])
    at = (price - wanted) / bandwidth
    return float(max(0.75 * (1.0 - at * at), 0.0) * (a + b * at) / bandwidth)


@pytest.mark.beyond_coverage
@pytest.mark.parametrize(("prices", "bandwidth"), [("few", None), ("even", 0.3)])
def test_estimates_equal_a_slow_reference(prices: Any, bandwidth: float | None) -> None:
    rows = drawn(300, np.random.default_rng(3), prices)
    log, fit = log_of(*(LogRows(*(each[part] for each in rows[:3]), None, rows[4][part], part.start)  # type: ignore[index]
                        for part in (slice(0, 120), slice(120, 300)))), fit_of()  # fmt: skip
    found = evaluate_log(log, PRODUCT, fit, bandwidth=None if bandwidth is None else bandwidth * 10.0)
    slow = reference(rows, fit_crossed(fit.model, LogReader(log)).thetas, bandwidth)
    assert found.inverse_propensity is not None
    assert found.inverse_propensity.value == pytest.approx(slow["wr"] / slow["n"], rel=1e-4)
    assert found.self_normalized is not None
    assert found.self_normalized.value == pytest.approx(slow["wr"] / slow["w"], rel=1e-4)
    assert found.doubly_robust is not None
    assert found.doubly_robust.value == pytest.approx(slow["robust"] / slow["n"], rel=1e-4)
    assert found.logged is not None
    assert found.logged.value == pytest.approx(slow["logged"] / slow["n"])
    assert found.overlap.effective == pytest.approx(slow["w"] ** 2 / slow["ww"], rel=1e-4)


def test_a_kernel_has_total_1_and_mean_0_at_the_ends_too() -> None:
    prices = np.linspace(-1.0, 1.0, 200_001)
    for wanted in (-1.0, -0.95, 0.0, 0.8, 1.0):
        weights = kernel_weights(prices, np.full(prices.size, wanted), 0.3, (-1.0, 1.0)) * 1e-5
        assert weights.sum() == pytest.approx(1.0, abs=1e-4)
        assert (weights * (prices - wanted)).sum() == pytest.approx(0.0, abs=1e-4)
        positive = kernel_weights(prices, np.full(prices.size, wanted), 0.3, (-1.0, 1.0), positive=True) * 1e-5
        assert positive.sum() == pytest.approx(1.0, abs=1e-4)
        assert (positive >= 0.0).all()
    assert kernel_weights(np.zeros(1), np.array([1.2]), 2.0, (-1.0, 1.0)) == 0.0  # nobody knows


def test_errors_by_bucket_equal_errors_by_customer() -> None:
    """Rows of one customer are copies of each other: as many customers as there were rows, and the same error."""
    once = drawn(900, np.random.default_rng(4))
    thrice = LogRows(*(np.repeat(each, 3, axis=0) for each in once[:3]), np.repeat(np.arange(900), 3), None, 0)  # type: ignore[arg-type]
    single = LogRows(*once[:3], np.arange(900), None, 0)
    errors = [evaluate_log(log_of(rows), PRODUCT, common_price(PRODUCT)).logged for rows in (single, thrice)]
    assert errors[0] is not None
    assert errors[1] is not None
    assert errors[1].error == pytest.approx(errors[0].error, rel=1e-9)
    plain = (20.0 + 10.0 * once.prices) * once.demands
    assert errors[0].error == pytest.approx(plain.std() / 30.0, rel=0.1)  # two customers may share a bucket
    assert BUCKETS == 4096


@pytest.mark.parametrize(
    ("prices", "propensity", "names"),
    [
        ("few", "auto", ("inverse_propensity", "self_normalized", "doubly_robust", "replay")),
        ("few", "estimate", ("inverse_propensity", "self_normalized", "doubly_robust", "replay")),
        ("even", "auto", ("inverse_propensity", "self_normalized", "doubly_robust")),
        ("even", "estimate", ("self_normalized", "doubly_robust")),
    ],
)
def test_intervals_cover_what_is_true(prices: Any, propensity: Any, names: tuple[str, ...]) -> None:
    """60 logs of a shop outside the model. At 95 %, 48 or fewer hits of 60 come by chance once in 10,000 tests."""
    world, fit = LogNormal(conversion=0.2, deviation=0.5, reference_price=25.0, attributes=(0.4, -0.3)), fit_of()
    held = fit.among(FEW) if prices == "few" else fit
    truth, hits = worth(held, world), dict.fromkeys(names, 0)
    for seed in range(60):
        log = log_of(drawn(1500, np.random.default_rng((seed, 5)), prices, world))
        found = evaluate_log(log, PRODUCT, fit, propensity=propensity)
        assert found.answerable
        for name in names:
            one = getattr(found, name)
            hits[name] += one.low <= truth <= one.high
    assert all(count > 48 for count in hits.values()), hits


def test_a_price_that_nobody_was_charged_cannot_be_answered_for() -> None:
    rows = drawn(2000, np.random.default_rng(6))
    found = evaluate_log(log_of(rows), PRODUCT, common_price(PRODUCT, 30.0))  # between two of the few prices
    assert not found.answerable
    assert found.overlap.weighted == 0
    assert found.self_normalized is None
    assert "nobody in it was charged a price that the policy wants" in found.verdict
    narrow = rows._replace(prices=0.3 * np.sin(np.arange(2000.0)), propensities=None)
    found = evaluate_log(log_of(narrow), PRODUCT, fit_of(TRUE + np.array([0, 0, 0, 0.3, 1.5, 0])))
    assert not found.answerable
    assert "cannot answer for" in found.verdict
    rare = rows._replace(propensities=np.where(rows.prices == 0.0, np.where(np.arange(2000) < 30, 1e-4, 0.2), 0.2))
    found = evaluate_log(log_of(rare), PRODUCT, common_price(PRODUCT))
    assert "of 2,000 rows with equal weight would" in found.verdict


def test_prices_known_by_probability_that_differ_between_customers_are_matched_nearby() -> None:
    """As the service keeps them: a coin around a middle of the customer's own. Sums alone are not offered."""
    rng = np.random.default_rng(7)
    rows = drawn(4000, rng, "even")
    middle = fit_of().prices(rows.contexts)
    prices = np.clip(middle + np.where(rng.random(4000) < 0.5, 0.02, -0.02), -1.0, 1.0)
    found = evaluate_log(
        log_of(rows._replace(prices=prices, propensities=np.full(4000, 0.5))),
        PRODUCT,
        fit_of(),
        propensity="probability",
        bandwidth=0.5,
    )
    assert found.way == "near"
    assert (found.inverse_propensity, found.doubly_robust, found.replay) == (None, None, None)
    assert found.self_normalized is not None
    assert found.logged is not None
    assert found.self_normalized.value == pytest.approx(found.logged.value, rel=0.02)
    away = np.where(np.arange(4000) % 4 == 0, prices, 0.5 * prices - 0.5)
    found = evaluate_log(
        log_of(rows._replace(prices=away, propensities=np.full(4000, 0.5))),
        PRODUCT,
        fit_of(),
        propensity="probability",
        bandwidth=0.3,
    )
    assert not found.answerable
    assert "of its customers or more: no price of theirs is near" in found.verdict


def test_a_replay_of_even_chances_is_the_mean_of_matched_rows() -> None:
    rows = drawn(3000, np.random.default_rng(8))
    even = rows._replace(propensities=np.full(3000, 0.2))
    found = evaluate_log(log_of(even), PRODUCT, common_price(PRODUCT))
    matched = rows.demands[rows.prices == 0.0] * 20.0
    assert found.replay is not None
    assert found.replay.value == pytest.approx(matched.mean())
    assert found.replayed == matched.size == found.overlap.weighted
    uneven = evaluate_log(log_of(rows), PRODUCT, common_price(PRODUCT))
    assert uneven.replayed < matched.size  # thinned to equal chances


def test_estimated_propensities_are_the_true_ones_within_error() -> None:
    rng = np.random.default_rng(9)
    few, moved = (drawn(20_000, rng, kind)._replace(propensities=None) for kind in ("few", "moved"))
    made = fit_choices(survey(LogReader(log_of(few)), 2), LogReader(log_of(few)))
    assert np.abs(made.chances(few.contexts) - chances_of(few.contexts)).max() < 0.03
    spread = fit_spread(survey(LogReader(log_of(moved)), 2), LogReader(log_of(moved)))
    assert np.median(spread.of(moved)) == pytest.approx(1.0 / 1.2, rel=0.05)
    grid = np.linspace(-3.0, 3.0, 60_001)
    inside = np.abs(grid) <= 0.59
    whole = spread.at(np.zeros((grid.size, 2)), grid)[inside].sum() * (grid[1] - grid[0])
    assert whole == pytest.approx(1.18 / 1.2, rel=0.02)


@pytest.mark.beyond_coverage
def test_multinomial_regression_equals_a_general_minimizer() -> None:
    from scipy.optimize import minimize

    rows = drawn(400, np.random.default_rng(10))
    found = survey(LogReader(log_of(rows)), 2)
    made = fit_choices(found, LogReader(log_of(rows)))
    which = np.searchsorted(np.array(FEW), rows.prices)

    def loss(flat: Any) -> float:
        weights = np.column_stack([np.zeros(3), flat.reshape(3, 4)])
        value = 0.5 * (flat.reshape(3, 4)[1:] ** 2).sum() + 0.5e-6 * (flat.reshape(3, 4)[0] ** 2).sum()
        for x, k in zip(rows.contexts, which, strict=True):
            scores = np.array([1.0, *x]) @ weights
            value -= scores[k] - math.log(np.exp(scores).sum())
        return float(value)

    other = minimize(loss, np.zeros(12), method="BFGS")
    assert made.weights[:, 1:] == pytest.approx(other.x.reshape(3, 4), abs=2e-3)


@pytest.mark.parametrize("bad", [0.0, -0.2, 1.5, float("nan"), float("inf")])
def test_a_propensity_that_is_none_is_refused_by_its_row(bad: float) -> None:
    rows = drawn(50, np.random.default_rng(11))
    assert rows.propensities is not None
    rows.propensities[7] = bad
    with pytest.raises(InvalidInput, match="propensity in row 1008 must be a probability above 0 and at most 1, got"):
        evaluate_log(log_of(rows._replace(first=1000)), PRODUCT, common_price(PRODUCT))


def test_what_cannot_be_asked_is_refused() -> None:
    log, today = log_of(drawn(50, np.random.default_rng(12))), common_price(PRODUCT)
    with pytest.raises(InvalidInput, match="the log has no row"):
        evaluate_log(log_of(), PRODUCT, today)
    with pytest.raises(InvalidInput, match="propensity must be one of"):
        evaluate_log(log, PRODUCT, today, propensity="odds")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="level"):
        evaluate_log(log, PRODUCT, today, level=1.0)
    with pytest.raises(InvalidInput, match="bandwidth"):
        evaluate_log(log, PRODUCT, today, bandwidth=0.0)
    with pytest.raises(InvalidInput, match="propensity is missing from row 1 on"):
        evaluate_log(log_of(drawn(9, np.random.default_rng(1))._replace(propensities=None)), PRODUCT, today,
                     propensity="probability")  # fmt: skip
    with pytest.raises(InvalidInput, match="price must lie in"):
        common_price(PRODUCT, 36.0)


def test_prices_of_a_product_with_steps_are_on_its_ladder() -> None:
    ladder = Product(floor=15.0, ceiling=35.0, reference_price=25.0, conversion=0.2, contexts=2, step=2.0, ending=1.0)
    from hushprice.logs.price_policy import PricePolicy
    from hushprice.policies.cautious.pricing.shop_model import model_of

    fit = PricePolicy(label="fit", model=model_of(ladder), theta=TRUE)
    prices = fit.prices(np.random.default_rng(13).uniform(-1.0, 1.0, (200, 2))) * ladder.reach + 25.0
    assert np.abs((prices - 1.0) / 2.0 - np.round((prices - 1.0) / 2.0)).max() < 1e-9
    assert 15.0 - 1e-9 <= prices.min() < prices.max() <= 35.0 + 1e-9
