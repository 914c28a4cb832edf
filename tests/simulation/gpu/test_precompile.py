"""Kernels compiled side by side: what is compiled, in which order, once, and without a device."""

from __future__ import annotations

import importlib.metadata
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hushprice.simulation.gpu import precompile
from hushprice.simulation.gpu.kernel import KernelFiles
from hushprice.simulation.gpu.policy_batches import kernel_names
from hushprice.simulation.run import prepare

JOBS = [prepare("paper", horizon=100), prepare("noisy-newton", horizon=100), prepare("nonprivate", horizon=200)]


class Pool:
    """Instead of processes: what is asked of them. In single precision they answer at once, and leave a kernel."""

    asked: list[str]
    begun: list[bool]
    fails: list[str]
    folder: Path

    def __init__(self, most: int, first: Any, *, early: bool) -> None:
        assert first is bool or (first.func, len(first.args)) == (precompile.get_ready, 1)
        self.begun.append(early)
        self.open: list[Future[bool | None]] = []

    def submit(self, function: Any, job: Any, precision: str, kernel: str, generation: Any) -> Future[bool | None]:
        assert function is precompile.compile_one
        self.asked.append(kernel.partition(" ")[0])
        self.open.append(Future())
        if precision == "single":
            if kernel not in self.fails:
                KernelFiles(generation, self.folder).write(kernel, (), b"code")
            self.open[-1].set_result(None if kernel in self.fails else True)
        return self.open[-1]

    def close(self) -> None:
        for each in self.open:
            each.cancel()


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> type[Pool]:
    Pool.asked, Pool.begun, Pool.fails, Pool.folder = [], [], [], tmp_path / "gpu"
    monkeypatch.setattr(precompile, "SubprocessPool", Pool)
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.2")
    return Pool


def session(pool: type[Pool], generation: tuple[int, int] = (9, 0)) -> Any:
    return SimpleNamespace(files=KernelFiles(generation, pool.folder))


def test_what_is_not_on_disk_is_compiled_once_for_each_kind_of_device(pool: type[Pool]) -> None:
    pool.fails += [kernel_names(JOBS[1], "single")[1]]
    precompile.precompile(session(pool), JOBS, precision="single")
    assert sorted(pool.asked) == ["advance", "advance", "begin", "begin", "estimate", "release"]
    pool.asked.clear()
    precompile.precompile(session(pool), JOBS, precision="single")
    assert pool.asked == ["release"]  # what failed is tried again
    assert pool.begun == [True, False]  # processes before anybody calls, where nothing is there for sure
    pool.asked.clear()
    precompile.precompile(session(pool, (8, 0)), JOBS, precision="single")
    assert len(pool.asked) == 6


def test_whoever_waits_for_kernels_is_called_when_they_are_ready(pool: type[Pool]) -> None:
    calls: list[str] = []
    compiler = precompile.Precompiler(session(pool), "double")
    compiler.on_ready = lambda: calls.append("one more")
    compiler.need([JOBS[1], *JOBS])
    compiler.need(JOBS)
    assert len(pool.asked) == 6  # once
    assert pool.asked[:3] == ["advance", "estimate", "begin"]  # of alg:framework
    paper, newton = (kernel_names(job, "double") for job in JOBS[:2])
    assert not compiler.ready(paper)
    for kernel in paper:
        compiler._compiled[kernel].set_result(True)
    assert (compiler.ready(paper), compiler.ready(newton), calls) == (True, False, ["one more"] * 3)
    compiler.close()
    assert compiler.ready(newton)  # nobody compiles it any more


def test_where_numba_compiles_by_itself_there_is_nothing_to_wait_for(pool: type[Pool]) -> None:
    plain: Any = SimpleNamespace(files=None)
    precompile.precompile(plain, JOBS, precision="double")
    assert pool.asked == []
    assert precompile.Precompiler(plain, "double").ready(kernel_names(JOBS[0], "double"))


def test_a_process_that_compiles_leaves_what_would_slow_it_down(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Any] = []
    monkeypatch.setattr(precompile.gc, "disable", lambda: done.append("nothing is looked through"))
    monkeypatch.setattr(precompile, "compile_without_device", done.append)
    precompile.get_ready((9, 0))
    assert done == [(9, 0), "nothing is looked through"]


def test_arrays_of_the_host_stand_for_the_device_s() -> None:
    workspace = precompile.HostWorkspace()
    given = np.ones((2, 3), np.float32, order="F")
    given.flags.writeable = False
    array = workspace.to_device(given)
    assert (array.shape, array.dtype, array.flags.c_contiguous, array.flags.writeable) == (
        (2, 3),
        np.float32,
        True,
        True,
    )
    assert workspace.to_host(array) is array
    assert not array.any()  # nothing was copied
    assert workspace.thread_each(1).stream is None
