"""The certified search against an oracle that looks everywhere, and planted bugs that the same check must catch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice.demand.family import GAUSSIAN, LOGISTIC, POISSON
from hushprice.demand.welfare import clairvoyant_price, revenue
from hushprice.numerics.jit import COMPILED
from hushprice.price_search import certified
from hushprice.price_search.certified import STACK, TOLERANCE, best_price
from hushprice.price_search.curve import Bonus, Revenue, arch

PROMISE = 1e-9
SIZE = 1500 if COMPILED else 500
work = np.zeros(STACK)

FALLING = (LOGISTIC, 4.0, 0.1, -0.67)  # an everyday customer: revenue peaks at about 0.52
FLAT = (GAUSSIAN, 1.0, 0.0, 0.0)  # revenue is zero at every price
CORNERS = {
    "no bonus": (*FALLING, 0.0, 0.0, 0.0, 1.0),
    "no width": (*FALLING, 1.0, -1.0, 1.0, 0.0),
    "bonus through the origin": (*FALLING, 0.0, 0.0, 0.3, 1.0),
    "peak at 0": (GAUSSIAN, 1.0, -0.5, -0.5, 0.01, -0.01, 0.01, 1.0),
    "peak at 1": (LOGISTIC, 4.0, 0.5, -0.1, 0.01, 0.0, 0.01, 1.0),
    "q touches 0 at price 0": (*FALLING, 0.0, 0.0, 1.0, 5.0),
    "q touches 0 at price 1": (*FALLING, 1.0, -2.0, 1.0, 5.0),
    "q touches 0 at the revenue's peak": (*FALLING, 0.26, -1.02, 1.0, 0.1),
    "roots at both borders, lit between": (*FALLING, 0.0, 1.0, -1.0, 1.0),
    "roots at both borders, dark between": (*FALLING, 0.0, -1.0, 1.0, 1.0),
    "roots inside, lit between": (*FALLING, -0.21, 1.0, -1.0, 1.0),
    "roots inside, dark between": (*FALLING, 0.21, -1.0, 1.0, 1.0),
    "q linear, rising": (*FALLING, -0.5, 1.0, 0.0, 1.0),
    "q linear, falling": (*FALLING, 0.5, -1.0, 0.0, 1.0),
    "negative definite": (*FALLING, -1.0, 0.5, -1.0, 1.0),
    "steep": (LOGISTIC, 4.0, 125.0, -250.0, 1.0, -1.0, 1.0, 0.1),
    "steep, demand rises": (LOGISTIC, 4.0, -125.0, 250.0, 1.0, -1.0, 1.0, 0.1),
    "steep, wide": (LOGISTIC, 4.0, 125.0, -250.0, 1.0, -1.9, 1.0, 100.0),
    "steep, gaussian": (GAUSSIAN, 1.0, 500.0, -1000.0, 1.0, -1.0, 1.0, 100.0),
    "steep, poisson": (POISSON, 4.0, 2.0, -250.0, 1.0, -1.0, 1.0, 1.0),
    "a corner at 0 where revenue falls": (GAUSSIAN, 4.0, -0.0096, -1.6, 0.0, 0.0, 1.45e-5, 76.0),
    "tiny": (LOGISTIC, 1e-3, 1e-9, -1e-9, 1e-12, 1e-13, 1e-12, 1e-6),
}


def solve(case: Any) -> float:
    return float(best_price(*case, work))


@pytest.mark.parametrize("name", CORNERS)
def test_corners(name: str, customer: Any, loss: Any) -> None:
    case = customer(*CORNERS[name])
    assert loss(case, solve(case)) <= PROMISE


@pytest.mark.beyond_coverage
@settings(deadline=None, derandomize=True, max_examples=200 if COMPILED else 60)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_price_is_worth_more(seed: int, cases: Any, loss: Any) -> None:
    for case in cases(24 if COMPILED else 12, seed):
        chosen = solve(case)
        assert 0.0 <= chosen <= 1.0
        assert loss(case, chosen) <= PROMISE, case


PLANTED = {
    "chord bound halved": ("bend * span * span * 0.125", "bend * span * span * 0.0625"),
    "chord bound halved on the grid": ("* spacing * spacing * 0.125", "* spacing * spacing * 0.0625"),
    "sign of the curvature flipped": ("return revenue_up + bonus_up,", "return -revenue_up + bonus_up,"),
    "sign of the bonus flipped": ("return revenue_up + bonus_up,", "return revenue_up - bonus_up,"),
    "bonus left out of the curvature": ("return revenue_up + bonus_up,", "return revenue_up,"),
    "overhang left out": ("return bonus.width * (lift", "return 0.0 * (lift"),
    "overhang halved": ("return bonus.width * (lift", "return 0.5 * bonus.width * (lift"),
    "camber left out": ("camber = 0.25 *", "camber = 0.0 *"),
    "roots not cut": ("discriminant > 0.0:", "discriminant > 1e9:"),
    "sign of q from an end": ("form_at(bonus, 0.5 * (left + right)) > 0.0", "form_at(bonus, left) > 0.0"),
    "steepest point of f missed": ("s_high = steepest(", "s_high = (lambda *given: max(given[-2:]))("),
    "steep and flat mixed up": ("(s_high if high > 0.0 else s_low)", "(s_low if high > 0.0 else s_high)"),
    "corner of p f''/f' missed": ("    one = b * (2.0 + b * least)", "    one = b * 2.0"),
    "bonus corner taken as smooth": ("flattest = least if up > 0.0 else most", "flattest = most"),
    "vertex of q missed": ("min(max(vertex, left), right))", "left)"),
    "peak left too early": (
        "_PEAK = 1e-11  # Newton's share of the tolerance\n_POLISH = 4",
        "_PEAK = 1e-6\n_POLISH = 0",
    ),
    "cells dropped too early": ("TOLERANCE = 1e-10", "TOLERANCE = 1e-6"),
    "ends not looked at": ("not gradient_left > 0.0 > gradient_right", "not gradient_left > 1.0 > gradient_right"),
}


def caught(search: Any, cases: Any, loss: Any) -> bool:
    return any(loss(case, search(*case, work)) > PROMISE for case in cases(3000, seed=0))


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_caught(bug: str, cases: Any, loss: Any, mutant: Any) -> None:
    assert caught(mutant("best_price", PLANTED[bug]), cases, loss)


def test_the_unmutated_copy_passes_what_catches_mutants(cases: Any, loss: Any, mutant: Any) -> None:
    search = mutant("best_price")
    assert all(loss(case, search(*case, work)) <= PROMISE for case in cases(SIZE, seed=0))


@pytest.mark.parametrize("family", [LOGISTIC, GAUSSIAN, POISSON])
@pytest.mark.parametrize("form", [(0.0, 0.0, 0.0, 1.0), (0.5, 0.1, 0.5, 0.0), (-0.5, 0.1, -0.5, 1.0)])
def test_without_a_bonus_it_is_the_clairvoyant_price(family: int, form: tuple[float, ...]) -> None:
    rng = np.random.default_rng(3)
    for _ in range(300 if COMPILED else 30):
        slope, a, b = float(rng.choice([0.5, 1.0, 4.0])), float(rng.normal()), float(rng.normal() - 0.7)
        chosen, exact = solve((family, slope, a, b, *form)), clairvoyant_price(family, slope, a, b)
        gap = revenue(family, slope, a, b, exact) - revenue(family, slope, a, b, chosen)
        assert abs(gap) <= TOLERANCE
        assert chosen == pytest.approx(exact, abs=1e-4)


def test_two_tied_ends_go_to_the_lower_price() -> None:
    assert solve((*FLAT, 0.25, -1.0, 1.0, 3.0)) == 0.0
    assert solve((*FLAT, 0.25, -1.0, 1.0, 3.0 + 1e-12)) == 0.0


@pytest.mark.parametrize("form", [(0.0, 0.0, 0.0), (0.7, 0.0, 0.0), (-0.7, 0.0, 0.0), (-1.0, 0.3, -1.0)])
def test_a_flat_objective_goes_to_the_lowest_price(form: tuple[float, float, float]) -> None:
    assert solve((*FLAT, *form, 1.0)) == 0.0


def test_the_cap_does_not_matter() -> None:
    # U is above 1 at every price, so min{1, U} is flat; the larger uncapped value decides.
    case = (GAUSSIAN, 1.0, 1.0, -1.0, 9.0, 12.0, 4.0, 1.0)  # U = p (1 - p) + 3 + 2 p, largest at 1
    assert solve(case) == 1.0
    assert solve((GAUSSIAN, 1.0, 1.0, -1.0, 9.0, -12.0, 4.0, 1.0)) == 0.0  # U = p (1 - p) + 3 - 2 p


def test_newton_does_not_stop_where_it_crawls(mutant: Any) -> None:
    """Next to a root of q the second derivative is huge and a Newton step tiny, far from the peak."""
    revenue_part, bonus = Revenue(LOGISTIC, 4.0, -0.2, -0.46), Bonus(-0.0024, 0.06, -0.06, 1.0)
    root = math.sqrt(-arch(bonus))
    low, high = (-bonus.q1 + root) / (2 * bonus.q2), (-bonus.q1 - root) / (2 * bonus.q2)
    start = high - 1e-15
    top = certified._newton(revenue_part, bonus, low, high, 0.5, -1e-3)[0]
    found = certified._newton(revenue_part, bonus, low, high, start, -1e-3)[0]
    assert found == pytest.approx(top, abs=1e-5)
    step = "abs(gradient / min(revenue_2 + bonus_2, curvature))"
    stops_early = mutant("_newton", ("certified or high - low <= _NARROWEST", f"certified or {step} <= _NARROWEST"))
    assert stops_early(revenue_part, bonus, low, high, start, -1e-3)[0] > top + 0.1


NOISE = 4e-16  # what another order of the same operations changes a number by, relatively


def indefinite_customers(count: int) -> list[tuple[Any, ...]]:
    """As they come under calibration `published`: a released matrix that is indefinite, so q has roots in [0, 1]."""
    rng, found = np.random.default_rng(8), []
    while len(found) < count:
        first, second = rng.uniform(-0.5, 1.5, 2)
        size = float(rng.choice([-1.0, 1.0])) * 10 ** rng.uniform(-5, -2)
        if 0.0 < first < 1.0 or 0.0 < second < 1.0:
            form = size * first * second, -size * (first + second), size
            found.append((LOGISTIC, 4.0, rng.uniform(-0.8, 0.4), rng.uniform(-1.2, -0.3), *form, 1.0))
    return found


def moved_by_noise(search: Any, count: int) -> float:
    """How far the last digits of its arguments move a price, at most."""
    rng, most = np.random.default_rng(9), 0.0
    for case in indefinite_customers(count):
        noise = 1.0 + NOISE * rng.uniform(-1.0, 1.0, 5)
        near = (*case[:2], *(float(number) for number in np.array(case[2:7]) * noise), case[7])
        most = max(most, abs(float(search(*case, work)) - float(search(*near, work))))
    return most


def test_a_rounding_error_does_not_move_the_price() -> None:
    """Else two machines would part: a GPU multiplies and adds in one operation, a CPU in two."""
    assert moved_by_noise(best_price, 4000 if COMPILED else 400) < 1e-11


def test_a_price_left_where_its_value_is_certain_is_moved(mutant: Any) -> None:
    assert moved_by_noise(mutant("best_price", ("_POLISH = 4", "_POLISH = 0")), 400) > 1e-8


def test_a_price_inside_is_where_the_slope_vanishes_to_twelve_digits() -> None:
    """The last step that Newton's method would make, by formulas and digits of its own."""
    inside = 0
    for case in indefinite_customers(2000 if COMPILED else 300):
        p = np.longdouble(solve(case))
        slope, a, b, q0, q1, q2, width = (np.longdouble(number) for number in case[1:])
        buys = 1 / (1 + np.exp(-slope * (a + b * p)))
        first = slope * buys * (1 - buys)
        gradient, bend = buys + p * b * first, 2 * b * first + p * b * b * slope * first * (1 - 2 * buys)
        q = q0 + p * (q1 + p * q2)
        if q > 0:
            gradient += width * (q1 + 2 * q2 * p) / (2 * np.sqrt(q))
            bend += width * (4 * q0 * q2 - q1 * q1) / (4 * q * np.sqrt(q))
        if 1e-9 < p < 1 - 1e-9:  # not an end, nor its neighbour in the last digit
            inside += 1
            assert bend < 0
            assert abs(gradient / bend) < 1e-12
    assert inside > 200


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", range(2, 7))
def test_the_search_ends_on_nonsense(bad: float, place: int) -> None:
    case: list[float] = [*FALLING, 0.1, 0.1, 0.1, 1.0]
    case[place] = bad
    with np.errstate(all="ignore"):
        assert 0.0 <= solve(case) <= 1.0


def test_the_search_ends_where_demand_overflows() -> None:
    with np.errstate(all="ignore"):
        assert 0.0 <= solve((POISSON, 10.0, 100.0, -1.0, 0.1, 0.1, 0.1, 1.0)) <= 1.0
