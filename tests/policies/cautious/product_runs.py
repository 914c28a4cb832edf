"""Runs of policy cautious in a live pricer that several test files share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hushprice import Pricer, Product, Quote, open_pricer
from hushprice.noise import System, Tape
from hushprice.policies.cautious.private.learner import CautiousLearner

COUNT, DELAY = 170, 3  # three batches
CONTEXTS = np.random.default_rng(8).uniform(-1.0, 1.0, (COUNT, 2))
VALUES = np.random.default_rng(9).uniform(6.0, 14.0, COUNT)  # who is offered less buys
PRODUCT = Product(
    floor=8.0, ceiling=12.0, reference_price=10.0, conversion=0.4, contexts=2, epsilon=30.0, delta=1e-6, risk=0.1
)


def opened(product: Product = PRODUCT, **changes: Any) -> Pricer:
    """Simulated, with little noise, so that records decide prices."""
    given: dict[str, Any] = {
        "product": product,
        "horizon": COUNT + 10,
        "delay": DELAY,
        "source": Tape(seed=4, trial=0),
        "simulation": True,
    }
    return open_pricer(**given | changes)


def live(product: Product = PRODUCT, **changes: Any) -> Pricer:
    """With the operating system's noise; coins are of a known key, so that two runs meet the same."""
    pricer = opened(product, **{"source": None, "simulation": False} | changes)
    pricer.engine.key = bytes(range(32))  # type: ignore[attr-defined]
    return pricer


def serve(pricer: Pricer, *, start: int = 0, stop: int = COUNT, quotes: list[Quote] | None = None) -> list[float]:
    """Prices of quotes start to stop - 1, each observed at once."""
    quotes = [] if quotes is None else quotes
    for n in range(start, stop):
        quotes.append(pricer.quote(CONTEXTS[n]))
        pricer.observe(quotes[n].id, quotes[n].price < VALUES[n])
    return [quote.price for quote in quotes[start:]]


def seeded_system(monkeypatch: pytest.MonkeyPatch, seed: int = 5) -> None:
    """The operating system's noise, the same in every run: what is drawn once more or once less is seen."""
    draws = np.random.default_rng(seed)

    def integers(self: System, scale: float, count: int) -> list[int]:
        return [round(scale * value) for value in draws.standard_normal(count)]

    def laplace_integers(self: System, scale: float, count: int) -> list[int]:
        return [round(scale * value) for value in draws.laplace(size=count)]

    monkeypatch.setattr(System, "integers", integers)
    monkeypatch.setattr(System, "laplace_integers", laplace_integers)


def absorbed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What the learner is given from now on, call by call."""
    seen: list[tuple[Any, ...]] = []
    real = CautiousLearner.absorb

    def absorb(self: CautiousLearner, *given: Any, holdout: Any = None) -> None:
        seen.append((*given, holdout))
        real(self, *given, holdout=holdout)

    monkeypatch.setattr(CautiousLearner, "absorb", absorb)
    return seen
