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
    return total


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


def test_functions_compute_the_same_whatever_was_compiled_before(asked: list[Any]) -> None:
    install()
    for x, y in [(1.5, 2), (2**55 + 1, 1), (1, 2.5), (2**55 + 3, 1)]:  # as a float such a number loses its last digit
        assert numba.njit(mixed)(x, y) == mixed(x, y)


def test_numba_is_asked_once_for_every_way_of_compiling(asked: list[Any]) -> None:
    def questions(fastmath: bool) -> int:
        asked.clear()
        numba.njit("(float64, float64)", fastmath=fastmath)(mixed)
        return len(asked)

    often = questions(False)
    install()
    assert 0 < questions(False) < often
    assert questions(False) == 0
    assert questions(True) > 0  # what it answers may be compiled by other rules
    assert questions(False) == questions(True) == 0


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
