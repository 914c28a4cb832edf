"""Runs of policy noisy-newton that several test files share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hushprice import Pricer, Quote, open_pricer
from hushprice.noise import System, Tape

COUNT, DELAY = 90, 3
CONTEXTS = np.random.default_rng(8).uniform(-1.0, 1.0, (COUNT, 2))
VALUES = np.random.default_rng(9).uniform(0.0, 1.0, COUNT)  # who is offered less buys
IN_TURN = {n: [n] for n in range(COUNT)}  # after which quote which outcomes come in


def opened(**changes: Any) -> Pricer:
    """Simulated, with little noise, so that records decide prices."""
    given: dict[str, Any] = {
        "policy": "noisy-newton",
        "horizon": COUNT + 10,
        "contexts": 2,
        "epsilon": 300.0,
        "delta": 1e-6,
        "delay": DELAY,
        "source": Tape(seed=4, trial=0),
        "simulation": True,
    }
    return open_pricer(**given | changes)


def live(**changes: Any) -> Pricer:
    return opened(**{"source": None, "simulation": False} | changes)


def bought(n: int, price: float) -> float:
    return float(price < VALUES[n])


def serve(
    pricer: Pricer,
    arrivals: dict[int, list[int]] | None = None,
    *,
    start: int = 0,
    stop: int = COUNT,
    quotes: list[Quote] | None = None,
    bought: Callable[[int, float], float] = bought,
) -> list[float]:
    """Prices of quotes start to stop - 1; after quote n outcomes of the quotes in arrivals[n] come, in that order."""
    quotes = [] if quotes is None else quotes
    for n in range(start, stop):
        quotes.append(pricer.quote(CONTEXTS[n]))
        for slot in (IN_TURN if arrivals is None else arrivals).get(n, []):
            pricer.observe(quotes[slot].id, bought(slot, quotes[slot].price))
    return [quote.price for quote in quotes[start:]]


def seeded_system(monkeypatch: pytest.MonkeyPatch, seed: int = 5) -> None:
    """The operating system's randomness, the same in every run: what is drawn once more or once less is seen."""
    draws = np.random.default_rng(seed)

    def integers(self: System, scale: float, count: int) -> list[int]:
        return [round(scale * value) for value in draws.standard_normal(count)]

    def uniform(self: System, stream: int, period: int) -> float:
        return float(draws.uniform())

    monkeypatch.setattr(System, "integers", integers)
    monkeypatch.setattr(System, "uniform", uniform)


def fail_draw(monkeypatch: pytest.MonkeyPatch, failing: int) -> list[int]:
    """From now on this draw of normals fails, once. Returns how many there were so far, as a list of one number."""
    real, calls = Tape.normals, [0]

    def normals(self: Tape, stream: int, period: int, count: int) -> Any:
        calls[0] += 1
        if calls[0] == failing:
            raise OSError("no randomness")
        return real(self, stream, period, count)

    monkeypatch.setattr(Tape, "normals", normals)
    return calls
