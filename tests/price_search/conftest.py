"""Curves to price, and two ways to judge a price: an oracle that shares no code with the search, and mutants of it."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from hushprice.demand.family import GAUSSIAN, LOGISTIC, POISSON
from hushprice.price_search import certified, climb, curve, many
from hushprice.price_search.plain import dense_price

FORMS = ("definite", "singular", "nearly singular", "indefinite", "indefinite arch", "negative", "linear", "constant")


class Case(NamedTuple):
    """One customer, in the order of best_price's arguments."""

    family: int
    slope: float
    a: float
    b: float
    q0: float
    q1: float
    q2: float
    width: float

    def form(self, p: Any) -> Any:
        return self.q0 + p * (self.q1 + p * self.q2)

    def revenue(self, p: Any) -> Any:
        return p * _mean(self.family, self.slope, self.a + self.b * p)

    def value(self, p: Any) -> Any:
        """U, in NumPy's extended precision when p is."""
        return self.revenue(p) + self.width * np.sqrt(np.maximum(0, self.form(p)))

    def blur(self, p: float) -> float:
        """What rounding q by a few units in the last place can change U by."""
        slack = 1e-15 * (abs(self.q0) + abs(self.q1) + abs(self.q2))
        q = self.form(p)
        return float(self.width * (np.sqrt(max(0.0, q + slack)) - np.sqrt(max(0.0, q - slack))))


def _mean(family: int, slope: float, z: Any) -> Any:
    if family == LOGISTIC:
        return 0.5 + 0.5 * np.tanh(0.5 * slope * z)
    return np.exp(slope * z) if family == POISSON else z


@functools.cache
def _oracle(case: Case) -> float:
    demand: Any = SimpleNamespace(mean=lambda z: _mean(case.family, case.slope, z))
    return dense_price(demand, case.a, case.b, (case.q0, case.q1, case.q2), case.width)


def _loss(case: Case, chosen: float) -> float:
    """How much value the price gives away, relative above 1, beyond what rounding of q can explain."""
    best = _oracle(case)
    top, got = case.value(np.longdouble(best)), case.value(np.longdouble(chosen))
    return float((top - got - case.blur(best) - case.blur(chosen)) / max(1.0, float(top)))


def _form(kind: str, rng: np.random.Generator) -> tuple[float, float, float]:
    first, second = rng.uniform(-0.3, 1.3, 2)  # roots: inside [0, 1] more often than not
    if kind in ("definite", "negative"):
        u, v = rng.normal(size=(2, 2))
        q = (u @ u, 2 * u @ v, v @ v)
        return q if kind == "definite" else (-q[0], -q[1], -q[2])
    if kind == "singular":
        exact = round(first * 64) / 64  # no rounding: the discriminant is exactly zero
        return exact * exact, -2 * exact, 1.0
    if kind == "nearly singular":
        return first * first + rng.choice([-1, 1]) * 10 ** rng.uniform(-17, -3), -2 * first, 1.0
    if kind == "indefinite":
        return first * second, -first - second, 1.0
    if kind == "indefinite arch":
        return -first * second, first + second, -1.0
    return (rng.normal(), rng.normal(), 0.0) if kind == "linear" else (rng.normal(), 0.0, 0.0)


def _case(family: int, kind: str, rng: np.random.Generator) -> Case:
    slope = float(rng.choice([0.1, 1.0, 4.0, 10.0]))
    wild = rng.random() < 0.3
    steep = (
        10 ** rng.uniform(-3, 3 if family != POISSON else 1.5) if wild else 10 ** rng.uniform(-0.5, 1.5)
    )  # |slope b|
    b = steep / slope * (1 if rng.random() < 0.2 else -1)
    a = -b * rng.uniform(-0.2, 1.2) + rng.normal() * rng.choice([0.0, 0.1, 1.0])
    a = float(np.clip(a, -40 / slope, 40 / slope)) if family == POISSON else float(a)
    size = 10 ** rng.uniform(-6, 1)
    q0, q1, q2 = (float(size * q) for q in _form(kind, rng))
    width = 0.0 if rng.random() < 0.05 else float(10 ** rng.uniform(-3, 2))
    return Case(family, slope, a, float(b), q0, q1, q2, width)


def _near_tie(case: Case, rng: np.random.Generator) -> Case:
    """The same customer, with a width at which the best price is about to jump between peaks, if there is one."""
    grid = np.linspace(0.0, 1.0, 513)
    revenue, spread = case.revenue(grid), np.sqrt(np.maximum(0.0, case.form(grid)))

    def top(width: float) -> float:
        return float(grid[np.argmax(revenue + width * spread)])

    widths = np.geomspace(1e-3, 100.0, 31)
    (jumps,) = np.nonzero(np.abs(np.diff([top(width) for width in widths])) > 0.1)
    if not jumps.size:
        return case
    low, high = widths[jumps[0]], widths[jumps[0] + 1]
    start = top(low)
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if abs(top(middle) - start) < 0.05 else (low, middle)
    return case._replace(width=float(low * (1 + rng.choice([-1, 1]) * 10 ** rng.uniform(-9, -1.5))))


def _cases(count: int, seed: int, kinds: tuple[str, ...] = FORMS) -> Iterator[Case]:
    rng = np.random.default_rng(seed)
    for i in range(count):
        case = _case((LOGISTIC, GAUSSIAN, POISSON)[i % 3], kinds[i // 3 % len(kinds)], rng)
        yield _near_tie(case, rng) if rng.random() < 0.8 else case


def _mutant(name: str, *edits: tuple[str, str]) -> Callable[..., Any]:
    """`name` of the optimizer from edited source, un-compiled, so that a planted bug costs no compilation."""
    sources = {module.__name__: inspect.getsource(module) for module in (curve, certified, climb, many)}
    for old, _ in edits:
        assert any(old in source for source in sources.values()), f"the planted bug no longer fits the source: {old}"
    namespace: dict[str, Any] = {}
    try:
        for home, source in sources.items():
            for old, new in edits:
                source = source.replace(old, new)
            source = re.sub(
                r"from hushprice.numerics.jit import .*", "step = inlined = merged = lambda function: function", source
            )
            module = ModuleType(_renamed(home))
            sys.modules[module.__name__] = module
            exec(compile(_renamed(source), "mutant", "exec"), module.__dict__)
            namespace.update(module.__dict__)
    finally:
        for home in sources:
            sys.modules.pop(_renamed(home), None)
    return namespace[name]


def _renamed(text: str) -> str:
    """A mutant imports mutants."""
    return text.replace("hushprice.price_search.", "mutant_")


@pytest.fixture(scope="session")
def cases() -> Callable[..., Iterator[Case]]:
    """cases(count, seed): customers of all families and forms, most of them with two peaks nearly tied."""
    return _cases


@pytest.fixture(scope="session")
def customer() -> type[Case]:
    return Case


@pytest.fixture(scope="session")
def loss() -> Callable[[Case, float], float]:
    return _loss


@pytest.fixture(scope="session")
def mutant() -> Callable[..., Callable[..., Any]]:
    return _mutant
