"""Pieces on this machine's GPU: batches of a cell's trials that fit its memory, several cells side by side.

A cell of a thousand trials keeps a large GPU busy for a twentieth. So cells run in threads of their own, as many as
memory holds; each thread has its own queue of work on the device, and pieces of one cell stay in order.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from hushprice.errors import InvalidInput
from hushprice.simulation.gpu import device
from hushprice.simulation.gpu.ahead import compile_ahead
from hushprice.simulation.gpu.run import Runner, bytes_of, fits
from hushprice.simulation.gpu.toolkit import SIMULATED
from hushprice.simulation.places import Place, unfit
from hushprice.sweeps.block import Block
from hushprice.sweeps.executors import Advance, Ended
from hushprice.sweeps.piece import Missing, Piece

AT_ONCE = 1 if SIMULATED else 24  # cells: with more, the host cannot feed them all


class _Stopped(Exception):
    """The run is over, for this thread too."""


class Gpu:
    """One GPU. A cell's kernels are compiled, and its rooms made, when its first piece comes."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def cut(self, missing: Missing) -> list[Piece]:
        """As few pieces as memory allows, in the order of the cells."""
        pieces: list[Piece] = []
        for cell, ranges in missing.items():
            misfit = unfit(cell.prepare())
            if misfit is not None:
                raise InvalidInput(f"policy {cell.policy!r}: {misfit}")
            size = fits(cell.prepare(), precision=self.place.precision) if ranges else 1
            for numbers in ranges:
                pieces += [Piece(cell, numbers[at : at + size]) for at in range(0, len(numbers), size)]
        return pieces

    def run(self, pieces: Sequence[Piece], advance: Advance) -> Ended:
        waiting = [[piece for piece in pieces if piece.cell is cell] for cell in dict.fromkeys(p.cell for p in pieces)]
        news: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        stop, running, done = threading.Event(), dict[int, int](), dict[int, int]()
        compile_ahead([group[0].cell.prepare() for group in waiting], precision=self.place.precision)
        budget, begun = device.free_bytes() if waiting else 0, 0
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

    def _bytes(self, pieces: Sequence[Piece]) -> int:
        return bytes_of(pieces[0].cell.prepare(), _largest(pieces), precision=self.place.precision)

    def _run_cell(self, number: int, pieces: Sequence[Piece], stop: threading.Event, news: Any) -> None:
        """One cell in a thread; into `news` go periods done, results, and the end or an error."""
        try:
            for told in self._results(pieces, stop, news, number):
                news.put((number, told))
            news.put((number, None))
        except _Stopped:
            return
        except BaseException as problem:
            news.put((number, problem))

    def _results(
        self, pieces: Sequence[Piece], stop: threading.Event, news: Any, number: int
    ) -> Iterator[tuple[Piece, Block]]:
        runner = Runner(pieces[0].cell.prepare(), precision=self.place.precision, most=_largest(pieces))
        before = 0
        for piece in pieces:

            def told(done: int, before: int = before) -> None:
                if stop.is_set():
                    raise _Stopped
                news.put((number, before + done))

            started = time.perf_counter()
            found = runner.run(piece.numbers, told)
            before += piece.periods
            yield piece, Block.holding(found, first=piece.numbers.start, seconds=time.perf_counter() - started)

    def close(self) -> None:
        """Nothing outlives a run."""


def _largest(pieces: Sequence[Piece]) -> int:
    return max(len(piece.numbers) for piece in pieces)
