"""What is learned depends on slots alone: not on when outcomes come, in which order, or whether they come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice import Pricer, open_pricer
from hushprice.demand.families import Logistic
from hushprice.demand.features import Affine
from hushprice.noise import Tape
from hushprice.numerics import tape
from hushprice.numerics.jit import COMPILED
from hushprice.policies.paper.noise import Noise
from hushprice.policies.paper.policy import PaperPolicy, proven
from hushprice.policies.paper.rules import PaperRules
from hushprice.policies.protocol import basis_of
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.slots import Slots
from hushprice.types import FloatArray

COUNT = 80 if COMPILED else 40
CONTEXTS = np.random.default_rng(8).uniform(-1, 1, (COUNT, 2))
TUNING = PaperRules(exploration_periods=0, ridge=1.0, width=1.0, max_estimates=12)
NOISE = Noise(  # little of it, so that records decide prices, and so for a large claim
    covariance_noise=0.2,
    estimate_noise=2.0,
    estimate_ridge=1.0,
    output_noise=1e-3,
    floored=True,
    claimed=EpsilonDelta(1000.0, 1e-6),
    max_estimates=12,
)
OUTCOMES = np.random.default_rng(9).integers(0, 2, COUNT).astype(float)


class Shifted(Tape):
    """The tape, with estimates addressed `delay` periods back, where a stream without delay finds the same draw."""

    def __init__(self, delay: int) -> None:
        super().__init__(seed=4, trial=0)
        object.__setattr__(self, "delay", delay)

    def add(self, values: FloatArray, noise: float, stream: int, period: int) -> FloatArray:
        assert stream in (tape.ESTIMATE_NOISE, tape.OUTPUT_NOISE)
        return super().add(values, noise, stream, period - self.delay)  # type: ignore[attr-defined]


def opened(**changes: Any) -> Pricer:
    given: dict[str, Any] = {
        "horizon": COUNT - 3,
        "contexts": 2,
        "epsilon": 3000.0,
        "exploration_periods": 3,
        "ridge": 1.0,
        "source": Tape(seed=4, trial=0),
        "simulation": True,
    }
    return open_pricer(**{"policy": "paper"} | given | changes)


def releases(pricer: Pricer) -> tuple[Any, ...]:
    quoter = pricer.quoter
    return quoter.version, quoter.log_determinant, quoter.theta.tolist(), quoter.inverse.tolist()


@pytest.mark.parametrize("delay", [1, 4, 11])
def test_a_stream_with_a_delay_is_the_stream_without_one_shifted(delay: int) -> None:
    """The features ignore the price here: otherwise the records would differ, by prices set with less learned."""

    def stream(delay: int) -> list[tuple[Any, ...]]:
        horizon, basis = COUNT + delay, basis_of(Logistic(), 3)
        pricer = Pricer(
            policy=PaperPolicy(
                name="own",
                rules=TUNING,
                noise=NOISE,
                horizon=horizon,
                basis=basis,
                claimed=NOISE.claimed,
                proven=proven(NOISE, horizon=horizon, basis=basis, adjacency=Adjacency.REPLACE_ONE),
            ),
            demand=Logistic(),
            features=Affine(2, 3, lambda x: np.append(x, 0.5), lambda x: np.zeros(3), 1.5),
            horizon=horizon,
            delay=delay,
            source=Shifted(delay),
            simulation=True,
        )
        after = []
        for x, outcome in zip([*CONTEXTS, *CONTEXTS[:delay]], [*OUTCOMES, *OUTCOMES[:delay]], strict=True):
            pricer.observe(pricer.quote(x).id, outcome)
            after.append(releases(pricer))
        return after[delay:]

    at_once = stream(0)
    assert at_once[-1][0] >= 4
    assert stream(delay) == at_once


def prices(pricer: Pricer, arrivals: dict[int, list[int]]) -> list[float]:
    """All prices of a run in which, after quote n, the outcomes of the quotes in arrivals[n] come in, in that order."""
    quotes, given = [], []
    for n, x in enumerate(CONTEXTS):
        quotes.append(pricer.quote(x))
        given.append(quotes[-1].price)
        for slot in arrivals.get(n, []):
            pricer.observe(quotes[slot].id, OUTCOMES[slot])
    return given


IN_TURN = {n: [n] for n in range(COUNT)}


@settings(deadline=None, max_examples=25 if COMPILED else 5)
@given(st.data())
def test_outcomes_in_any_order_before_their_deadline_give_the_same_prices(data: st.DataObject) -> None:
    delay = data.draw(st.integers(0, 9))
    arrivals: dict[int, list[int]] = {}
    for slot in data.draw(st.permutations(range(COUNT))):
        arrivals.setdefault(slot + data.draw(st.integers(0, delay)), []).append(slot)
    assert prices(opened(delay=delay), arrivals) == prices(opened(delay=delay), IN_TURN)


def test_when_outcomes_come_matters_only_across_their_deadline() -> None:
    in_time = {n + 2: [n] for n in range(COUNT)}
    too_late = {n + 3: [n] for n in range(COUNT)}
    assert prices(opened(delay=2), in_time) == prices(opened(delay=2), IN_TURN)
    assert prices(opened(delay=2), too_late) == prices(opened(delay=2), {})
    assert prices(opened(delay=2), in_time) != prices(opened(delay=2), too_late)


def test_a_slot_learned_one_quote_early_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = prices(opened(delay=2), IN_TURN)

    def early(slots: Slots) -> tuple[FloatArray, float] | None:
        slots.delay -= 1
        try:
            return due(slots)
        finally:
            slots.delay += 1

    due = Slots.due
    monkeypatch.setattr(Slots, "due", early)
    assert prices(opened(delay=2), {n + 2: [n] for n in range(COUNT)}) != expected


def test_a_missing_outcome_is_learned_as_no_purchase() -> None:
    sales = {n: [n] for n in range(COUNT) if OUTCOMES[n] == 1.0}
    assert prices(opened(), sales) == prices(opened(), IN_TURN)


def test_a_late_outcome_changes_no_price() -> None:
    first = {n: [n] for n in range(1, COUNT)}
    late = {n: [n] for n in range(1, COUNT)} | {5: [5, 0]}
    assert prices(opened(), late) == prices(opened(), first)
