"""Cells side by side on one GPU, with a stand-in for what runs there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hushprice.simulation import room
from hushprice.simulation.gpu import device
from hushprice.simulation.places import Place
from hushprice.simulation.trial import Trials
from hushprice.sweeps import gpu_executor
from hushprice.sweeps.cell import Cell
from hushprice.sweeps.gpu_executor import Gpu

CELLS = [Cell(policy="random", horizon=30 + i) for i in range(5)]


class Device:
    """Counts what runs at once."""

    def __init__(self) -> None:
        self.lock, self.running, self.most, self.together = threading.Lock(), 0, 0, threading.Event()
        self.wanted = 1

    def enter(self) -> None:
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
            if self.running == self.wanted:
                self.together.set()
        assert self.together.wait(60)

    def leave(self) -> None:
        with self.lock:
            self.running -= 1


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Device:
    found = Device()

    class Runner:
        def __init__(self, job: Any, *, precision: str, most: int) -> None:
            self.horizon = job.horizon

        def run(self, numbers: range, advance: Callable[[int], None]) -> Trials:
            found.enter()
            try:
                if self.horizon == 99:
                    raise ValueError("broken")
                advance(len(numbers) * self.horizon)
                blank = np.zeros((len(numbers), room.TOTALS))
                none = tuple(np.zeros(0, dtype=np.int64) for _ in numbers)
                return Trials(totals=blank, regret_at=np.zeros((len(numbers), 1)), estimate_periods=none)
            finally:
                found.leave()

    monkeypatch.setattr(gpu_executor, "Runner", Runner)
    monkeypatch.setattr(gpu_executor, "AT_ONCE", 3)
    monkeypatch.setattr(gpu_executor, "compile_ahead", lambda jobs, precision: None)
    monkeypatch.setattr(gpu_executor, "fits", lambda job, precision: 4)
    monkeypatch.setattr(gpu_executor, "bytes_of", lambda job, trials, precision: 10 * trials)
    monkeypatch.setattr(device, "free_bytes", lambda: 1000)
    return found


def executor() -> Gpu:
    return Gpu(Place(device="gpu", library="test"))


def test_cells_run_side_by_side_and_all_come_back(gpu: Device) -> None:
    seen: list[int] = []
    gpu.wanted = 3
    pieces = executor().cut({cell: [range(6)] for cell in CELLS})
    ended = list(executor().run(pieces, seen.append))
    assert {(piece.cell, piece.numbers) for piece, _ in ended} == {(piece.cell, piece.numbers) for piece in pieces}
    assert gpu.most == 3
    assert seen == sorted(seen)
    assert seen[-1] == 6 * sum(cell.horizon for cell in CELLS)


def test_no_more_than_memory_holds(gpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "free_bytes", lambda: 79)  # 40 a cell: one, and never two
    pieces = executor().cut({cell: [range(4)] for cell in CELLS})
    assert len(list(executor().run(pieces, lambda done: None))) == len(CELLS)
    assert gpu.most == 1


def test_an_error_on_the_device_is_an_error_here(gpu: Device) -> None:
    pieces = executor().cut({cell: [range(4)] for cell in [CELLS[0], Cell(policy="random", horizon=99)]})
    with pytest.raises(ValueError, match="broken"):
        list(executor().run(pieces, lambda done: None))
    assert gpu.running == 0


def test_a_stop_reaches_every_thread(gpu: Device) -> None:
    def stop(done: int) -> None:
        raise KeyboardInterrupt

    pieces = executor().cut({cell: [range(40)] for cell in CELLS})
    with pytest.raises(KeyboardInterrupt):
        list(executor().run(pieces, stop))
    assert gpu.running == 0


def test_nothing_to_do(gpu: Device) -> None:
    assert list(executor().run([], lambda done: None)) == []
    executor().close()
