"""Launches that are recorded once and made again by one short call.

To launch a kernel with our arguments takes Python a third of a millisecond, nearly all of it to take tuples of arrays
apart. A turn of a thousand trials is often over sooner, so the device would wait for the host.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from hushprice.errors import HushpriceError
from hushprice.simulation.gpu.toolkit import SIMULATED, stream

Parts: TypeAlias = Sequence[tuple[Callable[[], None], int]]  # launches, and how often each is made, in this order


class Replay:
    """What some launches put into this thread's queue; every call puts it there once more."""

    def __init__(self, parts: Parts) -> None:
        self._again = functools.partial(_now, parts) if SIMULATED else Recorded(parts, int(stream().handle), _driver())

    def __call__(self) -> None:
        self._again()


def _now(parts: Parts) -> None:
    for launch, times in parts:
        for _ in range(times):
            launch()


class Recorded:
    """A CUDA graph. Other threads may use the device meanwhile: only this queue is recorded.

    Launches that are made many times are recorded once and put into the graph that often. To send them off one by one
    instead would not do: with some dozens on their way the driver lets everybody wait, other threads too.
    """

    def __init__(self, parts: Parts, queue: int, driver: Any) -> None:
        self._driver, self._queue = driver, driver.CUstream(queue)
        (whole,), before = self._do(driver.cuGraphCreate, 0), list[Any]()
        try:
            for launch, times in parts:
                part = self._record(launch)
                for _ in range(times):
                    before = list(self._do(driver.cuGraphAddChildGraphNode, whole, before, len(before), part))
                self._do(driver.cuGraphDestroy, part)
            (self._graph,) = self._do(driver.cuGraphInstantiate, whole, 0)
        finally:
            driver.cuGraphDestroy(whole)

    def _record(self, launch: Callable[[], None]) -> Any:
        # Relaxed: what the library frees meanwhile has nothing to do with the queue, and must not end the recording.
        mode = self._driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        self._do(self._driver.cuStreamBeginCapture, self._queue, mode)
        try:
            launch()
        finally:
            (part,) = self._do(self._driver.cuStreamEndCapture, self._queue)
        return part

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
