"""Queues of work on the device, as far as that can be seen without one."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import pytest

from hushprice.simulation.gpu import toolkit


def test_urgent_queues_have_the_first_priority_and_where_the_driver_makes_none_others_do(
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
    monkeypatch.setattr(importlib, "import_module", {"cuda.bindings.driver": driver}.__getitem__)
    monkeypatch.setattr(toolkit, "cuda", cuda)
    assert toolkit.queues(3, urgent=True) == ["stream 70", "common", "stream 71"]
    assert asked == [(0, -5)] * 3
    assert toolkit.queues(2) == ["common"] * 2
