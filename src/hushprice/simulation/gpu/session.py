"""What a process has on the device: memory, kernels, streams, and who may launch. There is nothing beside it."""

from __future__ import annotations

import functools
import importlib
import math
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hushprice.simulation.gpu._numba_internals import layout_is_known
from hushprice.simulation.gpu.cuda import BLOCK, SIMULATED, TEAM, Generation, KernelDefinition, cuda
from hushprice.simulation.gpu.kernel import Kernel, KernelFiles, LaunchGrid
from hushprice.simulation.gpu.kernel_shape import KernelShape
from hushprice.simulation.gpu.launch_lock import LaunchLock
from hushprice.simulation.gpu.memory_pool import MemoryBlock, MemoryPool, aligned

KernelMakers = Mapping[str, Callable[[KernelShape], KernelDefinition]]  # by role
_SPARE = 0.95  # of the free memory that a run may take; the driver and kernels' stacks need some
_ENDLESS = 2.0**40  # bytes; the simulator has as much as one likes


class GpuSession:
    """One GPU, used by this process. Runs that share a session share its memory and kernels.

    Where it is `plain`, numba compiles and launches kernels itself: always in its simulator.
    """

    def __init__(self, *, plain: bool = False) -> None:
        self.plain = plain or SIMULATED or not layout_is_known()
        self.memory = MemoryPool(
            lambda size: cuda.device_array(size, dtype=np.uint8), lambda: cuda.current_context().deallocations.clear()
        )
        self.launch_lock, self.compile_lock = LaunchLock(), threading.Lock()
        self.launched = set[str]()  # names of kernels
        self._kernels = dict[tuple[str, KernelShape], dict[str, Kernel]]()

    @functools.cached_property
    def generation(self) -> Generation:
        """The device's. Asked once: threads at work had better not ask the driver."""
        major, minor = cuda.get_current_device().compute_capability
        return int(major), int(minor)

    @functools.cached_property
    def files(self) -> KernelFiles | None:
        """Where compiled kernels lie; None where numba compiles them itself."""
        return None if self.plain else KernelFiles(self.generation)

    def kernels(self, kind: str, makers: KernelMakers, shape: KernelShape) -> dict[str, Kernel]:
        """The kernels of one shape, by role, each made when it has to be compiled."""
        key = kind, shape
        if key not in self._kernels:
            self._kernels[key] = {
                role: Kernel(kernel_name(role, kind, shape), functools.partial(make, shape), self.files)
                for role, make in makers.items()
            }
        return self._kernels[key]

    def free_bytes(self) -> int:
        """Device memory that a run may take now."""
        context = cuda.current_context()
        if not SIMULATED:
            context.deallocations.clear()  # arrays nobody uses any more
        free = float(context.get_memory_info()[0]) + self.memory.idle
        return int(_SPARE * (free if math.isfinite(free) else _ENDLESS))

    def streams(self, count: int, *, urgent: bool = False) -> list[Any]:
        """New streams; the work of urgent ones goes first. Better made early: the driver may wait for everything."""
        if SIMULATED:
            return [0] * count
        if not urgent:
            return [cuda.stream() for _ in range(count)]
        driver: Any = importlib.import_module("cuda.bindings.driver")
        cuda.current_context()
        _, _, first = driver.cuCtxGetStreamPriorityRange()
        made = [driver.cuStreamCreateWithPriority(0, first) for _ in range(count)]
        return [cuda.external_stream(int(handle)) if int(code) == 0 else cuda.stream() for code, handle in made]


@functools.cache
def process_session() -> GpuSession:
    """The session of this process: one run's memory and kernels serve the next."""
    return GpuSession()


def kernel_name(role: str, kind: str, shape: KernelShape) -> str:
    """What kernels that are the same have in common."""
    return f"{role} of {kind} {shape}"


class Workspace:
    """Arrays of one job on the device, in a block of memory or as many as it takes, and the stream of its work.

    It belongs to one thread. Blocks that it takes itself go back to the session when nobody uses it any more.
    """

    def __init__(self, session: GpuSession, *, stream: Any = None, block: MemoryBlock | None = None) -> None:
        if not SIMULATED:
            cuda.current_context()  # launches need this thread to have it
        self.stream = session.streams(1)[0] if stream is None else stream
        self._memory, self._block, self._used, self._own = session.memory, block, 0, list[MemoryBlock]()
        weakref.finalize(self, session.memory.give, self._own)

    def reserve(self, size: int) -> None:
        """One block for arrays of so many bytes."""
        if not SIMULATED:
            self._block = self._memory.take(size)
            self._own.append(self._block)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array on the device, with nothing in it yet, in memory that an earlier job may have used."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if SIMULATED or size == 0:
            return cuda.device_array(shape, dtype=dtype)
        return self._bytes(size).view(dtype).reshape(*shape)

    def _bytes(self, size: int) -> Any:
        start, block = self._used, self._block
        if block is None or start + size > block.size:
            block, start = self._memory.take(size), 0
            self._own.append(block)
        else:
            self._used = aligned(start + size)
        return block.bytes(start, start + size)

    def to_device(self, value: Any) -> Any:
        """A value, or a tuple of values, with its arrays on the device."""
        if isinstance(value, tuple):
            parts = [self.to_device(each) for each in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        if not hasattr(value, "dtype") or not value.shape:
            return value
        array = self.empty(value.shape, value.dtype)
        if value.size > 0:
            self.copy(np.ascontiguousarray(value), array)
        return array

    def copy(self, values: Any, array: Any) -> None:
        """Values of the host into an array of the device."""
        array.copy_to_device(values, stream=self.stream)

    def to_host(self, array: Any, target: Any = None) -> Any:
        """An array of the device. Through our own stream: the common one would wait for other threads' work."""
        values = array.copy_to_host(target, stream=self.stream)
        self.synchronize()
        return values

    def synchronize(self) -> None:
        """Wait until all that was put into the stream is done."""
        if not SIMULATED:
            self.stream.synchronize()

    def thread_each(self, trials: int) -> LaunchGrid:
        """The grid of a launch with one thread a trial."""
        return LaunchGrid((trials + BLOCK - 1) // BLOCK, BLOCK, self.stream)

    def team_each(self, trials: int) -> LaunchGrid:
        """One team of threads a trial."""
        return LaunchGrid(trials, TEAM, self.stream)
