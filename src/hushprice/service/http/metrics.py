"""Figures for Prometheus, written by hand: a counter and a histogram need no library.

Public figures, and for an admin how long quotes took. How many outcomes came and what they said is computed from
customers' records, and a number read off them again and again is a release that nobody paid for: such figures are on
the operator's port alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from hushprice.service.http.answer_counts import AnswerCounts
from hushprice.service.shared.report_messages import ProductHealth

_BOUNDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class ProductFigures(NamedTuple):
    """What is public of a product and changes with time."""

    name: str
    slots: int
    releases: int
    learned: int
    claimed: float
    spent: float
    horizon_left: int
    ended: str | None  # why nothing is learned any more
    health: ProductHealth | None = None  # of policy cautious


class Latencies:
    """A histogram of how long quotes took, from the request's head to its answer."""

    def __init__(self) -> None:
        self._counts = [0] * (len(_BOUNDS) + 1)
        self._seconds = 0.0

    def add(self, seconds: float) -> None:
        """Count a quote that took so many seconds."""
        self._counts[bisect_left(_BOUNDS, seconds)] += 1
        self._seconds += seconds

    @property
    def count(self) -> int:
        """How many quotes were counted so far."""
        return sum(self._counts)

    def lines(self, name: str) -> list[str]:
        """The histogram as Prometheus reads it: counts up to and including each bound."""
        written, total = [], 0
        for bound, count in zip((*_BOUNDS, "+Inf"), self._counts, strict=True):
            total += count
            written.append(f'{name}_bucket{{le="{bound}"}} {total}')
        # To the millisecond: how long one quote took, read between two of them, may tell that a value was clipped.
        return [*written, f"{name}_sum {self._seconds:.3f}", f"{name}_count {total}"]


class ProcessFigures(NamedTuple):
    """What is public of this process."""

    store_up: bool
    learner_up: bool
    buffered: int
    overdue: float  # seconds
    looked: float  # seconds ago
    ended: Mapping[str, int]  # connections, by the limit they met
    answers: AnswerCounts
    alarms: Mapping[str, int] | None  # about keys, by kind; None where they are watched elsewhere
    restarts: int | None  # of the learner; None where it is no child of this process


def render(latencies: Latencies | None, products: Iterable[ProductFigures], process: ProcessFigures) -> str:
    """Everything, as text; without `latencies` only what no record can move."""
    listed = list(products)
    text: list[str] = []

    def family(name: str, kind: str, help: str, lines: list[str]) -> None:
        text.extend([f"# HELP {name} {help}", f"# TYPE {name} {kind}", *lines])

    def by_product(name: str, kind: str, help: str, field: str) -> None:
        family(name, kind, help, [f'{name}{{product="{each.name}"}} {getattr(each, field)}' for each in listed])

    def by_label(name: str, label: str, help: str, counts: Mapping[str, int]) -> None:
        family(name, "counter", help, [f'{name}{{{label}="{each}"}} {count}' for each, count in counts.items()])

    if latencies is not None:
        name = "hushprice_quote_seconds"
        family(name, "histogram", "Time to answer a request for a quote.", latencies.lines(name))
    by_product("hushprice_quotes_total", "counter", "Slots given, over all quoters.", "slots")
    by_product("hushprice_releases_total", "counter", "Releases made.", "releases")
    by_product("hushprice_slots_learned_total", "counter", "Slots learned up to the last release.", "learned")
    by_product("hushprice_epsilon_claimed", "gauge", "The budget.", "claimed")
    by_product("hushprice_epsilon_spent", "gauge", "What of it is spent.", "spent")
    by_product("hushprice_horizon_left", "gauge", "Slots that will still be learned from.", "horizon_left")
    name = "hushprice_learning_ended"
    ended = [f'{name}{{product="{each.name}",why="{each.ended}"}} 1' for each in listed if each.ended]
    family(name, "gauge", "1, with the reason, once nothing more is learned.", ended)
    for name, kind, help, lines in _health_families([each.health for each in listed if each.health is not None]):
        family(name, kind, help, lines)
    for name, help, value in (
        ("hushprice_store_up", "1 while the store answers.", int(process.store_up)),
        ("hushprice_learner_up", "1 while a learner works, and what is due is learned.", int(process.learner_up)),
        ("hushprice_quotes_buffered", "Quotes that wait for the store.", process.buffered),
        ("hushprice_overdue_seconds", "How long a slot has been due and is not learned.", process.overdue),
        ("hushprice_look_age_seconds", "Since this process last saw the store.", round(process.looked, 1)),
    ):
        family(name, "gauge", help, [f"{name} {value}"])
    # Not how many are open: purchases and deletions are told on some.
    said = "Connections that the service ended, by the limit they met."
    by_label("hushprice_connections_ended_total", "why", said, process.ended)
    answers, said = process.answers, "Answers of this process that no record can move."
    by_label("hushprice_answers_total", "class", said, answers.by_class())
    refused = {"unknown": answers.unknown_keys, "role": answers.wrong_roles}
    by_label("hushprice_refused_keys_total", "why", "Requests refused for their key.", refused)
    if process.restarts is not None:
        name, said = "hushprice_learner_restarts_total", "Restarts of a learner that died, since the service started."
        family(name, "counter", said, [f"{name} {process.restarts}"])
    if process.alarms is not None:
        said = "Alarms about API keys; the operator's port tells which."
        by_label("hushprice_key_alarms_total", "kind", said, process.alarms)
    return "\n".join(text) + "\n"


def _health_families(listed: list[ProductHealth]) -> list[tuple[str, str, str, list[str]]]:
    """How products of policy cautious do: from releases, which anybody may know. What is not known has no line."""
    status, gain = [], []
    fits: dict[str, list[str]] = {"conversion": [], "calibration": []}
    for each in listed:
        status.append(f'hushprice_product_status{{product="{each.product}",status="{each.status}"}} 1')
        for name, fit in (("conversion", each.conversion), ("calibration", each.by_believed_demand)):
            if fit is not None:
                seen = fit.observed
                values = {"believed": fit.believed, "observed": seen.estimate, "low": seen.low, "high": seen.high}
                fits[name] += _lines(f"hushprice_{name}", each.product, values)
        if each.gain is not None:
            gain += _lines("hushprice_gain", each.product, msgspec.structs.asdict(each.gain))
    changes = [f'hushprice_demand_changes_total{{product="{each.product}"}} {each.demand_changes}' for each in listed]
    alarms = [f'hushprice_self_freezes_total{{product="{each.product}"}} {each.alarms}' for each in listed]
    misfit = [f'hushprice_misfit{{product="{each.product}"}} {int(each.misfit)}' for each in listed]
    return [
        ("hushprice_product_status", "gauge", "1, with how the product does.", status),
        ("hushprice_conversion", "gauge", "Bought a visit, believed and observed with noise.", fits["conversion"]),
        (
            "hushprice_calibration",
            "gauge",
            "More sold a visit to who is a deviation likelier to buy, believed and observed with noise.",
            fits["calibration"],
        ),
        ("hushprice_misfit", "gauge", "1 where recent visitors buy otherwise than believed.", misfit),
        ("hushprice_gain", "gauge", "What prices earn more than the holdout, as a share of that.", gain),
        ("hushprice_demand_changes_total", "counter", "Times that demand was found to have changed.", changes),
        ("hushprice_self_freezes_total", "counter", "Times that prices were found to earn too little.", alarms),
    ]


def _lines(name: str, product: str, values: Mapping[str, float]) -> list[str]:
    return [f'{name}{{product="{product}",of="{each}"}} {value:.6g}' for each, value in values.items()]
