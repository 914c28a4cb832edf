"""Kernels on disk: read back for what they were compiled for, and for nothing else."""

from __future__ import annotations

import importlib
import importlib.metadata
import pickle
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from hushprice.simulation.gpu import ahead, disk
from hushprice.simulation.run import prepare


class Kernel:
    """What numba calls a kernel, as far as the disk sees it."""

    def _reduce_states(self) -> dict[str, Any]:
        return {"name": "advance", "code": b"cubin"}


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """numba's part, without a GPU."""
    fake = SimpleNamespace(
        dumps=pickle.dumps, loads=pickle.loads, rebuild=lambda payload: payload["code"], made_for=lambda: "9.0"
    )
    monkeypatch.setattr(disk, "_tools", lambda: fake)
    return fake


def test_a_kernel_is_read_back(tmp_path: Path) -> None:
    kept = disk.Disk("framework advance", tmp_path / "new")
    assert kept.load_overload("int64", None) is None
    kept.save_overload("int64", Kernel())
    assert disk.Disk("framework advance", tmp_path / "new").load_overload("int64", None) == b"cubin"
    kept.flush()


def test_another_kernel_type_or_device_is_not_taken_for_it(tmp_path: Path, tools: SimpleNamespace) -> None:
    disk.Disk("framework advance", tmp_path).save_overload("int64", Kernel())
    assert disk.Disk("framework estimate", tmp_path).load_overload("int64", None) is None
    assert disk.Disk("framework advance", tmp_path).load_overload("float64", None) is None
    tools.made_for = lambda: "8.0"
    assert disk.Disk("framework advance", tmp_path).load_overload("int64", None) is None


def test_who_is_told_the_generation_and_who_asks_the_device_for_it_mean_the_same_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Capability(NamedTuple):
        major: int
        minor: int

    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.2")
    found = []
    for generation in ((9, 0), Capability(9, 0), (9, 1)):
        library = SimpleNamespace(
            dumps=None, get_current_device=lambda same=generation: SimpleNamespace(compute_capability=same)
        )
        with monkeypatch.context() as patched:
            patched.setattr(importlib, "import_module", lambda name, one=library: pickle if name == "pickle" else one)
            found.append(disk._Tools().made_for())
    assert found[0] == found[1] != found[2]


def test_a_broken_file_is_compiled_again_and_a_full_disk_is_no_error(tmp_path: Path) -> None:
    kept = disk.Disk("framework advance", tmp_path)
    kept.save_overload("int64", Kernel())
    kept.path("int64").write_bytes(b"half")
    assert kept.load_overload("int64", None) is None
    (tmp_path / "file").write_text("")
    disk.Disk("framework advance", tmp_path / "file").save_overload("int64", Kernel())


def test_jobs_share_kernels_where_only_numbers_differ() -> None:
    def name(policy: str, **setting: Any) -> tuple[str, ...]:
        return tuple(ahead.kernels_of(prepare(policy, **{"horizon": 1000, "dimension": 2, **setting}), "double"))

    one = name("paper", calibration="published")
    assert one == name("paper", calibration="printed", epsilon=3.0) == name("nonprivate")
    still = name("random")
    assert still == name("fixed", price=0.5) == (one[0], one[2])  # makes no estimates
    assert name("fixed")[:1] == one[:1]
    assert name("fixed") not in (one, still)  # looks for its price first
    assert one == name("paper", calibration="published", horizon=10**6)
    assert len({one, name("paper", dimension=3), name("noisy-newton"), name("noisy-newton", dimension=3)}) == 4


def test_several_sets_of_kernels_are_compiled_apart_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tools: SimpleNamespace
) -> None:
    asked, told, fails, begun = list[str](), list[str](), list[str](), list[bool]()

    class Apart:
        """Ended when asked to end."""

        def __init__(self, most: int, first: Any, *, early: bool) -> None:
            assert (first.func, first.args) == (ahead.get_ready, ((9, 0),))
            begun.append(early)
            self.open: list[Future[bool | None]] = []

        def submit(self, function: Any, job: Any, precision: str, kernel: str) -> Future[bool | None]:
            assert function is ahead.compile_one
            asked.append(kernel.partition(" ")[0])
            self.open.append(Future())
            if precision == "single":
                self.open[-1].set_result(None if kernel in fails else True)
            return self.open[-1]

        def close(self) -> None:
            for each in self.open:
                each.cancel()

    monkeypatch.setattr(ahead, "FOLDER", str(tmp_path))
    monkeypatch.setattr(ahead, "SIMULATED", False)
    monkeypatch.setattr(ahead, "Apart", Apart)
    device = SimpleNamespace(compute_capability=(9, 0))
    monkeypatch.setattr(ahead, "cuda", SimpleNamespace(get_current_device=lambda: device))
    jobs = [prepare("paper", horizon=100), prepare("noisy-newton", horizon=100), prepare("nonprivate", horizon=200)]
    fails += [ahead.kernels_of(jobs[1], "single")[1]]
    ahead.compile_ahead(jobs, precision="single")
    assert sorted(asked) == ["advance", "advance", "begin", "begin", "estimate", "release"]
    asked.clear()
    ahead.compile_ahead(jobs, precision="single")
    assert asked == ["release"]  # what failed is tried again
    assert begun == [True, False]  # processes before anybody calls, where nothing is there for sure
    asked.clear()
    tools.made_for = lambda: "8.0"
    ahead.compile_ahead(jobs, precision="single")
    assert len(asked) == 6  # another device, or other libraries
    tools.made_for = lambda: "9.0"
    asked.clear()

    def tell() -> None:
        told.append("one more")

    one = ahead.Ahead("double")
    one.told = tell
    one.need([jobs[1], *jobs])
    one.need(jobs)
    assert len(asked) == 6  # once
    assert asked[:3] == ["advance", "estimate", "begin"]  # of alg:framework
    paper, newton = (ahead.kernels_of(job, "double") for job in jobs[:2])
    assert not one.ready(paper)
    for kernel in paper:
        one._made[kernel].set_result(True)
    assert (one.ready(paper), one.ready(newton), told) == (True, False, ["one more"] * 3)
    one.close()
    assert one.ready(newton)  # nobody compiles it any more
    asked.clear()
    again = ahead.Ahead("double")
    again.need(jobs)
    again.close()
    assert sorted(asked) == ["advance", "begin", "release"]


def test_a_process_that_compiles_leaves_all_that_would_slow_it_down(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Any] = []
    monkeypatch.setattr(ahead.gc, "disable", lambda: done.append("nothing is looked through"))
    monkeypatch.setattr(ahead, "recall", lambda: done.append("answers are kept"))
    monkeypatch.setattr(ahead, "leave_the_device", done.append)
    monkeypatch.setattr(ahead, "stay_on_host", lambda: done.append("arrays are on the host"))
    ahead.get_ready((9, 0))
    assert done == ["nothing is looked through", "answers are kept", (9, 0), "arrays are on the host"]


def test_whoever_waits_for_a_kernel_is_told_of_it_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: Future[bool | None] = Future()

    class Apart:
        def __init__(self, most: int, first: Any, *, early: bool) -> None: ...

        def submit(self, *call: Any) -> Future[bool | None]:
            return made

    (tmp_path / "gpu").write_text("a file where a folder should be")
    monkeypatch.setattr(ahead, "FOLDER", str(tmp_path))
    monkeypatch.setattr(ahead, "SIMULATED", False)
    monkeypatch.setattr(ahead, "Apart", Apart)
    monkeypatch.setattr(ahead, "_generation", lambda: (9, 0))
    one, told = ahead.Ahead("double"), list[str]()
    one.told = lambda: told.append("one more")
    one.need([prepare("random", horizon=100)])
    made.set_result(True)
    assert told == ["one more"] * 2  # both kernels
