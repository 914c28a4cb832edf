"""Pieces on this machine's GPU: batches of a cell's trials that fit its memory, several cells side by side.

A cell of a thousand trials keeps a large GPU busy for a fiftieth. So cells of one kin (simulation/gpu/run.py) go into
one batch, as many as memory holds. Batches run in threads of their own, each with its own queue of work on the device,
and pieces of one cell stay in order.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from hushprice.errors import InvalidInput
from hushprice.simulation.gpu import device
from hushprice.simulation.gpu.ahead import compile_ahead
from hushprice.simulation.gpu.run import Runner, bytes_of, fits, kin
from hushprice.simulation.gpu.toolkit import SIMULATED
from hushprice.simulation.places import Place, unfit
from hushprice.simulation.trial import Job
from hushprice.sweeps.block import Block
from hushprice.sweeps.cell import Cell
from hushprice.sweeps.executors import Advance, Ended
from hushprice.sweeps.piece import Missing, Piece

AT_ONCE = 1 if SIMULATED else 24  # cells: with more, the host cannot feed them all


Batches: TypeAlias = list[list[Piece]]  # one after the other; the pieces of one run at once, with the same trials


class _Stopped(Exception):
    """The run is over, for this thread too."""


class Gpu:
    """One GPU. A cell's kernels are compiled, and its rooms made, when its first piece comes."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def cut(self, missing: Missing) -> list[Piece]:
        """As few pieces as memory allows, in the order of the cells."""
        pieces: list[Piece] = []
        free = device.free_bytes()  # once: for thousands of cells the driver would take seconds to say it
        for cell, ranges in missing.items():
            misfit = unfit(cell.prepare())
            if misfit is not None:
                raise InvalidInput(f"policy {cell.policy!r}: {misfit}")
            size = self._most(cell.prepare(), free) if ranges else 1
            for numbers in ranges:
                pieces += [Piece(cell, numbers[at : at + size]) for at in range(0, len(numbers), size)]
        return pieces

    def run(self, pieces: Sequence[Piece], advance: Advance) -> Ended:
        budget, begun = device.free_bytes() if pieces else 0, 0
        waiting = self._together(pieces, budget)
        news: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        stop, running, done = threading.Event(), dict[int, int](), dict[int, int]()
        compile_ahead([group[0][0].cell.prepare() for group in waiting], precision=self.place.precision)
        threads: list[threading.Thread] = []
        try:
            while begun < len(waiting) or running:
                while begun < len(waiting) and len(running) < AT_ONCE:
                    each = self._bytes(waiting[begun])
                    if running and sum(running.values()) + each > budget:
                        break
                    running[begun] = each
                    threads.append(threading.Thread(target=self._run_cell, args=(begun, waiting[begun], stop, news)))
                    threads[-1].start()
                    begun += 1
                number, told = news.get()
                if isinstance(told, int):
                    done[number] = told
                    advance(sum(done.values()))
                elif isinstance(told, BaseException):
                    raise told
                elif told is None:
                    del running[number]
                else:
                    yield told
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    def _together(self, pieces: Sequence[Piece], free: int) -> list[Batches]:
        """What each thread runs: a cell's pieces one after the other, or the only pieces of several cells at once."""
        cells: dict[Cell, list[Piece]] = {}
        for piece in pieces:
            cells.setdefault(piece.cell, []).append(piece)
        found: list[Batches] = []
        open_to: dict[Any, list[Piece]] = {}  # batches that more cells may join
        for own in cells.values():
            job, numbers = own[0].cell.prepare(), own[0].numbers
            key = kin(job) if len(own) == 1 else None, numbers
            if key[0] is None:
                found.append([[piece] for piece in own])
            elif key in open_to and (len(open_to[key]) + 1) * len(numbers) <= self._most(job, free):
                open_to[key] += own
            else:
                open_to[key] = own
                found.append([own])
        return found

    def _most(self, job: Job, free: int) -> int:
        return fits(job, precision=self.place.precision, free=free)

    def _bytes(self, batches: Batches) -> int:
        trials = _largest(batches) * len(batches[0])
        return bytes_of(batches[0][0].cell.prepare(), trials, precision=self.place.precision)

    def _run_cell(self, number: int, batches: Batches, stop: threading.Event, news: Any) -> None:
        """One cell, or several in one batch, in a thread; into `news` go periods done, results, the end or an error."""
        try:
            for told in self._results(batches, stop, news, number):
                news.put((number, told))
            news.put((number, None))
        except _Stopped:
            return
        except BaseException as problem:
            news.put((number, problem))

    def _results(
        self, batches: Batches, stop: threading.Event, news: Any, number: int
    ) -> Iterator[tuple[Piece, Block]]:
        job, *beside = (piece.cell.prepare() for piece in batches[0])
        runner = Runner(job, precision=self.place.precision, most=_largest(batches), beside=beside)
        before = 0
        for batch in batches:

            def told(done: int, before: int = before) -> None:
                if stop.is_set():
                    raise _Stopped
                news.put((number, before + done))

            started = time.perf_counter()
            numbers = batch[0].numbers
            found = runner.run(numbers, told)
            seconds = (time.perf_counter() - started) / len(batch)
            for row, piece in enumerate(batch):
                own = found.part(slice(row * len(numbers), (row + 1) * len(numbers)))
                before += piece.periods
                yield piece, Block.holding(own, first=numbers.start, seconds=seconds)

    def close(self) -> None:
        """Nothing outlives a run."""


def _largest(batches: Batches) -> int:
    """Trials of a cell."""
    return max(len(batch[0].numbers) for batch in batches)
