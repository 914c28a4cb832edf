"""All that is known of numba-cuda beyond its manual, for the versions whose source was read.

Kernels are compiled and launched through documented calls (cuda.py, kernel.py). How their arguments lie in memory is
not documented ("the Numba ABI is not considered stable"): this module says it. Where `layout_is_known` says no, numba
launches its kernels itself: 0.4 ms of Python for each launch instead of some microseconds, and every process compiles.

Nothing of numba is changed in a user's process; one name is in a process that compiles one kernel and ends.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.metadata
import importlib.util
import logging
import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

READ = {"numba": "0.68.", "numba-cuda": "0.30."}  # the versions whose source was read
_SCALARS = {
    "bool": ctypes.c_bool,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}


@functools.cache
def layout_is_known() -> bool:
    """Are numba and numba-cuda of the versions that were read? Where they are not, a line of the log says so, once."""
    versions = {name: _version(name) for name in READ}
    known = all(versions[name].startswith(version) for name, version in READ.items())
    if not known:
        installed = ", ".join(f"{name} {version or 'missing'}" for name, version in versions.items())
        logging.getLogger(__name__).warning(
            "%s: not the versions that hushprice knows, so a GPU's kernels are compiled in every process anew and "
            "launched more slowly",
            installed,
        )
    return known


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def import_cuda(*, simulated: bool) -> Any:
    """The module `numba.cuda`.

    numba-cuda 0.30 asks NumPy for `row_stack` while it is imported, which NumPy 2.5 no longer has: it has it meanwhile.
    """
    if hasattr(np, "row_stack") or simulated or importlib.util.find_spec("numba_cuda") is None:
        return importlib.import_module("numba.cuda")
    setattr(np, "row_stack", np.vstack)  # noqa: B010 (a type checker knows either NumPy)
    try:
        cuda = importlib.import_module("numba.cuda")
        importlib.import_module("numba.cuda.np.arrayobj")  # which asks; numba would import it much later
        return cuda
    finally:
        delattr(np, "row_stack")


def compile_without_device(generation: tuple[int, int]) -> None:
    """From now on this process, which must be one that only compiles, takes this for the generation of its device.

    numba asks the device for it before it compiles a function that kernels call. For that the driver would make a
    context, for one process after the other: with eight at once the last one waited 8 s.
    """
    dispatcher: Any = importlib.import_module("numba.cuda.dispatcher")
    device = SimpleNamespace(compute_capability=generation)
    dispatcher.get_current_device = lambda: device


def argument_types(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """numba's types of a kernel's arguments; arrays of the host and of the device have the same."""
    typeof = importlib.import_module("numba.cuda.typing.typeof").typeof
    return tuple(map(typeof, arguments))


def flat_arguments(types: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
    """The parameters of a compiled kernel, in order: tuples and arrays are taken to pieces."""
    flat: list[Any] = []
    for kind, value in zip(types, arguments, strict=True):
        if isinstance(value, tuple):
            flat += flat_arguments(list(kind), value)
        elif hasattr(value, "__cuda_array_interface__"):
            flat += _array(value.__cuda_array_interface__)
        else:
            flat.append(_SCALARS[str(kind)](value))
    return flat


def _array(interface: dict[str, Any]) -> list[int]:
    """Two owners, which a kernel's arguments do not have, the size, that of an item, where it is, shape, strides."""
    shape, item = interface["shape"], np.dtype(interface["typestr"]).itemsize
    strides = interface["strides"] or [item * math.prod(shape[i + 1 :]) for i in range(len(shape))]
    return [0, 0, math.prod(shape), item, interface["data"][0], *shape, *strides]
