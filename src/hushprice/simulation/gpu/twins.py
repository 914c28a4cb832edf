"""The compiled steps once more, for a GPU: the same Python functions, calling each other's twins.

A step is a function of the package compiled for the CPU. Its twin is the same code compiled for the device, with the
steps it calls replaced by their twins, and with a few of them replaced by something else: sums over records that a
whole block of threads shares, or the device's own exp.

In single precision the constants of a step must be single too, or every product with one would be double. What is
known about a step's arguments is folded in (folded.py).
"""

from __future__ import annotations

import dis
import json
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher

from hushprice.simulation.gpu.folded import Known, fold
from hushprice.simulation.gpu.toolkit import device_step

Step = Callable[..., Any]


def _none(step: Step) -> bool:
    return False


class Twins:
    """Twins of steps, each made once.

    `instead` maps a function to what the device calls in its place: a step, and so its twin, or a device's function.
    Where `single` says so a step gets constants in single precision, those named in `constants` with these values, and
    calls what is in `quick` too.
    """

    def __init__(
        self,
        instead: Mapping[Step, Any],
        single: Callable[[Step], bool] = _none,
        constants: Mapping[str, float] | None = None,
        quick: Mapping[Step, Any] | None = None,
    ) -> None:
        self._instead = {_plain(step): other for step, other in instead.items()}
        self._quick = {_plain(step): other for step, other in (quick or {}).items()}
        self._single = single
        self._constants = dict(constants or {})
        self._made: dict[tuple[Step, str], Any] = {}

    def __call__(self, step: Step, told: Mapping[str, Known] | None = None) -> Any:
        """The twin of one step; `told` is what is known about its arguments."""
        plain = _plain(step)
        if plain in self._instead:
            other = self._instead[plain]
            return self(other, told) if isinstance(other, CPUDispatcher) else other  # a step with the same parameters
        key = plain, json.dumps(told or {}, sort_keys=True)
        if key not in self._made:
            self._made[key] = self._make(plain, self._single(plain), key[1])
        return self._made[key]

    def _make(self, plain: Any, single: bool, told: str) -> Any:
        code, calls = fold(plain, told) if told != "{}" else (plain.__code__, {})
        constants = tuple(_narrow(each) for each in code.co_consts) if single else code.co_consts
        found = {name: plain.__globals__[name] for name in _globals_of(code) if name in plain.__globals__}
        seen = {name: self._seen(name, value, single) for name, value in found.items()}
        for name, (callee, known) in calls.items():
            quick = single and _plain(callee) in self._quick
            seen[name] = self._quick[_plain(callee)] if quick else self(callee, known)
        seen["__builtins__"] = plain.__globals__["__builtins__"]
        twin = types.FunctionType(code.replace(co_consts=constants), seen, plain.__name__, plain.__defaults__)
        # Inlined, so that a room one customer wide ends up in registers. Fast arithmetic goes with single precision.
        return device_step(quick=single)(twin)

    def _seen(self, name: str, value: Any, single: bool) -> Any:
        """What the twin sees under a global name of its step."""
        if isinstance(value, types.ModuleType):
            return _Module(self, value, single)
        if single and callable(value) and _plain(value) in self._quick:
            return self._quick[_plain(value)]
        if isinstance(value, Dispatcher) or any(value is each for each in self._instead):
            return self(value)
        if single and type(value) is float:
            return np.float32(self._constants.get(name, value))
        return value


class _Module(types.ModuleType):
    """A module as twins see it."""

    def __init__(self, twins: Twins, module: types.ModuleType, single: bool) -> None:
        super().__init__(module.__name__)
        self.__dict__["_seen"] = lambda name: twins._seen(name, getattr(module, name), single)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__dict__["_seen"](name)


def _plain(step: Any) -> Any:
    return step.py_func if isinstance(step, Dispatcher) else step


def _globals_of(code: types.CodeType) -> list[str]:
    """The global names that a function reads, those of built-in functions too."""
    return sorted({each.argval for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL"})


def _narrow(value: Any) -> Any:
    if type(value) is float:
        return np.float32(value)
    return tuple(map(_narrow, value)) if type(value) is tuple else value
