"""Kernels on disk: read back for what they were compiled for, and for nothing else. And how they are launched."""

from __future__ import annotations

import importlib
import importlib.metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hushprice.simulation.gpu import kernel
from hushprice.simulation.gpu.cuda import KernelDefinition
from hushprice.simulation.gpu.kernel import Kernel, KernelFiles, LaunchGrid
from hushprice.simulation.gpu.policy_batches import kernel_names
from hushprice.simulation.run import prepare

CODE = b"\x7fELF\0.nv.constant0._ZN5begin\0.text._ZN5begin\0"
INT = ("int64",)


@pytest.fixture(autouse=True)
def _versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.2")


def test_a_kernel_is_read_back(tmp_path: Path) -> None:
    files = KernelFiles((9, 0), tmp_path / "new")
    assert files.empty
    assert files.read("advance", INT) is None
    files.write("advance", INT, CODE)
    assert not files.empty
    again = KernelFiles((9, 0), tmp_path / "new")
    assert again.have("advance")
    assert again.read("advance", INT) == CODE


def test_another_kernel_type_device_or_library_is_not_taken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = KernelFiles((9, 0), tmp_path)
    files.write("advance", INT, CODE)
    assert files.read("estimate", INT) is None
    assert not files.have("estimate")
    assert files.read("advance", ("float64",)) is None
    assert not KernelFiles((8, 0), tmp_path).have("advance")
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.3")
    assert not KernelFiles((9, 0), tmp_path).have("advance")


def test_a_broken_file_is_compiled_again_and_a_full_disk_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, compiled = KernelFiles((9, 0), tmp_path), list[Any]()

    def compile_kernel(*given: Any) -> bytes:
        compiled.append(given)
        return CODE

    monkeypatch.setattr(kernel, "compile_kernel", compile_kernel)
    one = Kernel("advance", lambda: KernelDefinition("function"), files)
    assert one.compile(INT) == one.compile(INT) == CODE
    assert compiled == [(KernelDefinition("function"), INT, (9, 0))]
    files.path("advance", INT).write_bytes(b"half")
    assert one.compile(INT) == CODE
    assert len(compiled) == 2
    (tmp_path / "file").write_text("")
    KernelFiles((9, 0), tmp_path / "file").write("advance", INT, CODE)


def test_arguments_are_prepared_once_and_every_call_launches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launched, loaded = list[Any](), list[bytes]()

    def from_cubin(code: bytes) -> Any:
        loaded.append(code)
        return SimpleNamespace(get_kernel=lambda name: f"kernel {name}")

    core = SimpleNamespace(
        ObjectCode=SimpleNamespace(from_cubin=from_cubin),
        Stream=SimpleNamespace(from_handle=lambda handle: f"stream {handle}"),
        LaunchConfig=lambda **shape: shape,
        launch=lambda *given: launched.append(given),
    )
    monkeypatch.setattr(importlib, "import_module", {"cuda.core": core}.__getitem__)
    monkeypatch.setattr(kernel, "argument_types", lambda given: INT * len(given))
    monkeypatch.setattr(kernel, "flat_arguments", lambda types, given: list(given))
    monkeypatch.setattr(kernel, "compile_kernel", lambda *given: CODE)
    one = Kernel("advance", lambda: KernelDefinition("function"), KernelFiles((9, 0), tmp_path))
    first, other = one.prepare(LaunchGrid(3, 128, 70), 1, 2), one.prepare(LaunchGrid(4, 128, 71), 5, 6)
    assert not launched
    first()
    first()
    other()
    shape = {"grid": (3, 1, 1), "block": (128, 1, 1), "shmem_size": 0}
    assert launched[:2] == [("stream 70", shape, "kernel _ZN5begin", 1, 2)] * 2
    assert launched[2] == ("stream 71", {**shape, "grid": (4, 1, 1)}, "kernel _ZN5begin", 5, 6)
    assert loaded == [CODE]  # once


def test_without_files_numba_launches_the_kernel_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    launched: list[Any] = []

    class Jitted:
        def __getitem__(self, grid: Any) -> Any:
            return lambda *arguments: launched.append((grid, arguments))

    monkeypatch.setattr(kernel, "jit_kernel", lambda definition: Jitted())
    launch = Kernel("advance", lambda: KernelDefinition("function"), None).prepare(LaunchGrid(3, 128, "mine"), 1, 2)
    launch()
    assert launched == [((3, 128, "mine"), (1, 2))]


def test_what_a_kernel_takes_is_known_once_it_is_loaded() -> None:
    one = Kernel("advance", lambda: KernelDefinition("function"), None)
    assert one.resources() == {}
    one._loaded[INT] = SimpleNamespace(
        attributes=SimpleNamespace(num_regs=128, local_size_bytes=np.int32(640), shared_size_bytes=0)
    )
    assert one.resources() == {"registers": 128, "local_bytes": 640, "shared_bytes": 0}


def test_jobs_share_kernels_where_only_numbers_differ() -> None:
    def name(policy: str, **setting: Any) -> tuple[str, ...]:
        return tuple(kernel_names(prepare(policy, **{"horizon": 1000, "dimension": 2, **setting}), "double"))

    one = name("paper", calibration="published")
    assert one == name("paper", calibration="printed", epsilon=3.0) == name("nonprivate")
    still = name("random")
    assert still == name("fixed", price=0.5) == (one[0], one[2])  # makes no estimates
    assert name("fixed")[:1] == one[:1]
    assert name("fixed") not in (one, still)  # looks for its price first
    assert one == name("paper", calibration="published", horizon=10**6)
    assert len({one, name("paper", dimension=3), name("noisy-newton"), name("noisy-newton", dimension=3)}) == 4
