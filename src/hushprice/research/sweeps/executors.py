"""Where ranges of trials run. Whatever the place and the order, a trial is the same to its last digit."""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

import numpy as np

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.research.sweeps.block import Block
from hushprice.research.sweeps.cell import Cell
from hushprice.research.sweeps.trial_range import Missing, TrialRange, cut
from hushprice.simulation.device import CPU, ChosenDevice, choose
from hushprice.simulation.run import run_one, warm_up
from hushprice.simulation.trial import Job
from hushprice.types import IntArray

NAMES = ("local", "ray")
Advance = Callable[[int], None]  # periods done
Ended = Generator[tuple[TrialRange, Block], None, None]


class Executor(Protocol):
    """Runs ranges of trials and gives back each one's block as it ends; leaving the loop early stops the rest."""

    @property
    def chosen(self) -> ChosenDevice:
        """Which device computes, and how precisely: part of what a result is known by."""
        ...

    def expect(self, cells: Sequence[Cell], lacks: Callable[[Cell], bool]) -> None:
        """These cells come next, before they are prepared; a cell's results are not all there where it `lacks` some."""
        ...

    def cut(self, missing: Missing) -> list[TrialRange]:
        """Ranges of trials of a size that suits it; refuses cells that it cannot run."""
        ...

    def run(self, trial_ranges: Sequence[TrialRange], advance: Advance) -> Ended: ...

    def close(self) -> None: ...


class LocalExecutor:
    """Threads of this process: compiled code leaves the interpreter lock, so they use all cores."""

    def __init__(self, workers: int | None = None, chosen: ChosenDevice = CPU) -> None:
        if workers is not None:
            checks.whole(1, workers=workers)
        self.slots = workers or os.cpu_count() or 1
        self.chosen = chosen

    def expect(self, cells: Sequence[Cell], lacks: Callable[[Cell], bool]) -> None:
        """Do nothing: all is compiled already, or will be in a moment."""

    def cut(self, missing: Missing) -> list[TrialRange]:
        return cut(missing, self.slots)

    def run(self, trial_ranges: Sequence[TrialRange], advance: Advance) -> Ended:
        starts = np.cumsum([1, *(len(trial_range.numbers) for trial_range in trial_ranges)])
        control = np.zeros(int(starts[-1]), dtype=np.int64)  # [0]: stop; then the periods done in each trial
        with ThreadPoolExecutor(max(1, min(self.slots, len(trial_ranges)))) as pool:
            running: dict[Future[Block], TrialRange] = {}
            ended: queue.SimpleQueue[Future[Block]] = queue.SimpleQueue()  # of ten thousand, only those that ended
            try:
                for trial_range, start in zip(trial_ranges, starts, strict=False):
                    job = trial_range.cell.prepare()
                    future = pool.submit(run_trial_range, job, trial_range.numbers, control, int(start))
                    running[future] = trial_range
                    future.add_done_callback(ended.put)
                while running:
                    done = _next(ended)
                    advance(int(control[1:].sum()))
                    if done is not None:
                        yield running.pop(done), done.result()
            finally:
                control[0] = 1
                for future in running:
                    future.cancel()

    def close(self) -> None:
        """Do nothing: no thread outlives a run."""


def _next(ended: queue.SimpleQueue[Future[Block]]) -> Future[Block] | None:
    """What ends within a tenth of a second: progress is to be told meanwhile."""
    try:
        return ended.get(timeout=0.1)
    except queue.Empty:
        return None


def run_trial_range(job: Job, numbers: range, control: IntArray, counter: int) -> Block:
    """The trials of those numbers, one after another."""
    warm_up(job)
    started = time.perf_counter()
    trials = [run_one(job, number, control, counter + i) for i, number in enumerate(numbers)]
    return Block.of(trials, first=numbers.start, seconds=time.perf_counter() - started)


def open_executor(
    name: str = "local",
    *,
    workers: int | None = None,
    address: str | None = None,
    device: str = "cpu",
    precision: str = "double",
    jobs: Iterable[Job] = (),
) -> Executor:
    """The executor of that name, ready to run. Device "auto" takes a GPU only if it can run all of the jobs."""
    chosen = choose(device, precision, jobs)
    if name == "local":
        if address is not None:
            raise InvalidInput(f"address is for executor 'ray' alone, got {address!r} with executor 'local'")
        if chosen.device == "gpu":
            from hushprice.research.sweeps.gpu_executor import Gpu

            return Gpu(chosen)
        return LocalExecutor(workers, chosen)
    if name == "ray":
        if device != "cpu":
            raise InvalidInput(f"device {device!r} is for executor 'local' alone; a cluster computes on CPUs")
        if workers is not None:
            raise InvalidInput(f"workers is for executor 'local' alone, got {workers!r} with executor 'ray'")
        from hushprice.research.sweeps.ray_executor import RayExecutor

        return RayExecutor(address)
    raise InvalidInput(f"executor must be one of {', '.join(NAMES)}, got {name!r}")
