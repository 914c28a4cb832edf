"""A process that only compiles is told the device's generation, and asks the driver for nothing."""

from __future__ import annotations

import importlib
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hushprice.simulation.gpu import deskwork, toolkit


class Library:
    """A kernel's code, as far as numba's parts see it."""

    def __init__(self, *llvm_strs: str) -> None:
        self.asked: list[str] = []
        self.llvm_strs = llvm_strs

    def get_asm_str(self, cc: Any) -> str:
        self.asked.append("assembly")
        return f"assembly for {cc}"

    def get_cubin(self) -> bytes:
        self.asked.append("made")
        return b"cubin"

    def get_cufunc(self) -> None:
        self.asked.append("loaded")


class Kernel:
    NRT_functions = ("NRT_Free",)

    def __init__(self) -> None:
        self._codelibrary = Library()

    def bind(self) -> None:
        self._codelibrary.get_cufunc()


@pytest.fixture
def numba(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Its modules, as far as they are changed."""

    def refuse() -> Any:
        raise AssertionError("a context was asked for")

    found: dict[str, Any] = {
        "numba.cuda.dispatcher": SimpleNamespace(
            get_current_device=refuse, _Kernel=type("_Kernel", (Kernel,), {}), reshape_funcs=["reshape"]
        ),
        "numba.cuda.codegen": SimpleNamespace(
            devices=SimpleNamespace(get_context=refuse), CUDACodeLibrary=type("CUDACodeLibrary", (Library,), {})
        ),
        "numba.cuda": SimpleNamespace(get_current_device=refuse),
    }
    monkeypatch.setattr(importlib, "import_module", found.__getitem__)
    return found


def test_every_place_that_asks_is_told_the_generation_and_nothing_is_loaded(
    numba: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deskwork, "versions_read", lambda: True)
    assert deskwork.leave_the_device((9, 0))
    for module in ("numba.cuda.dispatcher", "numba.cuda"):
        assert numba[module].get_current_device().compute_capability == (9, 0)
    assert numba["numba.cuda.codegen"].devices.get_context().device.compute_capability == (9, 0)
    kernel = numba["numba.cuda.dispatcher"]._Kernel()
    kernel.bind()
    assert kernel._codelibrary.asked == ["made"]


@pytest.mark.parametrize(
    ("codes", "assembly"),
    [(["call @mine"], ""), (["call @mine", "call @NRT_Free"], "assembly for 90"), (["@reshape"], "assembly for 90")],
)
def test_assembly_is_made_only_where_a_name_that_is_looked_for_can_be_in_it(
    numba: dict[str, Any], monkeypatch: pytest.MonkeyPatch, codes: list[str], assembly: str
) -> None:
    monkeypatch.setattr(deskwork, "versions_read", lambda: True)
    deskwork.leave_the_device((9, 0))
    library = numba["numba.cuda.codegen"].CUDACodeLibrary(*codes)
    assert library.get_asm_str(90) == assembly
    assert library.asked == (["assembly"] if assembly else [])


def test_other_versions_are_left_alone(numba: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deskwork, "versions_read", lambda: False)
    assert not deskwork.leave_the_device((9, 0))
    with pytest.raises(AssertionError, match="a context"):
        numba["numba.cuda"].get_current_device()
    kernel = numba["numba.cuda.dispatcher"]._Kernel()
    kernel.bind()
    assert kernel._codelibrary.asked == ["loaded"]


def test_arrays_on_the_host_take_the_place_of_the_devices() -> None:
    array = np.zeros((2, 3), np.float32).view(deskwork.OnHost)
    array.copy_to_device(np.ones((2, 3)), stream=0)
    back = array.copy_to_host(None, stream=0)
    assert type(back) is np.ndarray
    assert not back.any()  # nothing was copied
    part = array[:1]
    assert isinstance(part, deskwork.OnHost)
    deskwork.Nowhere().synchronize()


def test_a_thread_that_stays_on_the_host_asks_the_device_for_nothing_and_others_do() -> None:
    def found() -> tuple[Any, Any]:
        toolkit.stay_on_host()
        toolkit.wait()
        return toolkit.new((2, 3), np.float32), toolkit.stream()

    with ThreadPoolExecutor(1) as thread:
        array, queue = thread.submit(found).result()
    assert (type(array), array.shape, array.dtype) == (deskwork.OnHost, (2, 3), np.float32)
    assert isinstance(queue, deskwork.Nowhere)
    assert not hasattr(toolkit._OWN, "on_host")


def test_a_kernel_is_compiled_for_the_types_of_a_launch_or_does_nothing() -> None:
    compiled: list[Any] = []
    kernel = SimpleNamespace(typeof_pyval=type, compile=compiled.append)
    deskwork.Typed(kernel)[1, 2](3, 4.0)
    assert compiled == [(int, float)]
    assert deskwork.Nothing()[1, 2](3) is None
