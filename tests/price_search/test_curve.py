"""Every bound of the proof, sampled: it holds on a dense grid, and it is tight where the proof says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hushprice.demand.family import GAUSSIAN, LOGISTIC, POISSON
from hushprice.numerics.jit import COMPILED
from hushprice.price_search import curve
from hushprice.price_search.curve import Bonus, Revenue

SIZE = 400 if COMPILED else 60
POINTS = 101
EDGE = 1 + 1e-12  # rounding


def revenues(seed: int) -> list[Revenue]:
    rng = np.random.default_rng(seed)
    drawn = []
    for i in range(SIZE):
        slope = float(rng.choice([0.2, 1.0, 4.0]))
        b = float(rng.choice([-1, 1]) * 10 ** rng.uniform(-2, 2 if i % 3 != POISSON else 0.7) / slope)
        drawn.append(Revenue(i % 3, slope, -b * float(rng.uniform(-0.5, 1.5)), b))
    return drawn


def bonuses(seed: int, *, rootless: bool) -> list[tuple[Bonus, float, float]]:
    """Forms of every kind and a stretch of prices for each, on which q may be asked not to change its sign."""
    rng = np.random.default_rng(seed)
    drawn: list[tuple[Bonus, float, float]] = []
    while len(drawn) < SIZE:
        bonus = Bonus(*(rng.normal(size=3) * 10 ** rng.uniform(-3, 1)).tolist(), width=float(10 ** rng.uniform(-2, 2)))
        left, right = np.sort(rng.uniform(0, 1, 2)).tolist()
        q = [curve.form_at(bonus, p) for p in np.linspace(left, right, POINTS)]
        if not rootless or min(q) > 0.0:
            drawn.append((bonus, left, right))
    return drawn


def stretch(rng: np.random.Generator) -> tuple[float, float]:
    middle, reach = rng.uniform(0, 1), 10 ** rng.uniform(-4, 0)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def second(revenue: Revenue, p: float) -> float:
    return float(curve.revenue_derivatives(revenue, p, curve.demand_at(revenue, p))[1])


def bounds(revenue: Revenue, left: float, right: float) -> tuple[float, float]:
    ends = curve.demand_at(revenue, left), curve.demand_at(revenue, right)
    high, low = curve.revenue_bounds(revenue, left, right, *ends)
    return high, low


@pytest.mark.parametrize("family", [LOGISTIC, GAUSSIAN, POISSON])
def test_derivatives_agree_with_differences(family: int) -> None:
    revenue, bonus, step = Revenue(family, 2.0, 0.3, -0.8), Bonus(0.3, -0.2, 0.5, 0.7), 1e-5
    for p in (0.1, 0.5, 0.9):
        above, here, below = (curve.revenue_at(revenue, p + d) for d in (step, 0.0, -step))
        first, bend = curve.revenue_derivatives(revenue, p, curve.demand_at(revenue, p))
        assert first == pytest.approx((above - below) / (2 * step), abs=1e-8)
        assert bend == pytest.approx((above - 2 * here + below) / step**2, abs=1e-4)
        above, here, below = (curve.bonus_at(bonus, p + d) for d in (step, 0.0, -step))
        first, bend = curve.bonus_derivatives(bonus, p)
        assert first == pytest.approx((above - below) / (2 * step), abs=1e-8)
        assert bend == pytest.approx((above - 2 * here + below) / step**2, abs=1e-4)


def test_the_bend_of_revenue_stays_between_its_bounds() -> None:
    rng = np.random.default_rng(1)
    for revenue in revenues(1):
        left, right = stretch(rng)
        high, low = bounds(revenue, left, right)
        seen = [second(revenue, p) for p in np.linspace(left, right, POINTS)]
        slack = 1e-12 * (1 + max(abs(high), abs(low)))
        assert low - slack <= min(seen)
        assert max(seen) <= high + slack


def test_the_bounds_on_the_bend_of_revenue_close_as_the_cell_shrinks() -> None:
    for revenue in revenues(2):
        high, low = bounds(revenue, 0.4, 0.4 + 1e-9)
        assert high == pytest.approx(second(revenue, 0.4), rel=1e-4, abs=1e-4)
        assert low == pytest.approx(second(revenue, 0.4), rel=1e-4, abs=1e-4)


def test_the_deepest_bend_is_a_bound_for_all_prices() -> None:
    for revenue in revenues(3):
        seen = max(-second(revenue, p) for p in np.linspace(0, 1, POINTS))
        assert seen <= curve.deepest_bend(revenue) * EDGE + 1e-12


def test_the_deepest_bend_is_exact_where_revenue_is_a_parabola() -> None:
    assert curve.deepest_bend(Revenue(GAUSSIAN, 1.0, 0.4, -0.7)) == pytest.approx(1.4)
    assert curve.deepest_bend(Revenue(GAUSSIAN, 1.0, 0.4, 0.7)) == 0.0


def test_the_range_of_q_holds_every_value() -> None:
    for bonus, left, right in bonuses(4, rootless=False):
        least, most = curve.form_range(bonus, left, right)
        seen = [curve.form_at(bonus, p) for p in np.linspace(left, right, POINTS)]
        assert least <= min(seen)
        assert max(seen) <= most
        assert most - least <= (max(seen) - min(seen)) * 1.001 + 1e-12  # and no more than that


def test_the_range_of_a_line_is_at_its_ends() -> None:
    assert curve.form_range(Bonus(1.0, -2.0, 0.0, 1.0), 0.25, 0.5) == (0.0, 0.5)
    assert curve.form_range(Bonus(1.0, 0.0, 0.0, 1.0), 0.25, 0.5) == (1.0, 1.0)


def test_the_bend_of_the_bonus_stays_between_its_bounds() -> None:
    for bonus, left, right in bonuses(5, rootless=True):
        high, low = curve.bonus_bounds(bonus, *curve.form_range(bonus, left, right))
        seen = [curve.bonus_derivatives(bonus, p)[1] for p in np.linspace(left, right, POINTS)]
        assert max(seen) <= high + 1e-9 * abs(high)
        assert low == 0.0 if curve.arch(bonus) < 0.0 else low <= min(seen) * EDGE


def test_a_corner_of_the_bonus_bends_without_bound() -> None:
    bonus = Bonus(0.25, -1.0, 1.0, 1.0)  # B = |p - 1/2|
    assert curve.bonus_bounds(bonus, *curve.form_range(bonus, 0.4, 0.6))[0] > 1e100
    assert curve.bonus_bounds(bonus, *curve.form_range(bonus, 0.6, 0.8))[0] < 1e-10


def test_width_zero_is_no_bonus_at_all() -> None:
    dark = Bonus(-1.0, 0.5, -1.0, 0.0)
    assert curve.bonus_at(dark, 0.5) == 0.0
    assert curve.bonus_bounds(dark, *curve.form_range(dark, 0.0, 1.0)) == (0.0, 0.0)
    assert curve.overhang(dark, 0.0, 1.0) == 0.0


def above_chord(bonus: Bonus, left: float, right: float) -> float:
    """The largest B minus chord on [left, right]."""
    share = np.linspace(0, 1, POINTS)
    heights = np.array([curve.bonus_at(bonus, p) for p in left + (right - left) * share])
    return float(np.max(heights - (1 - share) * heights[0] - share * heights[-1]))


def test_the_bonus_stays_below_its_chord_and_overhang() -> None:
    for bonus, left, right in bonuses(6, rootless=False):
        allowed = curve.overhang(bonus, left, right)
        assert above_chord(bonus, left, right) <= allowed * EDGE + 1e-7 * bonus.width
        assert allowed == 0.0 or curve.arch(bonus) < 0.0


@pytest.mark.parametrize("form", [(0.0, 1.0, 0.0), (0.5, 1.0, 0.0)])
def test_the_overhang_is_exact_for_the_root_of_a_line(form: tuple[float, float, float]) -> None:
    bonus = Bonus(*form, width=3.0)
    low, high = np.sqrt(form[0]), np.sqrt(form[0] + 1.0)
    exact = 3.0 * (high - low) ** 2 / (4 * (high + low))
    assert curve.overhang(bonus, 0.0, 1.0) == pytest.approx(exact)
    assert above_chord(bonus, 0.0, 1.0) == pytest.approx(exact, rel=1e-3)


def test_the_overhang_of_an_arch_shrinks_with_the_square_of_the_cell() -> None:
    bonus = Bonus(1.0, 1.0, -1.0, 1.0)
    wide, narrow = (curve.overhang(bonus, 0.3, 0.3 + span) for span in (0.02, 0.01))
    assert wide / narrow == pytest.approx(4.0, rel=0.02)
    bend = -curve.bonus_derivatives(bonus, 0.3)[1]
    assert narrow == pytest.approx(bend * 0.01**2 / 8, rel=0.02)  # to second order, the chord bound for -B'' itself


def test_a_case_of_the_suite_is_the_same_curve(cases: Any) -> None:
    """The oracle's formula and the search's formula, on the oracle's customers."""
    for case in cases(SIZE, seed=7):
        revenue, bonus = Revenue(*case[:4]), Bonus(*case[4:])
        for p in (0.0, 0.37, 1.0):
            total = curve.revenue_at(revenue, p) + curve.bonus_at(bonus, p)
            assert total == pytest.approx(float(case.value(p)), rel=1e-12, abs=1e-12 + case.blur(p))
