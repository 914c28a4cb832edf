"""Launches that are taken apart once and made again by one short call.

To launch a kernel with our arguments takes Python a third of a millisecond, nearly all of it to take tuples of arrays
apart. A turn of a thousand trials is often over sooner, so the device would wait for the host. The driver can record a
launch; from the recording we take what it would be launched with, and launch it so again and again. (To run recordings
as such would be shorter, but the driver then lets all threads wait for each other, for seconds.)
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from hushprice.errors import HushpriceError
from hushprice.simulation.gpu.toolkit import SIMULATED, stream


class Replay:
    """One kernel's launch into this thread's queue, as `launch` makes it; every call makes it once more."""

    def __init__(self, launch: Callable[[], None]) -> None:
        self._again: Callable[[], None] = launch if SIMULATED else Recorded(launch, int(stream().handle), _driver())

    def __call__(self) -> None:
        self._again()


class Recorded:
    """What a kernel is launched with. Other threads may use the device meanwhile: only this queue is recorded."""

    def __init__(self, launch: Callable[[], None], queue: int, driver: Any) -> None:
        self._driver, self._queue = driver, driver.CUstream(queue)
        # Relaxed: what the library frees meanwhile has nothing to do with the queue, and must not end the recording.
        self._do(driver.cuStreamBeginCapture, self._queue, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED)
        try:
            launch()
        finally:
            (self._graph,) = self._do(driver.cuStreamEndCapture, self._queue)
        _, count = self._do(driver.cuGraphGetNodes, self._graph)
        if count != 1:
            raise HushpriceError(f"the GPU failed: {count} launches were recorded in place of one")
        nodes, _ = self._do(driver.cuGraphGetNodes, self._graph, count)
        (found,) = self._do(driver.cuGraphKernelNodeGetParams, nodes[0])
        grid, block = ([getattr(found, f"{of}Dim{axis}") for axis in "XYZ"] for of in ("grid", "block"))
        function = driver.CUfunction(int(found.func) or int(found.kern))
        # The arguments belong to the recording, which stays as long as this does.
        self._with = function, *grid, *block, found.sharedMemBytes, self._queue, found.kernelParams, 0

    def __call__(self) -> None:
        self._do(self._driver.cuLaunchKernel, *self._with)

    def __del__(self) -> None:
        if hasattr(self, "_graph"):
            self._driver.cuGraphDestroy(self._graph)

    def _do(self, call: Any, *arguments: Any) -> tuple[Any, ...]:
        code, *found = call(*arguments)
        if int(code) != 0:
            raise HushpriceError(f"the GPU failed: {call.__name__} says {code}")
        return tuple(found)


def _driver() -> Any:
    return importlib.import_module("cuda.bindings.driver")
