"""What is known about a step's arguments is folded in, and what is not known is left as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

from hushprice.demand import family
from hushprice.numerics.jit import COMPILED, step
from hushprice.simulation.gpu import device_steps
from hushprice.types import FloatArray

pytestmark = pytest.mark.skipif(not COMPILED, reason="twins are made of compiled steps")
ONE, TWO = 1, 2


class Market(NamedTuple):
    """A tuple of which some is known."""

    kind: int
    size: float
    code: int


@pytest.fixture(autouse=True)
def not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twins stay plain functions here, as in the simulator."""
    monkeypatch.setattr(device_steps, "device_step", lambda fast: lambda function: function)


def twin(of: Any, known: Mapping[str, Any]) -> Any:
    return device_steps.DeviceSteps({})(of, known)


def callees(function: Any) -> set[str]:
    """The twins that a function may call."""
    return {each.__name__ for each in function.__globals__.values() if callable(each)}


@step
def rare(x: float) -> float:
    return -x


@step
def chosen(kind: int, x: float) -> float:
    if kind == ONE or kind > TWO:
        return 2.0 * x
    if kind == family.POISSON and x > 0.0:
        return rare(x)
    return x if kind != 0 else 3.0 * x


@pytest.mark.parametrize("kind", [0, 1, 2, 3, -1])
@pytest.mark.parametrize("x", [-1.5, 2.0])
def test_a_branch_on_something_known_is_decided_as_the_step_decides_it(kind: int, x: float) -> None:
    assert twin(chosen, {"kind": kind})(kind, x) == chosen(kind, x)


def test_what_is_never_called_is_not_compiled() -> None:
    assert "rare" in callees(twin(chosen, {}))
    assert "rare" in callees(twin(chosen, {"kind": 2}))
    assert "rare" not in callees(twin(chosen, {"kind": 1}))


@step
def through(market: Market, x: float) -> float:
    again = Market(market.kind, x, market.code)
    return chosen(market.kind, x) + within(again, x) + chosen(ONE, x) + chosen(1, x)


@step
def within(market: Market, x: float) -> float:
    return chosen(market.kind, market.size) + x


def test_callees_are_told_what_their_caller_knows() -> None:
    market = Market(1, 7.0, 2)
    made = twin(through, {"market": {"kind": 1}})
    assert made(market, 3.0) == through(market, 3.0)
    told = [each for name, each in made.__globals__.items() if name.startswith("chosen")]
    assert sorted("rare" in callees(each) for each in told) == [False, True]  # the last two calls share the plain twin


def test_a_number_that_was_told_takes_the_place_of_the_argument() -> None:
    assert twin(within, {"market": {"kind": 1}})(Market(0, 5.0, 0), 0.0) == 10.0  # so it must be told the truth


@step
def summed(count: int, x: FloatArray, limits: tuple[int, int]) -> float:
    total, width, rows = 0.0, limits[1], count
    for i in range(count):
        total += x[i]
    if width > 1:
        rows = count + 1
    for i in range(rows):
        for j in range(width):
            total += 10.0 * x[i] + j
    return total


def test_a_loop_over_one_runs_its_body_once() -> None:
    x = np.array([1.25, 3.0])
    made = twin(summed, {"count": 1, "limits": {"[1]": 1}})
    assert made(1, x, (0, 1)) == summed(1, x, (0, 1)) == 13.75
    assert "range" not in made.__code__.co_names
    assert "range" in twin(summed, {"count": 2}).__code__.co_names
    for count, width in [(1, 2), (2, 1), (0, 1)]:
        known = twin(summed, {"count": count, "limits": {"[1]": width}})
        assert known(count, x, (0, width)) == summed(count, x, (0, width))


@step
def early(count: int, x: FloatArray) -> float:
    for i in range(count):
        if x[i] > 2.0:
            break
        x[i] = 0.0
    return float(x[0])


@step
def late(count: int, x: FloatArray) -> float:
    i = 1
    for i in range(count):
        x[i] += 1.0
    return float(x[i])


@step
def moving(count: int, x: FloatArray) -> float:
    for i in range(count):
        x[i] += 1.0
        i += 1
        x[i] += 2.0
    count += 1
    return float(x[0] * 8.0 + x[1] * 4.0 + count)


@pytest.mark.parametrize("loop", [early, late, moving])
@pytest.mark.parametrize("first", [1.0, 3.0])
def test_a_loop_that_is_more_than_its_body_stays(loop: Any, first: float) -> None:
    made = twin(loop, {"count": 1})
    assert "range" in made.__code__.co_names
    assert made(1, np.array([first, 5.0])) == loop(1, np.array([first, 5.0]))


@step
def hidden(ONE: int, TWO: int, x: float) -> float:
    family = TWO
    if ONE == 1 or family == 7:
        return x
    return -x


def test_an_argument_hides_a_constant_of_its_name() -> None:
    assert twin(hidden, {"TWO": 5})(3, 5, 1.0) == -1.0
    assert twin(hidden, {"TWO": 7})(3, 7, 1.0) == 1.0


@step
def unpacked(kind: int, limits: tuple[float, int]) -> float:
    if 0 < kind < limits[1] or not kind:
        return chosen(*limits[1:], limits[0])
    return chosen(kind, *limits[:1])


@pytest.mark.parametrize("kind", [0, 1, 5])
def test_conditions_and_arguments_that_are_not_followed_stay(kind: int) -> None:
    made = twin(unpacked, {"kind": kind})
    for last in (1, 2):
        assert made(kind, (2.0, last)) == unpacked(kind, (2.0, last))
