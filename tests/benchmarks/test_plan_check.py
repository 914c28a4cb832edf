"""A small version of benchmarks/shops/plan_check.py: a plan in a fitted logit agrees with simulation in the truth."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benchmarks.shops.plan_check import PlanCheck, Truth, check, declared, truths

from hushprice.shops.worlds import LogNormal, Probit

PROBIT = Truth(Probit(conversion=0.5, reference_price=25.0, steepness=4.0), 0)
PAID = Truth(LogNormal(conversion=0.4, reference_price=25.0, deviation=0.35), 0, floor=10.0, ceiling=50.0)


def test_the_plan_agrees_with_simulation_in_another_family() -> None:
    # The gain is near 0.27; the difference has a standard error of 0.015, a third of what is allowed.
    found = check(PAID, visitors_per_day=1000, days=5, trials=4, workers=1)
    assert found.agrees, found


def test_what_a_shop_declares_is_what_its_past_shows() -> None:
    product, fitted = declared(PROBIT, 50_000, 1)
    assert product.conversion == pytest.approx(0.5, abs=0.02)
    low, high = product.elasticity  # type: ignore[misc]
    # Of a probit at today's price: steepness x density / chance.
    assert low < 4.0 * 0.3989 / 0.5 < high
    assert fitted.rows.shape == (50_000, 0)


def test_disagreement_is_seen() -> None:
    assert PlanCheck(0.10, 0.12, 0.0).agrees
    assert PlanCheck(0.002, 0.011, 0.0).agrees
    assert not PlanCheck(0.09, 0.12, 0.0).agrees
    assert not PlanCheck(0.0, 0.011, 0.0).agrees


def test_the_page_shows_every_truth_and_what_agrees_there() -> None:
    """Where this fails: python benchmarks/shops/plan_check.py, and its table into the page."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "guide" / "shop_plan.md").read_text()
    number = r"([+-][0-9.]+)"
    rows = re.findall(rf"^\| (.+) \| {number} % \| {number} % \| .* \| (yes|NO) \|$", page, flags=re.MULTILINE)
    assert [name for name, *_ in rows] == list(truths())
    found = [PlanCheck(float(planned) / 100, float(simulated) / 100, 0.0).agrees for _, planned, simulated, _ in rows]
    assert found == [agrees == "yes" for *_, agrees in rows]
