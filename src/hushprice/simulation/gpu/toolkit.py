"""numba's CUDA side, from one place: it has no types, and it may be numba's simulator, which runs kernels as Python."""

from __future__ import annotations

import importlib
import math
import os
import threading
from typing import Any, TypeVar

import numba.core.config
import numpy as np

from hushprice.simulation.gpu.deskwork import Nowhere, OnHost
from hushprice.simulation.gpu.disk import Disk
from hushprice.simulation.gpu.memory import Memory, Piece, aligned

Kernels = TypeVar("Kernels", bound=Any)  # a named tuple of them

config: Any = numba.core.config
config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # few trials are not a mistake
# Queues of work that the driver keeps apart; by default 8, and work of a ninth thread would wait behind another's.
os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")
SIMULATED = bool(config.ENABLE_CUDASIM)
cuda: Any = importlib.import_module("numba.cuda")

_OWN = threading.local()
# Threads of a block with a trial each, and of a team that makes one fit together: many, because nobody goes on before
# the longest fit is made. The simulator starts a thread of the operating system for each.
BLOCK, TEAM = (2, 2) if SIMULATED else (128, 512)


def device_step(*, quick: bool = False) -> Any:
    """Compile a function that kernels call. In the simulator it stays as it is."""
    return (lambda function: function) if SIMULATED else cuda.jit(device=True, forceinline=True, fastmath=quick)


def bounded(kernel: Any, registers: int, *, quick: bool = False) -> Any:
    """Compile a kernel that takes at most so many registers a thread.

    Quick: roots and quotients in single precision may miss their last digit, which saves nine instructions of ten.
    """
    return cuda.jit(kernel) if SIMULATED else cuda.jit(kernel, max_registers=registers, fastmath=quick)


def kept(kernels: Kernels, name: str) -> Kernels:
    """The same kernels, read from disk where they are there, and written there once they are compiled."""
    if not SIMULATED:
        for role, kernel in kernels._asdict().items():
            kernel._cache = Disk(f"{name} {role}")
    return kernels


def stream() -> Any:
    """This thread's queue of work on the device: jobs of different threads run side by side."""
    if not hasattr(_OWN, "stream"):
        work_in(queues(1)[0])
    return _OWN.stream


def queues(count: int, *, urgent: bool = False) -> list[Any]:
    """So many new queues; the work of urgent ones goes first. Better made early: the driver may wait for everything."""
    if SIMULATED:
        return [0] * count
    if not urgent:
        return [cuda.stream() for _ in range(count)]
    driver: Any = importlib.import_module("cuda.bindings.driver")
    cuda.current_context()
    _, _, first = driver.cuCtxGetStreamPriorityRange()
    made = [driver.cuStreamCreateWithPriority(0, first) for _ in range(count)]
    return [cuda.external_stream(int(handle)) if int(code) == 0 else cuda.stream() for code, handle in made]


def work_in(queue: Any) -> None:
    """What this thread asks of the device from now on goes into that queue."""
    _OWN.stream = queue


def wait() -> None:
    """Until all that this thread asked of the device is done."""
    if not SIMULATED:
        stream().synchronize()


def over(trials: int) -> tuple[int, int, Any]:
    """Blocks and threads for one thread a trial, and the queue."""
    return (trials + BLOCK - 1) // BLOCK, BLOCK, stream()


def lend(piece: Piece | None) -> list[Piece]:
    """This thread's arrays are cut out of that piece from now on. Returned: what they take beyond it, as they do."""
    _OWN.piece, _OWN.used, _OWN.beyond = piece, 0, list[Piece]()
    return _OWN.beyond


def stay_on_host() -> None:
    """This thread launches nothing, so its arrays lie on the host from now on."""
    _OWN.on_host = True
    work_in(Nowhere())


def new(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array on the device, with nothing in it yet, in memory that an earlier job may have used."""
    if hasattr(_OWN, "on_host"):
        return np.zeros(shape, dtype).view(OnHost)
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if SIMULATED or size == 0:
        return cuda.device_array(shape, dtype=dtype)
    return _bytes(size).view(dtype).reshape(*shape)


def _bytes(size: int) -> Any:
    start, piece = _OWN.used, _OWN.piece
    if piece is None or start + size > piece.size:
        piece, start = MEMORY.take(size), 0
        _OWN.beyond.append(piece)
    else:
        _OWN.used = aligned(start + size)
    return piece.bytes(start, start + size)


def on_device(value: Any) -> Any:
    """A value, or a tuple of values, with its arrays on the device; through this thread's queue, as in kept.py."""
    if isinstance(value, tuple):
        parts = [on_device(each) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if not hasattr(value, "dtype") or not value.shape:
        return value
    found = new(value.shape, value.dtype)
    if value.size > 0:
        found.copy_to_device(np.ascontiguousarray(value), stream=stream())
    return found


MEMORY = Memory(
    lambda size: cuda.device_array(size, dtype=np.uint8), lambda: cuda.current_context().deallocations.clear()
)
