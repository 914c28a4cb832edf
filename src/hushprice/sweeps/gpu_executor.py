"""Pieces on this machine's GPU: batches of a cell's trials that fit its memory, one after the other."""

from __future__ import annotations

import time
from collections.abc import Sequence

from hushprice.errors import InvalidInput
from hushprice.simulation.gpu.run import Runner, fits
from hushprice.simulation.places import Place, unfit
from hushprice.sweeps.block import Block
from hushprice.sweeps.cell import Cell
from hushprice.sweeps.executors import Advance, Ended
from hushprice.sweeps.piece import Missing, Piece


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
        runner: Runner | None = None
        before, ready = 0, None
        for piece in pieces:
            if runner is None or piece.cell is not ready:
                runner = None  # its rooms are free before new ones are made
                ready, largest = piece.cell, _largest(pieces, piece.cell)
                runner = Runner(piece.cell.prepare(), precision=self.place.precision, most=largest)

            def told(done: int, before: int = before) -> None:
                advance(before + done)

            started = time.perf_counter()
            found = runner.run(piece.numbers, told)
            before += piece.periods
            yield piece, Block.holding(found, first=piece.numbers.start, seconds=time.perf_counter() - started)

    def close(self) -> None:
        """Nothing outlives a run."""


def _largest(pieces: Sequence[Piece], cell: Cell) -> int:
    """Trials of the cell's largest piece."""
    return max(len(piece.numbers) for piece in pieces if piece.cell is cell)
