"""Many customers at once: the same guarantee as one at a time, whoever else is in the batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hushprice.demand.family import GAUSSIAN, LOGISTIC, POISSON
from hushprice.numerics.jit import COMPILED
from hushprice.price_search import climb, many
from hushprice.price_search.certified import TOLERANCE, best_price
from hushprice.price_search.many import LANES, WORK, best_prices

PROMISE = 1e-9
work = np.zeros(WORK)
rng = np.random.default_rng(11)

# The customer that showed that a corner of the bonus inside the window must not be taken for smooth: 4e-4 was lost.
KINKED = (LOGISTIC, 4.0, 0.11170470678618308, -0.67, 6.890296936035156e-05, -0.0002593994140625, 0.000244140625, 1.0)


def together(family: int, slope: float, width: float, rows: Any, search: Any = best_prices) -> np.ndarray:
    """Prices of the customers whose (a, b, q0, q1, q2) are the columns of rows."""
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    prices = np.full(rows.shape[1], np.nan)
    search(family, slope, width, rows.shape[1], *rows, prices, work)
    return prices


def alone(case: Any, search: Any = best_prices) -> float:
    family, slope, *row, width = case
    return float(together(family, slope, width, np.array(row)[:, None], search)[0])


def customers(count: int, bonus: float, spread: float = 0.2) -> np.ndarray:
    """Everyday customers of the paper's instance, d = 2, and a random symmetric inverse covariance for each."""
    x = rng.uniform(-1, 1, count) / np.sqrt(2)
    first, cross, last = bonus * rng.normal(size=(3, count))
    b = -0.67 + spread * rng.normal(size=count)
    return np.array([-0.316 * x, b, first * x * x, -2 * cross * x / np.sqrt(2), last / 2])


def regimes(count: int) -> dict[str, tuple[int, float, float, np.ndarray]]:
    easy = customers(count, 0.0)
    easy[2:] = np.array([1e-4, 0.0, 1e-4])[:, None]
    start = np.zeros((5, count))
    start[2], start[4] = rng.uniform(0, 0.05, count), 0.05
    wide = easy.copy()
    wide[2:] *= 1e4
    return {
        "easy": (LOGISTIC, 4.0, 1.0, easy),
        "no estimate yet": (LOGISTIC, 4.0, 1.0, start),
        "large bonus": (LOGISTIC, 4.0, 10.0, wide),
        "no bonus": (LOGISTIC, 4.0, 0.0, customers(count, 0.1)),
        "indefinite, small": (LOGISTIC, 4.0, 1.0, customers(count, 1e-4)),
        "indefinite, large": (LOGISTIC, 4.0, 1.0, customers(count, 1.0)),
        "gaussian": (GAUSSIAN, 1.0, 1.0, customers(count, 0.01) + np.array([0.5, 0, 0, 0, 0])[:, None]),
        "poisson": (POISSON, 1.0, 1.0, customers(count, 0.01)),
    }


REGIMES = regimes(600 if COMPILED else 80)


def test_every_price_keeps_the_promise(cases: Any, loss: Any) -> None:
    for case in cases(4000 if COMPILED else 600, seed=1):
        chosen = alone(case)
        assert 0.0 <= chosen <= 1.0
        assert loss(case, chosen) <= PROMISE, case


@pytest.mark.parametrize("regime", REGIMES)
def test_a_batch_agrees_with_the_search_for_one(regime: str, customer: Any) -> None:
    family, slope, width, rows = REGIMES[regime]
    for row, chosen in zip(rows.T, together(family, slope, width, rows), strict=True):
        case = customer(family, slope, *row.tolist(), width)
        single = best_price(*case, work)
        assert case.value(chosen) == pytest.approx(case.value(single), abs=2 * TOLERANCE)


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("regime", REGIMES)
def test_a_price_does_not_depend_on_the_batch(regime: str) -> None:
    family, slope, width, rows = REGIMES[regime]
    rows = rows[:, : 3 * LANES + 5]
    expected = [alone((family, slope, *row, width)) for row in rows.T]
    for size in (1, LANES - 1, LANES, LANES + 1, rows.shape[1]):
        for start in (0, 7):
            prices = together(family, slope, width, rows[:, start : start + size])
            assert prices.tolist() == expected[start : start + size]


def test_convex_and_concave_bonuses_share_a_batch() -> None:
    rows = np.concatenate([REGIMES["easy"][3][:, :20], REGIMES["indefinite, small"][3][:, :20]], axis=1)
    rows = rows[:, np.random.default_rng(5).permutation(40)]
    expected = [alone((LOGISTIC, 4.0, *row, 1.0)) for row in rows.T]
    assert together(LOGISTIC, 4.0, 1.0, rows).tolist() == expected


def test_no_customers_leave_the_prices_alone() -> None:
    prices = np.full(3, 0.25)
    empty = np.zeros(3)
    best_prices(LOGISTIC, 4.0, 1.0, 0, empty, empty, empty, empty, empty, prices, work)
    assert prices.tolist() == [0.25] * 3


@pytest.mark.parametrize(
    ("regime", "at_least"),
    [("easy", 1.0), ("no estimate yet", 1.0), ("large bonus", 0.99), ("no bonus", 0.99), ("indefinite, small", 0.8)],
)
def test_most_customers_need_no_general_search(regime: str, at_least: float) -> None:
    """About speed, not about prices: the general search takes six times as long."""
    family, slope, width, rows = REGIMES[regime]
    first, sure = int(climb.A), int(many._SURE)
    work[first : first + 5 * LANES] = rows[:, :LANES].ravel()
    many._settle_most(family, slope, width, np.uint64(LANES), work)
    assert np.mean(work[sure : sure + LANES]) >= at_least


def test_flat_and_tied_objectives_go_to_the_lower_price() -> None:
    flat = (GAUSSIAN, 1.0, 0.0, 0.0)
    assert alone((*flat, 0.0, 0.0, 0.0, 1.0)) == 0.0
    assert alone((*flat, 0.7, 0.0, 0.0, 1.0)) == 0.0
    assert alone((*flat, -1.0, 0.3, -1.0, 1.0)) == 0.0
    assert alone((*flat, 0.25, -1.0, 1.0, 3.0)) == 0.0  # U(0) = U(1)


def test_the_cap_does_not_matter() -> None:
    assert alone((GAUSSIAN, 1.0, 1.0, -1.0, 9.0, 12.0, 4.0, 1.0)) == 1.0  # U = p (1 - p) + 3 + 2 p
    assert alone((GAUSSIAN, 1.0, 1.0, -1.0, 9.0, -12.0, 4.0, 1.0)) == 0.0  # U = p (1 - p) + 3 - 2 p


def test_a_corner_inside_the_window_is_seen(customer: Any, loss: Any) -> None:
    case = customer(*KINKED)
    assert loss(case, alone(case)) <= PROMISE


PLANTED = {
    "bend of the revenue left out": ("- deepest_bend(revenue) * SPACING * SPACING * 0.125", ""),
    "bend of the revenue halved": ("SPACING * SPACING * 0.125", "SPACING * SPACING * 0.0625"),
    "overhang of the bonus left out": ("= overhang(bonus, SPACING * j, SPACING * (j + 1))", "= 0.0"),
    "sign of q not asked": ("one_sign and (inside", "(inside"),
    "dark window taken on trust": ("width * most <= 0.0", "True"),
    "bonus corner taken as smooth": ("flattest = least if up > 0.0 else most", "flattest = most"),
    "outside not asked": ("if inside or under else 0.0", "if True else 0.0"),
    "gradient not asked": ("inside = gradient", "inside = True or gradient"),
    "window too wide": ("< work[_HIGH + i]\n", "< work[_HIGH + i] + 3 * SPACING\n"),
}


# Without the first try, which would settle many of the cases that tell.
GRID_ONLY = ("climb(family, slope, width, lanes, work)\n", "work[SETTLED : SETTLED + np.uint64(LANES)] = 0.0\n")


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_caught(bug: str, cases: Any, loss: Any, mutant: Any) -> None:
    search = mutant("best_prices", GRID_ONLY, PLANTED[bug])
    assert any(loss(case, alone(case, search)) > PROMISE for case in cases(3000, seed=16))


def test_the_unmutated_copy_passes_what_catches_mutants(cases: Any, loss: Any, mutant: Any) -> None:
    search = mutant("best_prices", GRID_ONLY)
    assert all(loss(case, alone(case, search)) <= PROMISE for case in cases(700, seed=16))


def test_a_slope_at_an_end_must_beat_the_bend_of_the_window(customer: Any, loss: Any, mutant: Any) -> None:
    """Between the last two grid prices revenue has a peak above U(1), though U rises at 1."""
    case = customer(LOGISTIC, 4.0, 36.375, -37.5, 0.0, 0.0, 289.0, 1.0)
    assert loss(case, alone(case)) <= PROMISE
    bug = ("needed = 0.5 * max(0.0, up) * (high - low)", "needed = 0.0")
    assert loss(case, alone(case, mutant("best_prices", GRID_ONLY, bug))) > PROMISE
