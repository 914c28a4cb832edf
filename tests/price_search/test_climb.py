"""The first try of `best_prices`: what it settles is settled rightly, and it settles what a policy mostly meets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hushprice.demand.family import LOGISTIC
from hushprice.demand.welfare import clairvoyant_price
from hushprice.numerics.jit import COMPILED
from hushprice.price_search import climb
from hushprice.price_search.curve import lit
from hushprice.price_search.many import WORK

PROMISE = 1e-9
CONVEX = ("definite", "singular", "nearly singular")
work = np.zeros(WORK)


def settled(case: Any, search: Any = climb.climb) -> float | None:
    """The price if the climb certifies it."""
    for row, number in zip((climb.A, climb.B, climb.Q0, climb.Q1, climb.Q2), case[2:7], strict=True):
        work[int(row)] = number
    search(case.family, case.slope, case.width, np.uint64(1), work)
    return float(work[int(climb.TOP)]) if work[int(climb.SETTLED)] > 0.0 else None


def test_what_is_settled_keeps_the_promise(cases: Any, loss: Any) -> None:
    for case in [*cases(2000 if COMPILED else 400, 2, CONVEX), *cases(1000 if COMPILED else 200, seed=2)]:
        chosen = settled(case)
        assert chosen is None or loss(case, chosen) <= PROMISE, case


def test_a_policy_that_has_learned_is_settled_at_once(customer: Any) -> None:
    rng = np.random.default_rng(6)
    for a in rng.uniform(-0.22, 0.22, 200 if COMPILED else 40):
        assert settled(customer(LOGISTIC, 4.0, float(a), -0.67, 1e-4, 1e-5 * float(a), 1e-4, 1.0)) is not None


@pytest.mark.parametrize("b", [0.0, 0.5])
def test_demand_that_does_not_fall_is_settled_at_one(b: float, customer: Any) -> None:
    assert settled(customer(LOGISTIC, 4.0, 0.1, b, 1e-4, 0.0, 1e-4, 1.0)) == 1.0


def test_a_bonus_that_is_not_convex_is_left_to_others(customer: Any) -> None:
    assert settled(customer(LOGISTIC, 4.0, 0.1, -0.67, 1e-4, 1e-3, 1e-4, 1.0)) is None


def test_a_form_that_is_nowhere_positive_is_no_bonus(customer: Any) -> None:
    assert lit(-1e-4, 0.0, -1e-4) == 0.0
    assert lit(0.0, 0.0, 0.0) == 0.0
    assert lit(2e-4, 0.0, -1e-4) == 1.0  # it has roots: positive for low prices
    assert lit(1e-4, 0.0, 1e-4) == 1.0
    case = customer(LOGISTIC, 4.0, 0.1, -0.67, 0.0, 0.0, 0.0, 1.0)
    assert settled(case) == pytest.approx(clairvoyant_price(LOGISTIC, 4.0, 0.1, -0.67), abs=1e-9)


PLANTED = {
    "above not asked": ("and above <= ceiling", ""),
    "larger end of the bonus above forgotten": ("max(bonus_at(bonus, right), bonus_at(bonus, 1.0))", "0.0"),
    "convexity not asked": ("return convex and (peak or rises)", "return peak or rises"),
    "gradient not asked": ("b < 0.0 and (inside or at_end) and", "b < 0.0 and"),
    "bonus left out of the curvature": ("up = revenue_up + bonus_bounds(bonus, least, most)[0]", "up = revenue_up"),
    "slope of the bonus left out": ("demand_left[0] + bonus_derivatives(bonus, 0.0)[0] > 0.0", "demand_left[0] > 0.0"),
    "every demand rises": ("rises = p == 1.0 and b >= 0.0", "rises = p == 1.0"),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_caught(bug: str, cases: Any, loss: Any, mutant: Any) -> None:
    search = mutant("climb", PLANTED[bug])
    found = ((case, settled(case, search)) for case in cases(2000, 5, CONVEX))
    assert any(loss(case, chosen) > PROMISE for case, chosen in found if chosen is not None)
