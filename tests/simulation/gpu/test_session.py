"""What a process has on the device, as far as that can be seen without one."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hushprice.simulation.gpu import session
from hushprice.simulation.gpu.memory_pool import ALIGNED, MemoryPool
from hushprice.simulation.gpu.session import GpuSession, Workspace


def test_urgent_streams_have_the_first_priority_and_where_the_driver_makes_none_others_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handles = iter([(0, 70), (1, 0), (0, 71)])
    asked: list[tuple[int, int]] = []

    def create(flags: int, priority: int) -> tuple[int, int]:
        asked.append((flags, priority))
        return next(handles)

    driver = SimpleNamespace(cuCtxGetStreamPriorityRange=lambda: (0, 0, -5), cuStreamCreateWithPriority=create)
    cuda = SimpleNamespace(
        stream=lambda: "common", external_stream=lambda handle: f"stream {handle}", current_context=lambda: None
    )
    monkeypatch.setattr(session, "cuda", cuda)
    one = GpuSession(plain=True)
    monkeypatch.setattr(importlib, "import_module", {"cuda.bindings.driver": driver}.__getitem__)
    assert one.streams(3, urgent=True) == ["stream 70", "common", "stream 71"]
    assert asked == [(0, -5)] * 3
    assert one.streams(2) == ["common"] * 2


def test_a_workspace_cuts_its_block_and_gives_back_only_what_it_took_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = SimpleNamespace(current_context=lambda: None, stream=lambda: "its own")
    monkeypatch.setattr(session, "cuda", cuda)
    one = GpuSession(plain=True)
    one.memory = MemoryPool(lambda size: np.zeros(size, np.uint8), lambda: None)
    given = one.memory.take(4 * ALIGNED)
    workspace = Workspace(one, stream="given", block=given)
    arrays = [workspace.empty((ALIGNED // 4, 2), np.float32), workspace.empty((2, 2), np.int64)]
    assert [array.ctypes.data - given.slab.array.ctypes.data for array in arrays] == [0, 2 * ALIGNED]
    assert (workspace.stream, one.memory.idle) == ("given", 0)
    more = workspace.empty((4 * ALIGNED,), np.uint8)  # does not fit
    assert more.size == 4 * ALIGNED
    del workspace
    assert one.memory.idle == 4 * ALIGNED
    own = Workspace(one)
    own.reserve(3 * ALIGNED)
    assert (own.stream, one.memory.idle) == ("its own", ALIGNED)
    del own
    one.memory.give([given])
    assert one.memory.idle == 8 * ALIGNED


def test_kernels_of_a_shape_are_made_once_and_each_when_it_is_needed() -> None:
    made: list[Any] = []

    def define(shape: Any) -> Any:
        made.append(shape)
        return None

    one, shape = GpuSession(plain=True), (2, 1, 0, 0, 0, False)
    kernels = one.kernels("paper", {"advance": define, "begin": define}, shape)  # type: ignore[arg-type]
    assert one.kernels("paper", {}, shape) is kernels  # type: ignore[arg-type]
    assert kernels["begin"].name.startswith("begin of paper")
    assert not made
