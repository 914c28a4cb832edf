"""numba's CUDA side: it has no types, and it may be numba's simulator, which runs kernels as plain Python."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numba.core.config

from hushprice.simulation.gpu._numba_internals import import_cuda

config: Any = numba.core.config
config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # few trials are not a mistake
# Streams that the driver keeps separate; by default 8, and work of a ninth would wait behind another's.
os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")
SIMULATED = bool(config.ENABLE_CUDASIM)
cuda: Any = import_cuda(simulated=SIMULATED)

# Threads of a block with a trial each, and of a team that makes one fit together: many, because nobody goes on before
# the longest fit is made. The simulator starts a thread of the operating system for each.
BLOCK, TEAM = (2, 2) if SIMULATED else (128, 512)

Generation: TypeAlias = tuple[int, int]  # of a device; its maker calls it compute capability


class KernelDefinition(NamedTuple):
    """A kernel as a plain function, and how to compile it."""

    function: Any
    registers: int | None = None  # of a thread, at most
    fast: bool = False  # roots and quotients in single precision may miss their last digit: a tenth of the instructions


def device_step(*, fast: bool = False) -> Any:
    """Compile a function that kernels call. In the simulator it stays as it is."""
    return (lambda function: function) if SIMULATED else cuda.jit(device=True, forceinline=True, fastmath=fast)


def jit_kernel(definition: KernelDefinition) -> Any:
    """The kernel as numba launches it: it compiles when it is launched first, for this process alone."""
    function, registers, fast = definition
    return cuda.jit(function) if SIMULATED else cuda.jit(function, max_registers=registers, fastmath=fast)


def compile_kernel(definition: KernelDefinition, types: Sequence[Any], generation: Generation) -> bytes:
    """The kernel's machine code for arguments of these types. No device is needed for that."""
    core: Any = importlib.import_module("cuda.core")
    target = (*generation, "a" if generation >= (9, 0) else "")  # as numba chooses
    code, _ = cuda.compile(
        definition.function,
        tuple(types),
        device=False,
        abi="numba",
        fastmath=definition.fast,
        cc=target,
        output="ltoir",
    )
    options = core.LinkerOptions(
        arch="sm_{}{}{}".format(*target), max_register_count=definition.registers, link_time_optimization=True
    )
    return bytes(core.Linker(core.ObjectCode.from_ltoir(code), options=options).link("cubin").code)


def entry_name(code: bytes) -> str | None:
    """The kernel's name in machine code, which has constants for each kernel; None where it is no such code."""
    match = re.search(rb"\0\.nv\.constant0\.(\w+)\0", code)
    return match and match[1].decode()
