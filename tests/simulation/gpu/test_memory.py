"""Device memory that is handed on: never one piece to two, never much too large, and freed when there is no more."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from hushprice.simulation.gpu.memory import LEAST, Memory


@dataclass(eq=False)
class Piece:
    size: int


class Device:
    """So many bytes, of which pieces are made."""

    def __init__(self, size: int) -> None:
        self.size, self.cleaned = size, 0
        self.memory = Memory(self.allocate, self.clean)

    def allocate(self, size: int) -> Piece:
        if size > self.size:
            raise RuntimeError("[2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")
        self.size -= size
        return Piece(size)

    def clean(self) -> None:
        self.cleaned += 1
        self.size = 100 * LEAST  # all that nobody holds is free again


def test_a_piece_is_handed_on_but_never_to_two() -> None:
    memory = Device(100 * LEAST).memory
    first, second = memory.take(5 * LEAST), memory.take(5 * LEAST)
    assert first is not second
    pieces = [first]
    memory.give(pieces)
    assert (memory.idle, pieces) == (5 * LEAST, [])
    assert memory.take(4 * LEAST) is first
    assert memory.take(4 * LEAST) is not first
    assert memory.idle == 0


def test_the_smallest_that_fits_is_taken_and_none_that_is_much_too_large() -> None:
    memory = Device(100 * LEAST).memory
    pieces = [memory.take(size * LEAST) for size in (9, 3, 4)]
    _, three, _ = pieces
    memory.give(pieces)
    assert memory.take(2 * LEAST) is three
    assert memory.take(1).size == LEAST


def test_idle_pieces_are_freed_where_there_is_no_more_memory() -> None:
    device = Device(10 * LEAST)
    device.memory.give([device.memory.take(9 * LEAST)])
    assert device.memory.take(20 * LEAST).size == 20 * LEAST
    assert (device.cleaned, device.memory.idle) == (1, 0)
    with pytest.raises(RuntimeError, match="OUT_OF_MEMORY"):
        device.memory.take(1000 * LEAST)


def test_another_trouble_is_told_as_it_is() -> None:
    def broken(size: int) -> Piece:
        raise RuntimeError("the driver is gone")

    with pytest.raises(RuntimeError, match="the driver is gone"):
        Memory(broken, lambda: None).take(1)
