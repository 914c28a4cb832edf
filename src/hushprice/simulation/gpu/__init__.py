"""Trials on a GPU: one thread a trial, the same steps as on the CPU. Needs the extra `gpu`; loaded when asked for."""

from __future__ import annotations

import numpy as np

if not hasattr(np, "row_stack"):  # NumPy 2.5 took it away and numba-cuda 0.30 still asks for it
    setattr(np, "row_stack", np.vstack)  # noqa: B010 (a type checker knows either NumPy)
