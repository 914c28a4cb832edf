"""What a device calls instead of a CPU's step, and which steps run in single precision there.

The tape is the same: Philox in 32-bit words gives the bits that `numerics.tape` gives in 64-bit ones, and in single
precision a uniform is the same number with fewer digits. Sums over a trial's periods or a batch's records stay double
everywhere: adding a millionth to a thousand is lost in single precision.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hushprice import records
from hushprice.demand import family, features, welfare
from hushprice.mechanisms import tree
from hushprice.numerics import functions, tape
from hushprice.policies.newton.pricing import dispersion, probe
from hushprice.policies.newton.private import scores
from hushprice.price_search import certified, climb, coefficients, curve, many, one
from hushprice.simulation import contexts
from hushprice.simulation.gpu.cuda import SIMULATED, device_step
from hushprice.simulation.gpu.device_steps import DeviceSteps
from hushprice.simulation.kernels import baselines, customers, newton_prices, paper_prices

_M0, _M1 = np.uint32(0xD2511F53), np.uint32(0xCD9E8D57)
_W0, _W1 = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)
_32 = np.uint64(32)
_9 = np.uint32(9)
_HALF = np.float32(0.5)
_UNIT_23 = np.float32(1.0 / 8388608.0)
_UNIT_32 = np.float32(1.0 / 4294967296.0)
_TURN = np.float32(2.0 * math.pi)

_device, _fast = device_step(), device_step(fast=True)


@_fast
def _exp(x):  # type: ignore[no-untyped-def]
    return math.exp(x)


@_fast
def _log(x):  # type: ignore[no-untyped-def]
    return math.log(x)


@_fast
def _cos_sin_turn(u):  # type: ignore[no-untyped-def]
    return math.cos(_TURN * u), math.sin(_TURN * u)


@_device
def _multiple(step, count):  # type: ignore[no-untyped-def]
    return step * np.float32(count)


@_device
def _unit(high, low):  # type: ignore[no-untyped-def]
    return (np.float32(np.uint32(high) >> _9) + _HALF) * _UNIT_23  # with 24 bits it can round to 1


@_device
def _short_unit(word):  # type: ignore[no-untyped-def]
    return (np.float32(np.uint32(word)) + _HALF) * _UNIT_32  # rounds to 1 at the top, whose logarithm is no trouble


def _words() -> dict[Any, Any]:
    """Philox in words of 32 bits: a device multiplies these in one instruction, 64-bit ones in several."""
    from numba.core import types as kinds
    from numba.core.extending import intrinsic

    library: Any = importlib.import_module("numba.cuda.libdevice")

    def operation(instruction: str) -> Any:
        @intrinsic
        def on_words(typing_context, a, b):  # type: ignore[no-untyped-def]
            def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
                return getattr(builder, instruction)(*arguments)

            return kinds.uint32(kinds.uint32, kinds.uint32), generate

        return on_words

    times, either, plus, high = operation("mul"), operation("xor"), operation("add"), library.umulhi

    @_device
    def philox(key, c0, c1, c2, c3):  # type: ignore[no-untyped-def]
        k0, k1 = np.uint32(key), np.uint32(key >> _32)
        a, b, c, d = np.uint32(c0), np.uint32(c1), np.uint32(c2), np.uint32(c3)
        for _ in range(10):
            left, right = np.uint32(high(a, _M0)), np.uint32(high(c, _M1))
            b, d, a, c = times(c, _M1), times(a, _M0), either(either(right, b), k0), either(either(left, d), k1)
            k0, k1 = plus(k0, _W0), plus(k1, _W1)
        return np.uint64(a), np.uint64(b), np.uint64(c), np.uint64(d)

    @_device
    def floor(x):  # type: ignore[no-untyped-def]
        return library.floor(x)

    @_device
    def lowest_bit(count):  # type: ignore[no-untyped-def]
        return library.ffsll(count) - 1

    return {tape.philox: philox, np.floor: floor, tree._level: lowest_bit}


def _single_floor() -> dict[Any, Any]:
    library: Any = importlib.import_module("numba.cuda.libdevice")

    @_device
    def floor(x):  # type: ignore[no-untyped-def]
        return library.floorf(x)

    return {np.floor: floor}


_SINGLE_STEPS = {
    customers.arrive,
    customers.draw_coins,
    customers.respond,
    baselines.quote_blindly,
    paper_prices.quote,
    paper_prices.remember,
    paper_prices._hold,
    newton_prices.quote,
    contexts.fill,
    contexts.perturb,
    one.price_of_one,
    one.best_prices,
    one._by_grid,
    climb.certified,
    many.certify_window,
    functions.softplus,
    tape.uniform,
    tape.uniforms,
    tape.normals,
    tape.fill_normals,
    records.hold_to_unit_ball,
}
_SINGLE_MODULES = {
    each.__name__ for each in (curve, certified, coefficients, probe, dispersion, scores, family, welfare, features)
}
# What is too small for single precision, and what its rounding is.
_SINGLE_CONSTANTS = {
    "TINY": 1e-20,
    "_ROUNDING": 1e-6,
    "TOLERANCE": 2e-7,
    "_PEAK": 1e-8,
    "_NARROWEST": 1e-5,  # cells and brackets; below an ulp of a price the search would never end
}


def device_steps(single: bool, instead: dict[Any, Any] | None = None) -> DeviceSteps:
    """The device's steps: all in double precision, or the ones that run in every period in single."""
    swapped: dict[Any, Any] = {many.best_prices: one.best_prices, **(instead or {})}
    if not SIMULATED:
        ours = {np.sqrt: math.sqrt, np.isfinite: math.isfinite, np.isnan: math.isnan, np.cos: math.cos}
        swapped |= {**ours, np.log: math.log, np.log1p: math.log1p, **_words()}
    if not single:
        return DeviceSteps(swapped)
    fast: dict[Any, Any] = {
        functions.exp: _exp,
        functions.log: _log,
        functions.cos_sin_turn: _cos_sin_turn,
        functions.multiple: _multiple,
        tape.unit: _unit,
        tape.short_unit: _short_unit,
    }
    if not SIMULATED:
        fast |= _single_floor()
    return DeviceSteps(swapped, single=is_single, constants=_SINGLE_CONSTANTS, fast=fast)


def is_single(step: Callable[..., Any]) -> bool:
    """Does this step run in single precision, where that is asked for?"""
    return step.__module__ in _SINGLE_MODULES or step in _plain_single()


def _plain_single() -> set[Any]:
    return {getattr(step, "py_func", step) for step in _SINGLE_STEPS}


def narrowed(value: Any) -> Any:
    """Numbers, arrays and tuples of them in single precision."""
    if isinstance(value, tuple):
        parts = [narrowed(each) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, float):
        return np.float32(value)
    if isinstance(value, np.ndarray) and value.dtype == np.float64:
        return value.astype(np.float32)
    return value
