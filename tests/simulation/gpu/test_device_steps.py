"""A twin is its step with single constants, other callees, and nothing else changed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hushprice.numerics import functions, tape
from hushprice.numerics.jit import COMPILED, step
from hushprice.price_search import curve
from hushprice.simulation.gpu import substitutes
from hushprice.simulation.gpu.device_steps import DeviceSteps

pytestmark = pytest.mark.skipif(not COMPILED, reason="twins are made of compiled steps")
SCALE = 0.1
_NAMES = (1.5, 2)


@step
def callee(x: float) -> float:
    return 3.0 * x


@step
def caller(x: float) -> float:
    return SCALE * callee(x) + 0.25


@step
def by_module(x: float) -> float:
    return functions.exp(x) + np.sqrt(x) + _NAMES[1]


def plain(twin: Any) -> Any:
    return getattr(twin, "py_func", twin)


def always(chosen: Any) -> bool:
    return True


def test_a_twin_computes_what_its_step_computes() -> None:
    twin = plain(DeviceSteps({})(caller))
    assert twin is not caller.py_func  # type: ignore[attr-defined]
    assert plain(twin.__globals__["callee"]).__code__.co_consts == callee.py_func.__code__.co_consts  # type: ignore[attr-defined]
    assert twin.__globals__["SCALE"] == SCALE
    assert type(twin.__globals__["SCALE"]) is float


def test_a_twin_is_made_once() -> None:
    twins = DeviceSteps({})
    assert twins(callee) is plain(twins(caller)).__globals__["callee"] is twins(callee)


def test_a_callee_is_swapped() -> None:
    twin = plain(DeviceSteps({callee: math.sin})(caller))
    assert twin(1.0) == SCALE * math.sin(1.0) + 0.25


def test_an_attribute_of_a_module_is_swapped() -> None:
    twin = plain(DeviceSteps({functions.exp: math.exp, np.sqrt: math.sqrt})(by_module))
    assert twin(2.0) == math.exp(2.0) + math.sqrt(2.0) + 2
    assert twin.__globals__["np"].pi == math.pi


def test_constants_are_narrowed_where_asked() -> None:
    def is_caller(chosen: Any) -> bool:
        return chosen is caller.py_func  # type: ignore[attr-defined]

    twins = DeviceSteps({}, single=is_caller, constants={"SCALE": 0.5}, fast={callee: lambda x: x})
    twin = plain(twins(caller))
    floats = [each for each in twin.__code__.co_consts if isinstance(each, (float, np.floating))]
    assert floats == [np.float32(0.25)]
    assert all(type(each) is np.float32 for each in floats)
    assert type(twin.__globals__["SCALE"]) is np.float32
    assert twin.__globals__["SCALE"] == 0.5  # the value for single precision
    assert type(twin(np.float32(2.0))) is np.float32
    assert twin(np.float32(2.0)) == 1.25


def test_tuples_are_narrowed_and_whole_numbers_kept() -> None:
    twin = plain(DeviceSteps({}, single=always)(by_module))
    assert twin.__globals__["_NAMES"] == _NAMES
    narrowed = [each for each in plain(DeviceSteps({}, single=always)(callee)).__code__.co_consts if each is not None]
    assert [type(each) for each in narrowed if not isinstance(each, str)] == [np.float32]


def test_what_is_too_small_for_single_precision_is_raised() -> None:
    twin = plain(substitutes.device_steps(True)(curve.bonus_bounds))
    assert twin.__globals__["TINY"] == np.float32(1e-20)
    assert twin.__globals__["_ROUNDING"] == np.float32(1e-6)
    assert plain(substitutes.device_steps(False)(curve.bonus_bounds)).__globals__["TINY"] == curve.TINY


def test_a_single_uniform_is_the_double_one_with_fewer_digits() -> None:
    twin = plain(substitutes.device_steps(True)(tape.uniforms)).__globals__["unit"]
    for high in (0, 1, 511, 512, 2**31, 2**32 - 1):
        there = float(plain(twin)(np.uint64(high), np.uint64(0)))
        assert 0.0 < there < 1.0
        assert there == pytest.approx(tape.unit(np.uint64(high), np.uint64(0)), abs=2.0**-24)
