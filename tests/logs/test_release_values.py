"""Charged answers about a log: what noise they get, what they cost, and that they are right within their intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.logs.drawn_logs import FEW, PRODUCT, TRUE, currency, drawn, fit_of, log_of, worth

from hushprice.errors import InvalidInput
from hushprice.logs.model_check import release_check
from hushprice.logs.private_sums import SumPrice, open_sums, release_sum
from hushprice.logs.release_values import release_values
from hushprice.logs.rows import LogRows
from hushprice.mechanisms.whole_numbers import UNIT_BITS
from hushprice.noise import System
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import LogSums, grid_of
from hushprice.research.audits.log_sums import NoNoise

PRICES = currency(np.array(FEW)).tolist()


class Seeded:
    """Rounded Gaussians of a seed, so that a test says the same every time."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def integers(self, scale: float, count: int) -> list[int]:
        return [round(each) for each in self._rng.normal(0.0, scale, count).tolist()]


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("few", {"prices": PRICES}),
        ("few", {"prices": PRICES, "randomized": True}),
        ("even", {}),
        ("even", {"randomized": True, "bandwidth": 1.5}),
    ],
)
def test_intervals_count_the_noise(kind: Any, given: dict[str, Any]) -> None:
    """40 logs. Intervals are wide on purpose: at 95 %, 33 or fewer of 40 come by chance once in 1,000 tests."""
    fit = fit_of()
    truth = worth(fit.among(FEW) if kind == "few" else fit)
    hits = np.zeros(3)
    for seed in range(40):
        rows = drawn(4000, np.random.default_rng((seed, 21)), kind)
        if given.get("randomized"):  # prices without a look at the customer
            rng = np.random.default_rng((seed, 22))
            prices = rng.choice(FEW, 4000) if kind == "few" else rng.uniform(-1.0, 1.0, 4000)
            from tests.logs.drawn_logs import SHOP

            bought = rng.random(4000) < SHOP.probabilities(0, rows.contexts, currency(prices))
            rows = LogRows(rows.contexts, prices, bought.astype(float), None, None, 0)
        found = release_values(log_of(rows), PRODUCT, fit, epsilon=2.0, source=Seeded(seed), **given)
        for place, one in enumerate((found.inverse_propensity, found.self_normalized, found.doubly_robust)):
            assert one is not None
            hits[place] += one.low <= truth <= one.high
        assert found.ledger.proven is not None
        assert found.ledger.proven.epsilon <= 2.0
    assert (hits > 33).all(), hits


def test_what_is_released_is_the_sum_with_the_noise_that_was_paid_for() -> None:
    rows = LogRows(np.zeros((3, 0)), np.zeros(3), np.array([0.25, 0.5, 1.0]), None, None, 0)
    ledger = open_sums(EpsilonDelta(1.0, 1e-6), (SumPrice(2, 0.25), SumPrice(1, 0.75)), rows=3)
    events = [entry.event for entry in ledger.allowance or ()]
    assert all(isinstance(event, LogSums) for event in events)
    assert events[0].noise / events[1].noise == pytest.approx(np.sqrt(3.0))  # type: ignore[union-attr]
    assert ledger.proven is not None
    assert 0.999999 < ledger.proven.epsilon <= 1.0

    class Counted(NoNoise):
        asked: tuple[float, int] | None = None

        def integers(self, scale: float, count: int) -> list[int]:
            self.asked = (scale, count)
            return [5] * count

    source = Counted()

    def add(block: LogRows) -> Any:
        return np.column_stack([block.demands, 2.0 * block.demands]) / 4.0

    made, after = release_sum(log_of(rows), add, ledger, 0, source)
    noise = events[0].noise  # type: ignore[union-attr]
    assert source.asked == (noise / grid_of(noise), 2)
    step = 5.0 * grid_of(noise)
    assert made == pytest.approx(np.array([0.4375, 0.875]) + step, abs=2.0**-UNIT_BITS * 4.0 + grid_of(noise))
    assert after.count(events[0]) == 1
    assert after.count(events[1]) == 0


def test_live_noise_is_the_systems() -> None:
    rows = drawn(300, np.random.default_rng(1))
    found = [release_values(log_of(rows), PRODUCT, fit_of(), epsilon=1.0, prices=PRICES).rows for _ in range(2)]
    assert found[0] != found[1]
    assert System.secure


def test_a_customers_rows_beyond_the_bound_do_not_count() -> None:
    rows = drawn(400, np.random.default_rng(2))
    one = rows._replace(customers=np.zeros(400, dtype=np.int64))
    given: dict[str, Any] = {"epsilon": 100.0, "prices": PRICES, "source": NoNoise()}
    assert release_values(log_of(one), PRODUCT, fit_of(), rows_per_customer=3, **given).rows == pytest.approx(3.0)
    assert release_values(log_of(rows), PRODUCT, fit_of(), **given).rows == pytest.approx(400.0)


def test_a_row_whose_propensity_cannot_be_read_has_no_weight_and_is_not_told_of() -> None:
    rows = drawn(200, np.random.default_rng(3))
    assert rows.propensities is not None
    bad = rows._replace(propensities=np.where(np.arange(200) < 100, np.nan, rows.propensities))
    given: dict[str, Any] = {"epsilon": 100.0, "prices": PRICES, "source": NoNoise()}
    whole = release_values(log_of(rows), PRODUCT, fit_of(), **given)
    half = release_values(log_of(bad), PRODUCT, fit_of(), **given)
    assert half.rows == whole.rows
    assert half.inverse_propensity.value < 0.8 * whole.inverse_propensity.value


def test_a_check_with_noise_finds_what_is_wrong_and_passes_what_is_right() -> None:
    """Seeded; at a chance below 0.01 for a finding, both answers are those expected of these logs."""
    log = log_of(drawn(30_000, np.random.default_rng(4), "even"))
    right = release_check(log, PRODUCT, fit_of(), epsilon=1.0, source=Seeded(1))
    assert right.verdict.startswith("The model fits")
    assert right.ledger is not None
    wrong = release_check(log, PRODUCT, fit_of(TRUE + np.array([0.8, 0, 0, 0, 0, 0])), epsilon=1.0, source=Seeded(1))
    assert "believed demand is off" in wrong.verdict
    assert wrong.richer is None
    assert wrong.label.startswith("RELEASE")


def test_what_cannot_be_released_is_refused() -> None:
    log = log_of(drawn(50, np.random.default_rng(5))._replace(propensities=None))
    with pytest.raises(InvalidInput, match="keeps no propensities"):
        release_values(log, PRODUCT, fit_of(), epsilon=1.0, prices=PRICES)
    with pytest.raises(InvalidInput, match="prices must be named"):
        release_values(log, PRODUCT, fit_of(), epsilon=1.0, propensity="probability")
    with pytest.raises(InvalidInput, match="most_weight"):
        release_values(log, PRODUCT, fit_of(), epsilon=1.0, prices=PRICES, most_weight=0.5)
    with pytest.raises(InvalidInput, match="epsilon"):
        release_values(log, PRODUCT, fit_of(), epsilon=0.0, prices=PRICES)
    with pytest.raises(InvalidInput, match="out of reach"):
        open_sums(EpsilonDelta(1e-9, 1e-12), (SumPrice(1),), rows=1)
    ledger = open_sums(EpsilonDelta(1.0, 1e-6), (SumPrice(2),), rows=1)
    with pytest.raises(InvalidInput, match="a row must add 2 numbers"):
        release_sum(log, lambda block: np.ones((50, 1)), ledger, 0, NoNoise())


def test_too_few_matched_rows_for_the_noise_are_said() -> None:
    log = log_of(drawn(60, np.random.default_rng(6)))
    found = release_values(log, PRODUCT, fit_of(), epsilon=0.1, prices=PRICES, source=NoNoise())
    assert found.self_normalized is None
    assert "cannot answer at this epsilon" in found.verdict
