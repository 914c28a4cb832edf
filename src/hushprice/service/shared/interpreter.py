"""What kind of Python the service may run on: compiled steps, under the interpreter's lock."""

from __future__ import annotations

import sys

from hushprice.errors import InvalidInput
from hushprice.numerics import jit


def check_interpreter() -> None:
    """Refuse what was never tested under load: un-compiled steps, and threads that nothing keeps apart."""
    if not jit.COMPILED:
        raise InvalidInput("NUMBA_DISABLE_JIT is set, and the service runs compiled code only; unset it")
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        raise InvalidInput(
            "this Python runs without its global lock, which threads of the service rely on; set PYTHON_GIL=1"
        )
