"""Threads that share a noisy-newton pricer: every slot is learned once, and no release is made twice."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.policies.newton.newton_runs import DELAY, opened

from hushprice import Pricer
from hushprice.noise import Tape

THREADS, EACH = 4, 60


pytestmark = pytest.mark.usefixtures("eager_switches")


def test_quotes_outcomes_and_saves_at_once_lose_and_repeat_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, drawn = Tape.normals, Counter[tuple[int, int]]()

    def normals(self: Tape, stream: int, period: int, count: int) -> Any:
        drawn[stream, period] += 1
        return real(self, stream, period, count)

    monkeypatch.setattr(Tape, "normals", normals)
    pricer = opened(contexts=1, horizon=200)
    start = threading.Barrier(THREADS + 1)

    def work(thread: int) -> None:
        start.wait()
        if thread == THREADS:
            for n in range(10):
                pricer.save(tmp_path / f"{n}")
            return
        for n in range(EACH):
            quote = pricer.quote([(thread * EACH + n) / (THREADS * EACH)])
            pricer.observe(quote.id, n % 2)

    with ThreadPoolExecutor(THREADS + 1) as pool:
        list(pool.map(work, range(THREADS + 1)))
    slots = pricer.slots
    assert slots.count == THREADS * EACH
    assert slots.learned == slots.last == pricer.learner.count == 200 - DELAY - 1
    assert pricer.quoter.version > 3
    assert set(drawn.values()) == {1}
    for n in range(10):  # load refuses a file whose parts do not fit each other
        Pricer.load(tmp_path / f"{n}", simulation=True)
