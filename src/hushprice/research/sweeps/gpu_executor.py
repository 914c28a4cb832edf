"""Pieces on this machine's GPU: batches of a cell's trials that fit its memory, several cells side by side.

A cell of a thousand trials occupies a fiftieth of a large GPU. So cells with one batch_key (simulation/gpu) go into one
batch, and several batches run at once, in threads of their own, each with its own stream of work on the device. Memory
is asked for once and then cut here: the driver may wait for everything that runs. A batch begins when its kernels are
compiled and there is memory for it.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from hushprice.errors import HushpriceError, InvalidInput
from hushprice.research.sweeps.block import Block
from hushprice.research.sweeps.cell import Cell
from hushprice.research.sweeps.executors import Advance, Ended
from hushprice.research.sweeps.trial_range import Missing, TrialRange
from hushprice.simulation.device import ChosenDevice, unfit
from hushprice.simulation.gpu.cuda import SIMULATED
from hushprice.simulation.gpu.device_facts import errors_in_one_line
from hushprice.simulation.gpu.memory_pool import MemoryBlock, MemoryPool
from hushprice.simulation.gpu.policy_batches import batch_bytes, batch_key, compiles_longest, kernel_names, most_trials
from hushprice.simulation.gpu.precompile import Precompiler
from hushprice.simulation.gpu.session import GpuSession, process_session
from hushprice.simulation.gpu.trial_batches import BatchRunner
from hushprice.simulation.trial import Job

AT_ONCE = 1 if SIMULATED else 24  # batches: with more, the host cannot feed them all
SHARES = 5  # of the device; cells share a batch up to one of them
SHORTER = 5  # times; what may use memory that a longer one waits for
SMALL = 1 << 30  # bytes; policies that store no records take less

Batches: TypeAlias = list[list[TrialRange]]  # one after the other; the pieces of one run at once, with the same trials


@dataclass
class Work:
    """What one thread runs, and the memory it takes."""

    batches: Batches
    bytes: int
    kernels: list[str]
    urgent: bool = False  # among the longest: whoever comes late would make everybody wait
    passed: bool = False  # it went before a long one that waited for memory
    memory: MemoryBlock | None = None  # None: the runner asks for its own
    stream: Any = None

    @property
    def horizon(self) -> int:
        return self.batches[0][0].cell.horizon

    def give(self, pool: MemoryPool) -> None:
        """Give the job's memory back to the pool."""
        if self.memory is not None:
            pool.give([self.memory])


class _Stopped(Exception):
    """The run is over, for this thread too."""


class Gpu:
    """One GPU. Kernels are compiled in other processes from when cells are expected; each batch makes its arrays."""

    def __init__(self, chosen: ChosenDevice, session: GpuSession | None = None) -> None:
        self.chosen, self._session = chosen, session or process_session()
        self._compiler = Precompiler(self._session, chosen.precision)

    def expect(self, cells: Sequence[Cell], lacks: Callable[[Cell], bool]) -> None:
        """Begin to compile, going by the first cell of each kind, while the others are being prepared."""
        kinds: dict[Any, Cell] = {}
        for cell in cells:
            kinds.setdefault((cell.policy, cell.dimension, id(cell.market), cell.features), cell)
        for longest in (True, False):  # they do not wait until other cells are prepared
            jobs = []
            for cell in kinds.values():
                with suppress(HushpriceError):  # what is refused is refused again in its turn
                    if compiles_longest(cell.policy) is longest and lacks(cell) and unfit(cell.prepare()) is None:
                        jobs.append(cell.prepare())
            self._compiler.need(jobs)

    def cut(self, missing: Missing) -> list[TrialRange]:
        """The batches: as few pieces as memory allows, in the order of the cells."""
        pieces: list[TrialRange] = []
        free = self._session.free_bytes()  # once: for thousands of cells the driver would take seconds to say it
        for cell, ranges in missing.items():
            misfit = unfit(cell.prepare())
            if misfit is not None:
                raise InvalidInput(f"policy {cell.policy!r}: {misfit}")
            size = self._most(cell.prepare(), free) if ranges else 1
            for numbers in ranges:
                pieces += [TrialRange(cell, numbers[at : at + size]) for at in range(0, len(numbers), size)]
        return pieces

    def run(self, pieces: Sequence[TrialRange], advance: Advance) -> Ended:
        """The pieces and their blocks as they end, in whatever order."""
        memory = self._session.free_bytes() if pieces else 0
        waiting = [self._work(batches) for batches in self._together(pieces, memory)]
        jobs = [work.batches[0][0].cell.prepare() for work in waiting]
        news: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self._compiler.on_ready = lambda: news.put((-1, None))
        self._compiler.need(jobs)
        stop, running, done = threading.Event(), dict[int, Work](), dict[int, int]()
        threads: list[threading.Thread] = []
        try:
            free = self._reserve(waiting, memory)
            while waiting or running:
                while len(running) < AT_ONCE and (work := self._next(waiting, running.values())) is not None:
                    number = len(threads)
                    running[number], work.stream = work, free[work.urgent].pop()
                    threads.append(threading.Thread(target=self._run_cell, args=(number, work, stop, news)))
                    threads[-1].start()
                number, event = _next_of(news)
                while isinstance(event, int):  # nothing has begun or ended: nobody else can begin
                    done[number] = event
                    advance(sum(done.values()))
                    number, event = _next_of(news)
                if isinstance(event, BaseException):
                    raise event
                if event is not None:
                    yield event
                elif number >= 0:
                    free[running[number].urgent].append(running[number].stream)
                    running.pop(number).give(self._session.memory)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
            for work in running.values():
                work.give(self._session.memory)

    def _together(self, pieces: Sequence[TrialRange], free: int) -> list[Batches]:
        """What each thread runs: a cell's pieces one after the other, or the only pieces of several cells at once.

        These take a fifth of the device at most: large batches use memory worse, and nobody works while one makes its
        estimates.
        """
        cells: dict[Cell, list[TrialRange]] = {}
        for piece in pieces:
            cells.setdefault(piece.cell, []).append(piece)
        together: list[Batches] = []
        open_to: dict[Any, list[TrialRange]] = {}  # batches that more cells may join
        for own in cells.values():
            job, numbers = own[0].cell.prepare(), own[0].numbers
            key = batch_key(job) if len(own) == 1 else None, numbers
            if key[0] is None:
                together.append([[piece] for piece in own])
            elif key in open_to and (len(open_to[key]) + 1) * len(numbers) <= self._most(job, free) // SHARES:
                open_to[key] += own
            else:
                open_to[key] = own
                together.append([own])
        return together

    def _most(self, job: Job, free: int) -> int:
        return most_trials(job, precision=self.chosen.precision, free=free)

    def _work(self, batches: Batches) -> Work:
        job, precision = batches[0][0].cell.prepare(), self.chosen.precision
        trials = _largest(batches) * len(batches[0])
        return Work(batches, batch_bytes(job, trials, precision=precision), kernel_names(job, precision))

    def _reserve(self, waiting: Sequence[Work], memory: int) -> dict[bool, list[Any]]:
        """Ask the driver for the memory that all of it takes together, as far as there is so much; and for streams."""
        if not waiting:
            return {}
        with errors_in_one_line():
            if not SIMULATED:
                self._session.memory.reserve(min(memory, sum(work.bytes for work in waiting)))
            longest = max(work.horizon for work in waiting)
            for work in waiting:
                work.urgent = 2 * work.horizon > longest
            count = min(AT_ONCE, len(waiting))
            return {urgent: self._session.streams(count, urgent=urgent) for urgent in (False, True)}

    def _next(self, waiting: list[Work], running: Collection[Work]) -> Work | None:
        """The first of what waits that can begin: compiled, and with memory set aside for it.

        Where the first that is compiled has to wait for memory, small ones may go before it, and of the others one at a
        time that is much shorter: it takes what would lie idle. More at once might take turns, and the first wait
        forever. Where one before it is not compiled yet, it leaves half of the memory. One that is larger than what is
        reserved runs alone.
        """
        if any(other.memory is None for other in running):  # it asks the driver, who may need all that is idle for it
            return None
        pool = self._session.memory
        patient: Work | None = None
        late = False
        for at, work in enumerate(waiting):
            large = work.bytes > SMALL
            if not self._compiler.ready(work.kernels):
                late = late or large
                continue
            if large and late and not _leaves_half(work, running, pool):
                continue
            if large and patient is not None and not _may_pass(work, patient, running):
                continue
            work.memory = None if SIMULATED else pool.take_idle(work.bytes, last=not work.urgent)
            if work.memory is not None or not running:
                work.passed = large and patient is not None
                return waiting.pop(at)
            patient = patient or work
        return None

    def _run_cell(self, number: int, work: Work, stop: threading.Event, news: Any) -> None:
        """One cell, or several in one batch, in a thread; into `news` go periods done, results, the end or an error."""
        try:
            for result in self._results(work, stop, news, number):
                news.put((number, result))
            news.put((number, None))
        except _Stopped:
            return
        except BaseException as problem:
            news.put((number, problem))

    def _results(self, work: Work, stop: threading.Event, news: Any, number: int) -> Iterator[tuple[TrialRange, Block]]:
        batches = work.batches
        job, *beside = (piece.cell.prepare() for piece in batches[0])
        given = {"most": _largest(batches), "beside": beside, "stream": work.stream, "block": work.memory}
        runner = BatchRunner(self._session, job, precision=self.chosen.precision, **given)
        before = 0
        for batch in batches:

            def progress(done: int, before: int = before) -> None:
                if stop.is_set():
                    raise _Stopped
                news.put((number, before + done))

            started = time.perf_counter()
            numbers = batch[0].numbers
            trials = runner.run(numbers, progress)
            seconds = (time.perf_counter() - started) / len(batch)
            for row, piece in enumerate(batch):
                own = trials.part(slice(row * len(numbers), (row + 1) * len(numbers)))
                before += piece.periods
                yield piece, Block.holding(own, first=numbers.start, seconds=seconds)

    def close(self) -> None:
        """End the processes that compile."""
        self._compiler.close()


def _may_pass(work: Work, patient: Work, running: Collection[Work]) -> bool:
    return work.horizon * SHORTER <= patient.horizon and not any(other.passed for other in running)


def _leaves_half(work: Work, running: Collection[Work], pool: MemoryPool) -> bool:
    return 2 * work.bytes + sum(other.bytes for other in running) <= pool.idle


def _next_of(news: queue.SimpleQueue[tuple[int, Any]]) -> tuple[int, Any]:
    """Waits in small steps: a library that handles Ctrl-C too may keep it from ending an endless wait."""
    while True:
        with suppress(queue.Empty):
            return news.get(timeout=0.1)


def _largest(batches: Batches) -> int:
    """The most trials that a cell of these batches has."""
    return max(len(batch[0].numbers) for batch in batches)
