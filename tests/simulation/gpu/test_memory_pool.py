"""Device memory that is handed on: never a byte to two, asked of the driver as rarely as can be, freed where needed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushprice.simulation.gpu.memory_pool import ALIGNED, MemoryBlock, MemoryPool


class Device:
    """So many bytes, of which slabs are made."""

    def __init__(self, size: int) -> None:
        self.size, self.asked, self.cleaned = size, list[int](), 0
        self.memory = MemoryPool(self.allocate, self.clean)

    def allocate(self, size: int) -> SimpleNamespace:
        if size > self.size:
            raise RuntimeError("[2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")
        self.size -= size
        self.asked.append(size)
        return SimpleNamespace(size=size)

    def clean(self) -> None:
        self.cleaned += 1
        self.size = 100 * ALIGNED  # all that nobody holds is free again


def test_memory_is_asked_for_once_and_handed_on() -> None:
    device = Device(100 * ALIGNED)
    memory = device.memory
    memory.reserve(10 * ALIGNED)
    memory.reserve(9 * ALIGNED)
    first, second = memory.take(5 * ALIGNED), memory.take(4 * ALIGNED + 1)
    assert memory.idle == 0
    assert memory.take_idle(1) is None
    pieces = [first, second]
    memory.give(pieces)
    assert (memory.idle, pieces) == (10 * ALIGNED, [])
    assert memory.take(10 * ALIGNED).start == 0  # what lay side by side is one again
    assert device.asked == [10 * ALIGNED]
    assert memory.take(ALIGNED).size == ALIGNED
    assert device.asked == [10 * ALIGNED, ALIGNED]


def test_the_smallest_hole_that_is_large_enough_is_cut() -> None:
    memory = Device(100 * ALIGNED).memory
    sizes = (9, 1, 3, 1, 4)
    memory.reserve(sum(sizes) * ALIGNED)
    nine, _, three, _, four = (memory.take(size * ALIGNED) for size in sizes)
    places = three.start, four.start, nine.start
    memory.give([nine, three, four])
    assert tuple(memory.take(size * ALIGNED).start for size in (2, 4, 1)) == (*places[:2], places[0] + 2 * ALIGNED)
    assert memory.take(9 * ALIGNED).start == places[2]


def test_what_is_taken_last_leaves_the_beginning_in_one_piece() -> None:
    memory = Device(100 * ALIGNED).memory
    memory.reserve(10 * ALIGNED)
    assert [memory.take_idle(2 * ALIGNED, last=True).start // ALIGNED for _ in range(2)] == [8, 6]  # type: ignore[union-attr]
    first = memory.take_idle(3 * ALIGNED)
    assert first is not None
    assert first.start == 0
    whole = memory.take_idle(3 * ALIGNED, last=True)
    assert whole is not None
    assert (whole.start // ALIGNED, memory.idle) == (3, 0)
    memory.give([first, whole])
    assert memory.take_idle(6 * ALIGNED) is not None


def test_a_part_of_a_piece_is_a_part_of_its_slab() -> None:
    piece = MemoryBlock(SimpleNamespace(array=list(range(100))), 10, 50)  # type: ignore[arg-type]
    assert piece.bytes(2, 5) == [12, 13, 14]


@given(st.lists(st.integers(-6, 20), max_size=40))
def test_no_byte_is_anybody_else_s(steps: list[int]) -> None:
    """A positive step takes so much, any other gives one of those taken back."""
    memory, mine = Device(10**9).memory, list[MemoryBlock]()
    memory.reserve(30 * ALIGNED)
    for step in steps:
        if step > 0:
            piece = memory.take_idle(step * ALIGNED, last=True) if step % 2 else None
            mine.append(piece or memory.take(step * ALIGNED))
        elif mine:
            memory.give([mine.pop(-step % len(mine))])
        for i, one in enumerate(mine):
            for other in mine[:i]:
                assert one.slab is not other.slab or one.stop <= other.start or other.stop <= one.start
    memory.give(list(mine))
    assert all(slab.unused for slab in memory._slabs)


def test_idle_slabs_are_freed_where_there_is_no_more_memory() -> None:
    device = Device(12 * ALIGNED)
    device.memory.reserve(9 * ALIGNED)
    used = device.memory.take(ALIGNED)
    held = device.memory.take(10 * ALIGNED)
    assert (device.cleaned, device.memory.idle) == (1, 8 * ALIGNED)  # the slab in use stays
    device.memory.give([used, held])
    device.size = 0
    assert device.memory.take(20 * ALIGNED).size == 20 * ALIGNED
    assert (device.cleaned, device.memory.idle) == (2, 0)
    with pytest.raises(RuntimeError, match="OUT_OF_MEMORY"):
        device.memory.take(1000 * ALIGNED)


def test_another_trouble_is_told_as_it_is() -> None:
    def broken(size: int) -> SimpleNamespace:
        raise RuntimeError("the driver is gone")

    with pytest.raises(RuntimeError, match="the driver is gone"):
        MemoryPool(broken, lambda: None).take(1)
