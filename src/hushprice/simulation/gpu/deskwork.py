"""Kernels compiled by a process that never touches the device.

Before it compiles, numba asks the device of which generation it is, and afterwards it loads what it made. For both the
driver makes a context, for one process after the other: with eight processes at once the last one waited 8 s for it,
longer than it then took to compile. So a process that only compiles is told the generation, keeps its arrays on the
host (a compiler sees their types alone) and loads nothing. Like recall.py, this changes numba from outside, so only a
process that ends with its kernel does it, and only with the versions that were read; with others it makes a context.
"""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np

from hushprice.simulation.gpu.recall import versions_read

Generation = tuple[int, int]  # which the maker calls compute capability


def leave_the_device(generation: Generation) -> bool:
    """From now on, in this process; False where nothing was changed."""
    if not versions_read():
        return False
    dispatcher: Any = importlib.import_module("numba.cuda.dispatcher")
    codegen: Any = importlib.import_module("numba.cuda.codegen")
    cuda: Any = importlib.import_module("numba.cuda")
    device = SimpleNamespace(compute_capability=generation)
    dispatcher.get_current_device = cuda.get_current_device = lambda: device
    codegen.devices = SimpleNamespace(get_context=lambda: SimpleNamespace(device=device))
    dispatcher._Kernel.bind = lambda kernel: kernel._codelibrary.get_cubin()
    _look_for_names_in_what_is_there(dispatcher, codegen)
    return True


def _look_for_names_in_what_is_there(dispatcher: Any, codegen: Any) -> None:
    """numba compiles a kernel once more, to assembly, to see whether these names are in it: a fifth of the time."""
    names = [*dispatcher.reshape_funcs, *dispatcher._Kernel.NRT_functions]
    compile_to_assembly = codegen.CUDACodeLibrary.get_asm_str

    def get_asm_str(library: Any, cc: Any = None) -> str:
        found = any(name in code for code in library.llvm_strs for name in names)
        return compile_to_assembly(library, cc) if found else ""

    codegen.CUDACodeLibrary.get_asm_str = get_asm_str


class OnHost(np.ndarray[Any, Any]):
    """An array that stands for one on the device."""

    def copy_to_device(self, values: Any, stream: Any) -> None:
        """Nobody will read them."""

    def copy_to_host(self, place: Any, stream: Any) -> Any:
        return np.asarray(self)


class Nowhere:
    """A queue for work that nobody does."""

    def synchronize(self) -> None:
        """There is nothing to wait for."""


class Typed:
    """A kernel that is compiled for the arguments of a launch, and not launched."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    def __getitem__(self, launch: Any) -> Any:
        return lambda *arguments: self._kernel.compile(tuple(map(self._kernel.typeof_pyval, arguments)))


class Nothing:
    """A kernel that does nothing."""

    def __getitem__(self, launch: Any) -> Any:
        return lambda *arguments: None
