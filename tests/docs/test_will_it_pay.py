"""The page for whoever sets prices says what the code does, and its table is of the shape that its program prints."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from hushprice.policies.cautious.pricing import change, lessons, planning

ROOT = Path(__file__).resolve().parents[2]
VISITORS = runpy.run_path(str(ROOT / "benchmarks" / "shops" / "visitors.py"))


@pytest.fixture(scope="module")
def page() -> str:
    return (ROOT / "docs" / "guide" / "will_it_pay.md").read_text()


def test_the_limits_on_risk_are_those_of_the_guard(page):
    text = " ".join(page.split())
    assert (lessons.LIKELY, lessons.RARE) == (0.1, 0.01)  # "9 times in 10", "99 times in 100"
    assert f"**9 times in 10** no more than {lessons.LIKELY_SHARE:g} times `risk`" in text
    assert f"**99 times in 100** no more than {lessons.RARE_SHARE:g} times `risk`" in text
    assert f"no more than {planning._CHANGED_SHARE:g} times `risk` would be lost;" in text
    assert f"no more than {planning._RIGHT_SHARE:g} times `risk`, until releases speak" in text
    assert f"against it by {planning._PLAUSIBLE:g} standard deviations" in text
    assert f"mind prices {change._TIMES:g} times as much, or as little" in text
    assert f"Until {lessons.PROMISED:,} visitors have come" in text


def test_the_table_is_what_its_program_prints(page):
    cell = VISITORS["Cell"](1.0, 0.0, 1.0)
    rows = [
        VISITORS["Row"](conversion, truth, 1.0, 1.0, (cell,) * len(VISITORS["VISITORS"]))
        for conversion in VISITORS["CONVERSIONS"]
        for truth in VISITORS["TRUTHS"]
    ]
    expected = VISITORS["table"](rows).splitlines()
    shown = page.partition(VISITORS["MARK"])[2].partition("\n\n")[0].splitlines()
    assert shown[:2] == expected[:2]
    assert [line.split("|")[1:3] for line in shown] == [line.split("|")[1:3] for line in expected]
    assert f"Means of {({4: 'four'})[VISITORS['TRIALS']]} runs" in page


def test_what_was_possible_is_found_for_demand_with_a_known_best_price():
    """One kind of customer, logit: the best price solves Lerner's condition, and personal prices are that one."""
    product = VISITORS["load_product"](VISITORS["SHOP"])
    world = VISITORS["Logit"](
        reference_price=product.reference_price,
        conversion=product.conversion,
        elasticity=product.reference_price / (product.reference_price - product.unit_cost),
        attributes=(0.0,) * product.contexts,
    )
    single, personal = VISITORS["possible"](product, world)
    assert single == pytest.approx(1.0, abs=1e-9)  # today's price is best, and on the grid
    assert personal == pytest.approx(single, abs=1e-9)
