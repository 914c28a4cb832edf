"""What is known of numba-cuda beyond its manual: the gate, and, where the real wheels are installed, that it is so."""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
import importlib.util
import inspect
import logging
import os
import subprocess
import sys
from collections import namedtuple
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hushprice.simulation.gpu import _numba_internals
from hushprice.simulation.gpu._numba_internals import READ, flat_arguments, import_cuda, layout_is_known
from hushprice.simulation.gpu.cuda import SIMULATED
from hushprice.simulation.gpu.session import GpuSession

needs_wheels = pytest.mark.skipif(
    SIMULATED or importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed"
)
Given = namedtuple("Given", "array count ratio single flag empty")


class DeviceArray:
    """As far as its memory goes."""

    def __init__(self, like: Any, pointer: int) -> None:
        strides = None if like.flags.c_contiguous else like.strides
        self.__cuda_array_interface__ = {
            "shape": like.shape, "strides": strides, "data": (pointer, False), "typestr": like.dtype.str, "version": 3,
        }  # fmt: skip


ARRAYS = [np.zeros((4, 6), np.float32)[:, ::2], np.zeros((0, 2), np.uint8)]
HOST = Given(ARRAYS[0], 3, 2.5, np.float32(1.5), True, ARRAYS[1])
DEVICE = HOST._replace(array=DeviceArray(ARRAYS[0], 4096), empty=DeviceArray(ARRAYS[1], 0))
TYPES = [["array(float32, 2d, A)", "int64", "float64", "float32", "bool", "array(uint8, 2d, C)"], "int64"]


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> Any:
    layout_is_known.cache_clear()
    yield
    layout_is_known.cache_clear()


@pytest.mark.parametrize(
    ("versions", "known", "line"),
    [
        ({"numba": "0.68.1", "numba-cuda": "0.30.4"}, True, None),
        ({"numba": "0.68.1", "numba-cuda": "0.31.0"}, False, "numba 0.68.1, numba-cuda 0.31.0: not the versions"),
        ({"numba": "0.68.1"}, False, "numba 0.68.1, numba-cuda missing: not the versions"),
    ],
)
def test_with_other_versions_numba_compiles_and_launches_and_the_log_says_so_once(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    versions: dict[str, str],
    known: bool,
    line: str | None,
) -> None:
    def version(name: str) -> str:
        if name not in versions:
            raise importlib.metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(importlib.metadata, "version", version)
    with caplog.at_level(logging.WARNING):
        assert layout_is_known() == layout_is_known() == known
        assert GpuSession().plain == (not known or SIMULATED)
        assert GpuSession(plain=True).plain
    assert len(caplog.records) == (0 if line is None else 1)
    assert line is None or line in caplog.text


def test_arguments_are_taken_to_pieces_in_order() -> None:
    flat = flat_arguments(TYPES, (DEVICE, 7))
    assert flat[:9] == [0, 0, 12, 4, 4096, 4, 3, 24, 8]
    assert [(type(each), each.value) for each in flat[9:13]] == [
        (ctypes.c_int64, 3),
        (ctypes.c_double, 2.5),
        (ctypes.c_float, 1.5),
        (ctypes.c_bool, True),
    ]
    assert flat[13:22] == [0, 0, 0, 1, 0, 0, 2, 2, 1]
    assert (type(flat[22]), flat[22].value, len(flat)) == (ctypes.c_int64, 7, 23)
    with pytest.raises(KeyError):
        flat_arguments(["complex128"], (1j,))


def test_numpy_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, bool]] = []

    def import_module(name: str) -> str:
        asked.append((name, hasattr(np, "row_stack")))
        return name

    monkeypatch.setattr(importlib, "import_module", import_module)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: "found")
    monkeypatch.delattr(np, "row_stack", raising=False)
    assert import_cuda(simulated=False) == "numba.cuda"
    assert asked == [("numba.cuda", True), ("numba.cuda.np.arrayobj", True)]
    assert not hasattr(np, "row_stack")
    assert import_cuda(simulated=True) == "numba.cuda"
    assert asked[2:] == [("numba.cuda", False)]


@needs_wheels
def test_the_installed_versions_are_those_that_were_read() -> None:
    assert {
        name: importlib.metadata.version(name).startswith(version) for name, version in READ.items()
    } == dict.fromkeys(READ, True)
    assert layout_is_known()


@needs_wheels
def test_a_kernel_s_arguments_are_what_numba_makes_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """numba's own way needs a driver for arrays, so their memory is described to it here."""
    dispatcher: Any = importlib.import_module("numba.cuda.dispatcher")

    def to_device(value: DeviceArray) -> Any:
        interface = value.__cuda_array_interface__
        shape: Any = interface["shape"]
        contiguous = interface["strides"] is None
        layout = SimpleNamespace(
            strides_in_bytes=interface["strides"], is_contiguous_c=contiguous, is_contiguous_f=False
        )
        dtype = np.dtype(interface["typestr"])
        pointer: Any = interface["data"]
        return SimpleNamespace(size=int(np.prod(shape)), dtype=dtype, ptr=pointer[0], shape=shape, _layout=layout)

    monkeypatch.setattr(
        dispatcher, "wrap_arg", lambda value: SimpleNamespace(to_device=lambda retr, stream: to_device(value))
    )
    kernel = dispatcher._Kernel.__new__(dispatcher._Kernel)
    kernel.extensions = []
    types, theirs = _numba_internals.argument_types((HOST, 7)), list[Any]()
    assert [str(types[0]), str(types[1])] == [f"Given({', '.join(TYPES[0])})", "int64"]
    for kind, value in zip(types, (DEVICE, 7), strict=True):
        kernel._prepare_args(kind, value, 0, [], theirs)
    assert plain(flat_arguments(types, (DEVICE, 7))) == plain(theirs)


def plain(flat: list[Any]) -> list[Any]:
    """Numbers and how wide they are; a bare whole number is as wide as a pointer, a bare truth value a byte."""
    widths = {bool: 1, int: 8}
    return [
        (each.value, ctypes.sizeof(each)) if hasattr(each, "value") else (each, widths[type(each)]) for each in flat
    ]


def test_a_process_that_only_compiles_takes_its_device_s_generation_as_given(monkeypatch: pytest.MonkeyPatch) -> None:
    dispatcher = SimpleNamespace(get_current_device=None)
    monkeypatch.setattr(importlib, "import_module", {"numba.cuda.dispatcher": dispatcher}.__getitem__)
    _numba_internals.compile_without_device((9, 0))
    assert dispatcher.get_current_device().compute_capability == (9, 0)  # type: ignore[misc]


@needs_wheels
def test_what_is_called_takes_what_it_is_given() -> None:
    cuda: Any = importlib.import_module("numba.cuda")
    core: Any = importlib.import_module("cuda.core")
    dispatcher: Any = importlib.import_module("numba.cuda.dispatcher")
    assert dispatcher.get_current_device is cuda.get_current_device
    assert "get_current_device().compute_capability" in inspect.getsource(dispatcher.CUDADispatcher.compile_device)
    inspect.signature(cuda.compile).bind(
        len, (), device=False, abi="numba", fastmath=True, cc=(9, 0, "a"), output="ltoir"
    )
    options = inspect.signature(core.LinkerOptions)  # one would say that CUDA's linker is missing, where it is
    options.bind(arch="sm_90a", max_register_count=None, link_time_optimization=True)
    core.LaunchConfig(grid=(2, 1, 1), block=(128, 1, 1), shmem_size=0)
    for owner, name in [
        (core, "launch"), (core, "Linker"), (core.Linker, "link"), (core.ObjectCode, "from_ltoir"),
        (core.ObjectCode, "from_cubin"), (core.ObjectCode, "get_kernel"), (core.Stream, "from_handle"),
        (core.Kernel, "attributes"),
    ]:  # fmt: skip
        assert hasattr(owner, name)


COMPILE = """
import sys
from hushprice.simulation.gpu.kernel import KernelFiles
from hushprice.simulation.gpu.policy_batches import kernel_names
from hushprice.simulation.gpu.precompile import compile_one, get_ready
from hushprice.simulation.run import prepare
get_ready((9, 0))
job = prepare(sys.argv[1], horizon=100)
for name in kernel_names(job, "single"):
    if name.partition(" ")[0] == sys.argv[2]:
        compile_one(job, "single", name, (9, 0))
        print(KernelFiles((9, 0)).have(name))
"""


@needs_wheels
def test_a_kernel_is_compiled_without_a_device(tmp_path: Any) -> None:
    """The smallest one; it needs CUDA's compiler, which the wheel of numba-cuda does not bring."""
    pathfinder: Any = importlib.import_module("cuda.pathfinder")
    try:
        pathfinder.load_nvidia_dynamic_lib("nvvm")
        pathfinder.load_nvidia_dynamic_lib("nvJitLink")
    except Exception as problem:
        pytest.skip(f"CUDA's compiler is not installed: {type(problem).__name__}")
    done = subprocess.run(
        [sys.executable, "-c", COMPILE, "noisy-newton", "begin"],
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.strip() == "True", done.stderr[-2000:]
