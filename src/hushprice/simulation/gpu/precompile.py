"""Kernels that several jobs need, compiled side by side while others run.

A process compiles one kernel at a time, and almost all of that is Python. So each goes to a process of its own, which
leaves it on disk (kernel.py). Such a process never touches the device: it is given the device's generation, and its
arrays, of which a compiler needs only the types, lie on the host. To make a context for each would take longer than to
compile, because the driver makes one after the other.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import closing
from typing import Any

import numpy as np

from hushprice.numerics.subprocess_pool import SubprocessPool, cores
from hushprice.simulation.gpu import trial_outputs
from hushprice.simulation.gpu._numba_internals import argument_types, compile_without_device
from hushprice.simulation.gpu.cuda import Generation
from hushprice.simulation.gpu.kernel import Kernel, KernelFiles, Launch, LaunchGrid
from hushprice.simulation.gpu.kernel_shape import KernelShape
from hushprice.simulation.gpu.policy_batches import batch_class, kernel_names
from hushprice.simulation.gpu.session import GpuSession, KernelMakers, Workspace, kernel_name
from hushprice.simulation.trial import Job

_ORDER = "advance of paper", "estimate of paper", "begin of paper"


class Precompiler:
    """Kernels that jobs need, where they are not on disk yet: compiled side by side while other jobs run."""

    def __init__(self, session: GpuSession, precision: str) -> None:
        self._precision, self._files = precision, session.files
        first = bool if self._files is None else functools.partial(get_ready, self._files.generation)
        early = self._files is not None and self._files.empty  # whatever runs is to be compiled first
        # Some at once, not all: the machine's cores slow each other down, and the first are those that others wait for.
        self._pool = SubprocessPool(max(2, cores() // 3), first, early=early)
        self._compiled: dict[str, Future[bool | None]] = {}
        self.on_ready: Callable[[], None] = lambda: None  # called whenever one is ready, from some thread

    def need(self, jobs: Sequence[Job]) -> None:
        """Begin with what these jobs need."""
        if self._files is None:
            return
        needed = {kernel: job for job in jobs for kernel in kernel_names(job, self._precision)}
        for kernel in sorted(needed, key=_rank):
            if kernel not in self._compiled and not self._files.have(kernel):
                call = compile_one, needed[kernel], self._precision, kernel, self._files.generation
                self._compiled[kernel] = self._pool.submit(*call)
                self._compiled[kernel].add_done_callback(lambda _: self.on_ready())

    def ready(self, kernels: Sequence[str]) -> bool:
        """Are they there? One that could not be compiled counts: the job that needs it tries itself and says why."""
        return all(self._compiled[kernel].done() for kernel in kernels if kernel in self._compiled)

    def wait(self) -> None:
        """Wait until every kernel is compiled."""
        wait(self._compiled.values())

    def close(self) -> None:
        """End the processes that compile."""
        self._pool.close()


def precompile(session: GpuSession, jobs: Sequence[Job], *, precision: str) -> None:
    """Compile what these jobs need, side by side."""
    with closing(Precompiler(session, precision)) as compiler:
        compiler.need(jobs)
        compiler.wait()


def _rank(kernel: str) -> int:
    """Those of alg:framework first: its cells run longest."""
    return next((at for at, name in enumerate(_ORDER) if kernel.startswith(name)), len(_ORDER))


def get_ready(generation: Generation) -> None:
    """What a process that compiles does first: all that it needs is imported by then."""
    compile_without_device(generation)
    gc.disable()  # what numba makes lives as long as the process: to look it through is a sixth of the time


def compile_one(job: Job, precision: str, kernel: str, generation: Generation) -> bool:
    """Compile one kernel of those that the job launches, by all but launching them."""
    session, workspace, nobody = CompileSession(kernel, KernelFiles(generation)), HostWorkspace(), range(1)
    batch = batch_class(job)([job], session, workspace, most=1, single=precision == "single")
    outputs = trial_outputs.allocate(job, workspace, 1, batch.estimates)
    batch.begin(nobody, outputs, runs=False)
    batch.advance(nobody, outputs)
    if batch.settles:
        batch.settle(nobody, outputs)
    return True


class CompileSession(GpuSession):
    """A session where one kernel is only compiled, and nothing is done with the others."""

    def __init__(self, kernel: str, files: KernelFiles) -> None:
        self._name, self._given = kernel, files

    def kernels(self, kind: str, makers: KernelMakers, shape: KernelShape) -> dict[str, Kernel]:
        """The kernels by role; whoever launches them compiles that one and launches nothing."""
        names = {role: kernel_name(role, kind, shape) for role in makers}
        return {
            role: CompiledKernel(
                name, functools.partial(makers[role], shape), self._given if name == self._name else None
            )
            for role, name in names.items()
        }


class CompiledKernel(Kernel):
    """A kernel that is compiled for the arguments of a launch, if it has files, and not launched."""

    def prepare(self, grid: LaunchGrid, *arguments: Any) -> Launch:
        """Compile it; a launch of nothing."""
        if self.files is not None:
            self.compile(argument_types(arguments))
        return lambda: None


class HostWorkspace(Workspace):
    """Arrays of the host that stand for the device's: a compiler needs their types and not what is in them."""

    def __init__(self) -> None:
        self.stream = None

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array of zeros."""
        return np.zeros(shape, dtype)

    def copy(self, values: Any, array: Any) -> None:
        """Nothing: a compiler does not look at values."""

    def to_host(self, array: Any, target: Any = None) -> Any:
        """The array as it is: it is the host's already."""
        return array
