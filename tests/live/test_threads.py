"""Threads that share one pricer: every slot is learned once, with its own features and its own outcome."""

from __future__ import annotations

import copy
import pickle
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.policies.paper.paper_runs import on_tape

from hushprice import Pricer, Quote
from hushprice.demand.features import Affine
from hushprice.slots import Observation
from hushprice.types import FloatArray

THREADS, EACH, DELAY = 4, 150, 6


pytestmark = pytest.mark.usefixtures("eager_switches")


def opened(**changes: Any) -> Pricer:
    return on_tape(**{"horizon": 500, "exploration_periods": 4, "delay": DELAY} | changes)


def at_once(work: Callable[[int], Any], threads: int = THREADS) -> list[Any]:
    """What each thread returns; an exception in any of them is raised here."""
    start = threading.Barrier(threads)

    def begin(thread: int) -> Any:
        start.wait()
        return work(thread)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(begin, range(threads)))


def test_quotes_outcomes_and_saves_at_once_lose_and_repeat_nothing(tmp_path: Path) -> None:
    pricer = opened()

    def serve(thread: int) -> list[tuple[float, Quote, Observation]]:
        served = []
        for n in range(EACH):
            x = (thread * EACH + n) / (THREADS * EACH)  # nobody else's
            quote = pricer.quote([x])
            served.append((x, quote, pricer.observe(quote.id, True)))
        return served

    def work(thread: int) -> list[tuple[float, Quote, Observation]]:
        if thread < THREADS:
            return serve(thread)
        for n in range(10):
            pricer.save(tmp_path / f"{n}")
        return []

    served = [each for some in at_once(work, THREADS + 1) for each in some]
    slots, records = pricer.slots, pricer.learner.records
    assert slots.count == len(slots.status) == len({quote.id for _, quote, _ in served}) == THREADS * EACH
    assert slots.learned == slots.last == records.count == 500 - DELAY - 1
    assert not slots.pending
    for x, quote, answer in served:
        slot = int(quote.id.partition("-")[0], 16)
        assert (answer is Observation.NOT_LEARNED) == (slot > slots.last)
        if slot <= slots.last:
            u, v = pricer.features.parts(np.array([x]))
            np.testing.assert_allclose(records.phi[:, slot - 1], u + quote.price * v, rtol=1e-12)
            assert records.demand[slot - 1] == float(answer is Observation.RECORDED)
    made = sum(entry.count for entry in pricer.ledger.spent if entry.event == pricer.learner.estimate_event)
    assert made == pricer.quoter.version > 0
    for n in range(10):  # load refuses a file whose parts do not fit each other
        Pricer.load(tmp_path / f"{n}", simulation=True)


class Overlap:
    """A feature map's function that notes how many threads are in it at once, and waits `seconds` for another."""

    def __init__(self) -> None:
        self.inside, self.most, self.seconds, self.came = 0, 0, 0.0, threading.Condition()

    def __call__(self, x: FloatArray) -> FloatArray:
        with self.came:
            self.inside += 1
            self.most = max(self.most, self.inside)
            self.came.notify_all()
            self.came.wait_for(lambda: self.most > 1, self.seconds)
            self.inside -= 1
        return np.array([x[0], 0.0])


@pytest.mark.parametrize("locked", [True, False])
def test_one_thread_at_a_time_is_inside_and_more_would_be_seen(locked: bool) -> None:
    overlap = Overlap()
    features = Affine(1, 2, overlap, lambda x: np.array([0.0, -1.0]), 2.0, name="own")
    pricer = opened(features=features, exploration_periods=400)
    if not locked:
        pricer._lock = nullcontext()  # type: ignore[assignment]
    overlap.most, overlap.seconds = 0, 0.01 if locked else 60.0  # where nobody else may come, waiting is in vain
    at_once(lambda thread: pricer.quote([0.1 * thread]))
    assert (overlap.most == 1) == locked


@pytest.mark.parametrize("act", ["observe", "save"])
def test_outcomes_and_saves_wait_for_the_one_inside(act: str, tmp_path: Path) -> None:
    pricer = opened()
    quote = pricer.quote([0.1])
    call = {"observe": lambda: pricer.observe(quote.id, 1), "save": lambda: pricer.save(tmp_path / "pricer")}[act]
    with ThreadPoolExecutor(1) as pool:
        with pricer._lock:
            done = pool.submit(call)
            time.sleep(0.05)
            assert not done.done()
        done.result(timeout=240)


def test_a_pricer_cannot_be_copied_because_two_would_spend_one_budget() -> None:
    pricer = opened()
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="two of them would spend one budget"):
            copied(pricer)
