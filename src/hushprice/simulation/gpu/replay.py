"""Launches that are recorded once and made again by one short call.

To launch a kernel with our arguments takes Python a third of a millisecond, nearly all of it to take tuples of arrays
apart. A turn of a thousand trials is often over sooner, so the device would wait for the host.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from hushprice.errors import HushpriceError
from hushprice.simulation.gpu.toolkit import SIMULATED, stream


class Replay:
    """What `launch` puts into this thread's queue; every call puts it there once more."""

    def __init__(self, launch: Callable[[], None]) -> None:
        self._again: Callable[[], None] = launch if SIMULATED else Recorded(launch, int(stream().handle), _driver())

    def __call__(self) -> None:
        self._again()


class Recorded:
    """A CUDA graph. Other threads may use the device meanwhile: only this queue is recorded."""

    def __init__(self, launch: Callable[[], None], queue: int, driver: Any) -> None:
        self._driver, self._queue = driver, driver.CUstream(queue)
        # Relaxed: what the library frees meanwhile has nothing to do with the queue, and must not end the recording.
        self._do(driver.cuStreamBeginCapture, self._queue, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED)
        try:
            launch()
        finally:
            (graph,) = self._do(driver.cuStreamEndCapture, self._queue)
        (self._graph,) = self._do(driver.cuGraphInstantiate, graph, 0)
        self._do(driver.cuGraphDestroy, graph)

    def __call__(self) -> None:
        self._do(self._driver.cuGraphLaunch, self._graph, self._queue)

    def __del__(self) -> None:
        if hasattr(self, "_graph"):
            self._driver.cuGraphExecDestroy(self._graph)

    def _do(self, call: Any, *arguments: Any) -> tuple[Any, ...]:
        code, *found = call(*arguments)
        if int(code) != 0:
            raise HushpriceError(f"the GPU failed: {call.__name__} says {code}")
        return tuple(found)


def _driver() -> Any:
    return importlib.import_module("cuda.bindings.driver")
