"""Recorded launches: the driver's calls in their order, and a failure in one line. A real GPU runs them in gpu_full."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hushprice.errors import HushpriceError
from hushprice.simulation.gpu.replay import Recorded


class Driver:
    """The calls that were made; `fails` is the one that does not succeed."""

    class CUstreamCaptureMode:
        CU_STREAM_CAPTURE_MODE_RELAXED = "relaxed"

    def __init__(self, fails: str = "", launches: int = 1, function: int = 5) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.fails, self.launches = fails, launches
        sizes = {f"{of}Dim{axis}": 10 * i + j for i, of in enumerate(("grid", "block")) for j, axis in enumerate("XYZ")}
        self.found = SimpleNamespace(func=function, kern=6, sharedMemBytes=9, kernelParams=77, **sizes)

    def CUstream(self, handle: int) -> str:  # noqa: N802 (the library's name)
        return f"queue {handle}"

    def CUfunction(self, handle: int) -> str:  # noqa: N802
        return f"function {handle}"

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> tuple[Any, ...]:
            self.calls.append((name, *arguments))
            made = {
                "cuStreamEndCapture": ("graph",),
                "cuGraphGetNodes": (["node"], self.launches),
                "cuGraphKernelNodeGetParams": (self.found,),
            }.get(name, ())
            return (1 if name == self.fails else 0, *made)

        call.__name__ = name
        return call


@pytest.mark.parametrize(("function", "launched_as"), [(5, "function 5"), (0, "function 6")])
def test_a_launch_is_recorded_once_and_made_again_by_one_call(function: int, launched_as: str) -> None:
    driver, launched = Driver(function=function), list[str]()
    again = Recorded(lambda: launched.append("turn"), 7, driver)
    again()
    again()
    assert launched == ["turn"]
    assert driver.calls == [
        ("cuStreamBeginCapture", "queue 7", "relaxed"),
        ("cuStreamEndCapture", "queue 7"),
        ("cuGraphGetNodes", "graph"),
        ("cuGraphGetNodes", "graph", 1),
        ("cuGraphKernelNodeGetParams", "node"),
        *2 * [("cuLaunchKernel", launched_as, 0, 1, 2, 10, 11, 12, 9, "queue 7", 77, 0)],
    ]
    del again
    assert driver.calls[-1] == ("cuGraphDestroy", "graph")


@pytest.mark.parametrize(
    "fails", ["cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphGetNodes", "cuGraphKernelNodeGetParams"]
)
def test_a_recording_that_fails_is_one_line(fails: str) -> None:
    with pytest.raises(HushpriceError, match=f"the GPU failed: {fails} says 1"):
        Recorded(lambda: None, 7, Driver(fails))


def test_a_recording_is_of_one_launch() -> None:
    with pytest.raises(HushpriceError, match="2 launches were recorded"):
        Recorded(lambda: None, 7, Driver(launches=2))


def test_a_launch_that_fails_ends_the_recording_first() -> None:
    def broken() -> None:
        raise ValueError("no such kernel")

    driver = Driver()
    with pytest.raises(ValueError, match="no such kernel"):
        Recorded(broken, 7, driver)
    assert driver.calls[-1] == ("cuGraphDestroy", "graph")
