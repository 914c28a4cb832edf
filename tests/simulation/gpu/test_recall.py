"""Answers that numba gave before are given again, and only where its versions are the ones that were read."""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import Any

import numba
import pytest

from hushprice.numerics.jit import COMPILED
from hushprice.simulation.gpu.recall import install, recall

pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
FUNCTIONS: Any = importlib.import_module("numba.core.types.functions")


def mixed(x: Any, y: Any) -> Any:
    total = x + y
    for i in range(3):
        total = total + x * y + i * x
    return total + (x + y) * (x + y)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What numba itself is asked from now on; its own way comes back after the test."""
    questions: list[Any] = []
    ask = FUNCTIONS.BaseFunction.get_call_type

    def count(self: Any, context: Any, args: Any, kws: Any) -> Any:
        questions.append((str(self), tuple(args)))
        return ask(self, context, args, kws)

    monkeypatch.setattr(FUNCTIONS.BaseFunction, "get_call_type", count)
    return questions


def test_functions_compute_the_same_and_numba_is_asked_once(asked: list[Any]) -> None:
    numba.njit(mixed).compile("(float64, int64)")
    often, whole = len(asked), numba.njit(mixed)(1.5, 2)
    asked.clear()
    install()
    for fastmath in (False, True, False):
        compiled = numba.njit(fastmath=fastmath)(mixed)
        assert compiled(1.5, 2) == whole == mixed(1.5, 2)
        assert compiled(3, 4) == mixed(3, 4)
    assert len(asked) < often


def test_what_does_not_fit_is_still_refused(asked: list[Any]) -> None:
    install()
    for _ in range(2):
        with pytest.raises(numba.TypingError):
            numba.njit(mixed).compile("(float64, unicode_type)")


@pytest.mark.parametrize(
    ("versions", "changed"),
    [
        ({"numba": "0.68.1", "numba-cuda": "0.30.4"}, True),
        ({"numba": "0.68.1", "numba-cuda": "0.31.0"}, False),
        ({"numba": "0.68.1"}, False),
    ],
)
def test_other_versions_are_left_alone(
    asked: list[Any], monkeypatch: pytest.MonkeyPatch, versions: dict[str, str], changed: bool
) -> None:
    def version(name: str) -> str:
        if name not in versions:
            raise importlib.metadata.PackageNotFoundError(name)
        return versions[name]

    before = FUNCTIONS.BaseFunction.get_call_type
    monkeypatch.setattr(importlib.metadata, "version", version)
    assert recall() == changed
    assert (FUNCTIONS.BaseFunction.get_call_type is not before) == changed
