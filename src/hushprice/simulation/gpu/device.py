"""Is there a GPU, and what does it say where there is none. The only place that imports CUDA's Python side."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from hushprice.errors import InvalidInput, first_line

_SPARE = 0.85  # of the free memory that a run may take; the driver and kernels' stacks need some


@functools.cache
def cuda() -> Any:
    """numba's CUDA side; one clear line where the extra is not installed."""
    if not hasattr(np, "row_stack"):  # NumPy 2.5 took it away and numba-cuda 0.30 still asks for it
        np.row_stack = np.vstack  # type: ignore[attr-defined]
    try:
        from numba import cuda
    except ImportError as problem:
        raise InvalidInput(
            f"backend 'gpu' needs the extra `gpu` (pip install 'hushprice[gpu]'): {first_line(problem)}"
        ) from None
    return cuda


def trouble() -> str | None:
    """Why trials cannot run on a GPU here, in one line; None where they can."""
    try:
        device = cuda()
        if not device.is_available():
            return f"no GPU can be used: {_reason(device)}"
        device.current_context()
    except InvalidInput as problem:
        return str(problem)
    except Exception as problem:  # drivers fail in many ways, each with an error class of its own
        return f"no GPU can be used: {first_line(problem)}"
    return None


def _reason(device: Any) -> str:
    try:
        return first_line(device.cuda_error()) if device.cuda_error() else "no CUDA driver or device was found"
    except Exception:
        return "no CUDA driver or device was found"


def free_bytes() -> int:
    """Device memory that a run may take now."""
    free, _ = cuda().current_context().get_memory_info()
    return int(_SPARE * free)


def name() -> str:
    """The device, as its maker calls it."""
    found = cuda().get_current_device().name
    return found.decode() if isinstance(found, bytes) else str(found)
