"""Recorded launches: the driver's calls in their order, and a failure in one line. A real GPU runs them in gpu_full."""

from __future__ import annotations

from typing import Any

import pytest

from hushprice.errors import HushpriceError
from hushprice.simulation.gpu.replay import Recorded


class Driver:
    """The calls that were made; `fails` is the one that does not succeed."""

    class CUstreamCaptureMode:
        CU_STREAM_CAPTURE_MODE_RELAXED = "relaxed"

    def __init__(self, fails: str = "") -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.fails = fails

    def CUstream(self, handle: int) -> str:  # noqa: N802 (the library's name)
        return f"queue {handle}"

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> tuple[Any, ...]:
            self.calls.append((name, *arguments))
            made = {
                "cuGraphCreate": ("whole",),
                "cuStreamEndCapture": ("part",),
                "cuGraphAddChildGraphNode": (f"node {[each[0] for each in self.calls].count(name)}",),
                "cuGraphInstantiate": ("ready",),
            }.get(name, ())
            return (1 if name == self.fails else 0, *made)

        call.__name__ = name
        return call


def test_launches_are_recorded_once_and_made_again_by_one_call() -> None:
    driver, launched = Driver(), list[str]()
    again = Recorded([(lambda: launched.append("go on"), 2), (lambda: launched.append("settle"), 1)], 7, driver)
    again()
    again()
    assert launched == ["go on", "settle"]
    recorded = [("cuStreamBeginCapture", "queue 7", "relaxed"), ("cuStreamEndCapture", "queue 7")]
    assert driver.calls == [
        ("cuGraphCreate", 0),
        *recorded,
        ("cuGraphAddChildGraphNode", "whole", [], 0, "part"),
        ("cuGraphAddChildGraphNode", "whole", ["node 1"], 1, "part"),
        ("cuGraphDestroy", "part"),
        *recorded,
        ("cuGraphAddChildGraphNode", "whole", ["node 2"], 1, "part"),
        ("cuGraphDestroy", "part"),
        ("cuGraphInstantiate", "whole", 0),
        ("cuGraphDestroy", "whole"),
        ("cuGraphLaunch", "ready", "queue 7"),
        ("cuGraphLaunch", "ready", "queue 7"),
    ]
    del again
    assert driver.calls[-1] == ("cuGraphExecDestroy", "ready")


@pytest.mark.parametrize(
    "fails",
    ["cuGraphCreate", "cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphAddChildGraphNode", "cuGraphInstantiate"],
)
def test_a_recording_that_fails_is_one_line(fails: str) -> None:
    with pytest.raises(HushpriceError, match=f"the GPU failed: {fails} says 1"):
        Recorded([(lambda: None, 1)], 7, Driver(fails))


def test_a_launch_that_fails_ends_the_recording_first() -> None:
    def broken() -> None:
        raise ValueError("no such kernel")

    driver = Driver()
    with pytest.raises(ValueError, match="no such kernel"):
        Recorded([(broken, 1)], 7, driver)
    assert driver.calls[-2:] == [("cuStreamEndCapture", "queue 7"), ("cuGraphDestroy", "whole")]
