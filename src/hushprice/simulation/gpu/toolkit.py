"""numba's CUDA side, from one place: it has no types, and it may be numba's simulator, which runs kernels as Python."""

from __future__ import annotations

import importlib
from typing import Any

import numba.core.config

config: Any = numba.core.config
config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # few trials are not a mistake
SIMULATED = bool(config.ENABLE_CUDASIM)
cuda: Any = importlib.import_module("numba.cuda")

BLOCK = 2 if SIMULATED else 128  # threads; the simulator starts a thread of the operating system for each


def device_step(*, quick: bool = False) -> Any:
    """Compile a function that kernels call. In the simulator it stays as it is."""
    return (lambda function: function) if SIMULATED else cuda.jit(device=True, forceinline=True, fastmath=quick)


def bounded(kernel: Any, registers: int, *, quick: bool = False) -> Any:
    """Compile a kernel that takes at most so many registers a thread.

    Quick: roots and quotients in single precision may miss their last digit, which saves nine instructions of ten.
    """
    return cuda.jit(kernel) if SIMULATED else cuda.jit(kernel, max_registers=registers, fastmath=quick)


def over(trials: int) -> tuple[int, int]:
    """Blocks and threads for one thread a trial."""
    return (trials + BLOCK - 1) // BLOCK, BLOCK


def on_device(value: Any) -> Any:
    """A value, or a tuple of values, with its arrays on the device."""
    if isinstance(value, tuple):
        parts = [on_device(each) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return cuda.to_device(value) if hasattr(value, "dtype") and value.shape else value
