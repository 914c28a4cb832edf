"""Is there a GPU, which one, and one line for each thing that can be wrong with it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hushprice.errors import HushpriceError, first_line

_SIMULATED = bool(int(os.environ.get("NUMBA_ENABLE_CUDASIM", "0") or 0))  # cuda.py would load all of CUDA to say so


def trouble() -> str | None:
    """Why trials cannot run on a GPU here, in one line; None where they can."""
    if not _SIMULATED and importlib.util.find_spec("numba_cuda") is None:
        return "device 'gpu' needs the extra 'gpu': pip install 'hushprice[gpu]'"
    try:
        cuda = _cuda()
        if not cuda.is_available():
            return f"no GPU can be used: {_reason(cuda)}"
        cuda.current_context()
    except Exception as problem:  # drivers fail in many ways, each with an error class of its own
        return f"no GPU can be used: {first_line(problem)}"
    return None


def library() -> str:
    """What compiles kernels, with its version: it may change a last digit."""
    return "simulator" if _SIMULATED else f"numba-cuda {importlib.metadata.version('numba-cuda')}"


def name() -> str:
    """The device, as its maker calls it."""
    if _SIMULATED:
        return "numba's CUDA simulator"
    said = _cuda().get_current_device().name
    return said.decode() if isinstance(said, bytes) else str(said)


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """What the driver complains about, as one line of ours."""
    try:
        yield
    except Exception as problem:
        if not type(problem).__module__.startswith(("numba.cuda", "numba_cuda", "cuda.")):
            raise
        said = first_line(problem)
        if "OUT_OF_MEMORY" in str(problem):
            said = f"not enough memory for a trial of so many customers ({said})"
        raise HushpriceError(f"the GPU failed: {said}") from problem


def _cuda() -> Any:
    from hushprice.simulation.gpu.cuda import cuda

    return cuda


def _reason(cuda: Any) -> str:
    try:
        said = cuda.cuda_error()
    except Exception:
        said = None
    return (
        first_line(said) if isinstance(said, Exception) else str(said or "").strip().partition("\n")[0] or "no driver"
    )
