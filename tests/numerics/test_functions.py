"""The polynomials against NumPy's functions, in extended precision where cancellation would blur the comparison."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from hushprice.numerics import functions
from hushprice.numerics.jit import COMPILED

SIZE = 20_000 if COMPILED else 1_000
ULPS = 1e-15  # relative; one unit in the last place is 1.1e-16 to 2.2e-16


def apply(function: Callable[[float], float], values: np.ndarray) -> np.ndarray:
    return np.array([function(float(value)) for value in values])


def relative(actual: np.ndarray, exact: np.ndarray) -> float:
    return float(np.max(np.abs(actual - exact) / np.abs(exact)))


def arguments(seed: int, reach: float) -> np.ndarray:
    """Signed numbers of every size from 1e-12 to `reach`, and zero."""
    rng = np.random.default_rng(seed)
    sizes = 10.0 ** rng.uniform(-12, math.log10(reach), SIZE)
    return np.append(sizes * rng.choice([-1.0, 1.0], SIZE), 0.0)


def test_exp_agrees_with_numpy_to_the_last_places_wherever_float64_reaches() -> None:
    x = arguments(1, 708.0)
    assert relative(apply(functions.exp, x), np.exp(x.astype(np.longdouble))) < ULPS


@pytest.mark.parametrize(("x", "held"), [(709.0, 708.0), (1e300, 708.0), (math.inf, 708.0), (-1e5, -708.0)])
def test_exp_is_held_where_float64_would_end(x: float, held: float) -> None:
    assert functions.exp(x) == functions.exp(held)
    assert functions.exp(held) == pytest.approx(math.exp(held), rel=ULPS)


def test_exp_never_decreases_across_the_borders_of_its_polynomial_pieces() -> None:
    borders = (np.arange(-200, 200) + 0.5) * math.log(2.0)
    around = np.sort(np.concatenate([borders, borders * (1 - 1e-12), borders * (1 + 1e-12)]))
    assert (np.diff(apply(functions.exp, around)) >= 0.0).all()


def test_log_agrees_with_numpy_to_the_last_places_on_every_normal_number() -> None:
    rng = np.random.default_rng(2)
    wide = 2.0 ** rng.uniform(-1022, 1023.9, SIZE)
    near_one = 1.0 + 10.0 ** rng.uniform(-15, -1, SIZE) * rng.choice([-1.0, 1.0], SIZE)  # where ln x cancels
    x = np.concatenate([wide, near_one[near_one != 1.0], [np.finfo(float).tiny, np.finfo(float).max, 2**0.5, 0.5**0.5]])
    assert relative(apply(functions.log, x), np.log(x.astype(np.longdouble))) < ULPS


def test_log_of_one_is_exactly_zero() -> None:
    assert functions.log(1.0) == 0.0


def test_log_undoes_exp() -> None:
    x = np.random.default_rng(3).uniform(-700, 700, SIZE)
    back = np.array([functions.log(functions.exp(float(value))) for value in x])
    np.testing.assert_allclose(back, x, rtol=0, atol=1e-13)  # e^x carries half a unit, at |x| = 700 a few 1e-14


def test_softplus_agrees_with_numpy_in_relative_error_down_to_the_far_left() -> None:
    x = arguments(4, 700.0)
    assert relative(apply(functions.softplus, x), np.logaddexp(np.longdouble(0.0), x.astype(np.longdouble))) < ULPS


def test_softplus_and_its_mirror_differ_by_the_argument() -> None:
    x = np.random.default_rng(5).uniform(0, 700, SIZE)
    np.testing.assert_allclose(apply(functions.softplus, x) - apply(functions.softplus, -x), x, rtol=ULPS)


def test_softplus_is_the_argument_itself_beyond_all_floats() -> None:
    assert functions.softplus(1e300) == 1e300
    assert functions.softplus(-1e300) == functions.exp(-708.0)


def test_cosine_and_sine_agree_with_numpy_to_the_last_places_over_a_turn() -> None:
    rng = np.random.default_rng(6)
    u = np.concatenate([rng.uniform(size=SIZE), 10.0 ** rng.uniform(-15, -1, SIZE), np.arange(9) / 8])
    turn = np.longdouble(2.0) * np.longdouble("3.14159265358979323846264338327950288") * u.astype(np.longdouble)
    actual = np.array([functions.cos_sin_turn(float(value)) for value in u])
    assert np.max(np.abs(actual[:, 0] - np.cos(turn))) < 3e-16
    assert np.max(np.abs(actual[:, 1] - np.sin(turn))) < 3e-16
    small = (u > 0) & (u < 0.1)  # towards zero the sine keeps its relative accuracy as well
    assert relative(actual[small, 1], np.sin(turn)[small]) < ULPS


@pytest.mark.parametrize(
    ("u", "cosine", "sine"), [(0.0, 1.0, 0.0), (0.25, 0.0, 1.0), (0.5, -1.0, 0.0), (0.75, 0.0, -1.0), (1.0, 1.0, 0.0)]
)
def test_quarter_turns_are_exact(u: float, cosine: float, sine: float) -> None:
    assert functions.cos_sin_turn(u) == (cosine, sine)


@pytest.mark.skipif(not COMPILED, reason="there is nothing compiled to compare with")
@pytest.mark.parametrize("name", ["exp", "log", "softplus", "cos_sin_turn"])
def test_compiled_functions_repeat_the_plain_source_bit_for_bit(name: str) -> None:
    function = getattr(functions, name)
    for x in np.random.default_rng(7).uniform(1e-3, 1.0, 500):
        assert function(float(x)) == function.py_func(float(x))
