"""Figures for Prometheus, written by hand: a counter and a histogram need no library.

Public figures, and for an admin how long quotes took. How many outcomes came and what they said is computed from
customers' records, and a number read off them again and again is a release that nobody paid for: such figures are on
the operator's port alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

from hushprice.service.http.connections import Connections

_BOUNDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class ProductFigures(NamedTuple):
    """What is public of a product and changes with time."""

    name: str
    slots: int
    releases: int
    learned: int
    claimed: float
    spent: float


class Latencies:
    """A histogram of how long quotes took, from the request's head to its answer."""

    def __init__(self) -> None:
        self._counts = [0] * (len(_BOUNDS) + 1)
        self._seconds = 0.0

    def add(self, seconds: float) -> None:
        """One more quote."""
        self._counts[bisect_left(_BOUNDS, seconds)] += 1
        self._seconds += seconds

    @property
    def count(self) -> int:
        """Quotes so far."""
        return sum(self._counts)

    def lines(self, name: str) -> list[str]:
        """The histogram as Prometheus reads it: counts up to and including each bound."""
        written, total = [], 0
        for bound, count in zip((*_BOUNDS, "+Inf"), self._counts, strict=True):
            total += count
            written.append(f'{name}_bucket{{le="{bound}"}} {total}')
        # To the millisecond: how long one quote took, read between two of them, may tell that a value was clipped.
        return [*written, f"{name}_sum {self._seconds:.3f}", f"{name}_count {total}"]


class HealthFigures(NamedTuple):
    """How the service does."""

    store_up: bool
    learner_up: bool
    buffered: int
    overdue: float
    looked: float


def render(
    latencies: Latencies | None,
    products: Iterable[ProductFigures],
    connections: Connections,
    health: HealthFigures,
) -> str:
    """Everything, as text; without `latencies` only what no record can move."""
    listed = list(products)
    text: list[str] = []

    def family(name: str, kind: str, help: str, lines: list[str]) -> None:
        text.extend([f"# HELP {name} {help}", f"# TYPE {name} {kind}", *lines])

    def by_product(name: str, kind: str, help: str, field: str) -> None:
        family(name, kind, help, [f'{name}{{product="{each.name}"}} {getattr(each, field)}' for each in listed])

    if latencies is not None:
        name = "hushprice_quote_seconds"
        family(name, "histogram", "Time to answer a request for a quote.", latencies.lines(name))
    by_product("hushprice_quotes_total", "counter", "Slots given, over all quoters.", "slots")
    by_product("hushprice_releases_total", "counter", "Releases made.", "releases")
    by_product("hushprice_slots_learned_total", "counter", "Slots learned up to the last release.", "learned")
    by_product("hushprice_epsilon_claimed", "gauge", "The budget.", "claimed")
    by_product("hushprice_epsilon_spent", "gauge", "What of it is spent.", "spent")
    for name, help, value in (
        ("hushprice_store_up", "1 while the store answers.", int(health.store_up)),
        ("hushprice_learner_up", "1 while a learner works, and what is due is learned.", int(health.learner_up)),
        ("hushprice_quotes_buffered", "Quotes that wait for the store.", health.buffered),
        ("hushprice_overdue_seconds", "How long a slot has been due and is not learned.", health.overdue),
        ("hushprice_look_age_seconds", "Since this process last saw the store.", round(health.looked, 1)),
    ):
        family(name, "gauge", help, [f"{name} {value}"])
    name = "hushprice_connections_ended_total"  # not how many are open: purchases and deletions are told on some
    ended = [f'{name}{{why="{why}"}} {count}' for why, count in connections.ended.items()]
    family(name, "counter", "Connections that the service ended, by the limit they met.", ended)
    return "\n".join(text) + "\n"
