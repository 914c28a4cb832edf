"""Kernels that several jobs need, compiled side by side while others run.

A process compiles one kernel at a time, and almost all of that is Python. So each goes to a process of its own, which
leaves it on disk (disk.py).
"""

from __future__ import annotations

import functools
import gc
import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from hushprice.numerics.jit import FOLDER
from hushprice.policies.protocol import FIXED, LEARNING, Policy
from hushprice.simulation.change import world_of
from hushprice.simulation.gpu import framework, kept, newton
from hushprice.simulation.gpu.deskwork import Generation, Nothing, Typed, leave_the_device
from hushprice.simulation.gpu.disk import made_for
from hushprice.simulation.gpu.recall import recall
from hushprice.simulation.gpu.shape import shape_of
from hushprice.simulation.gpu.toolkit import SIMULATED, cuda, stay_on_host
from hushprice.simulation.subprocess_pool import SubprocessPool as Apart
from hushprice.simulation.subprocess_pool import cores
from hushprice.simulation.trial import Job

_ORDER = "advance of framework", "estimate of framework", "begin of framework"


class Ahead:
    """Kernels that jobs need, where they are not on disk yet: compiled side by side while other jobs run."""

    def __init__(self, precision: str) -> None:
        early = not SIMULATED and not any(_marks().glob("*.made"))  # whatever runs is to be compiled first
        first = functools.partial(get_ready, _generation())
        # Some at once, not all: the machine's cores slow each other down, and the first are those that others wait for.
        self._precision, self._apart = precision, Apart(max(2, cores() // 3), first, early=early)
        self._made_for = "" if SIMULATED else made_for()  # once: other threads had better not ask the driver
        self._made: dict[str, Future[bool | None]] = {}
        self.told: Callable[[], None] = lambda: None  # called whenever one is ready, from some thread

    def need(self, jobs: Sequence[Job]) -> None:
        """Begin with what these jobs need."""
        needed = {kernel: job for job in jobs for kernel in kernels_of(job, self._precision)}
        for kernel in sorted(needed, key=_rank):
            if not SIMULATED and kernel not in self._made and not self._mark(kernel).exists():
                self._made[kernel] = self._apart.submit(compile_one, needed[kernel], self._precision, kernel)
                self._made[kernel].add_done_callback(functools.partial(self._ended, kernel))

    def ready(self, kernels: Sequence[str]) -> bool:
        """Are they there? One that could not be compiled counts: the job that needs it tries itself and says why."""
        return all(self._made[kernel].done() for kernel in kernels if kernel in self._made)

    def _ended(self, kernel: str, made: Future[bool | None]) -> None:
        if not made.cancelled() and made.result():
            with suppress(OSError):  # a full disk: it is compiled again next time, and whoever waits for it goes on
                _marks().mkdir(parents=True, exist_ok=True)
                self._mark(kernel).touch()
        self.told()

    def _mark(self, kernel: str) -> Path:
        """Says that it is on disk, for this device and these libraries."""
        content = f"{kernel}|{self._made_for}"
        return _marks() / f"{hashlib.sha256(content.encode()).hexdigest()[:32]}.made"

    def wait(self) -> None:
        """Until all are there."""
        wait(self._made.values())

    def close(self) -> None:
        """Compile no more."""
        self._apart.close()


def compile_ahead(jobs: Sequence[Job], *, precision: str) -> None:
    """Compile what these jobs need, side by side."""
    with closing(Ahead(precision)) as ahead:
        ahead.need(jobs)
        ahead.wait()


def _generation() -> Generation:
    """The device's."""
    if SIMULATED:
        return 0, 0
    major, minor = cuda.get_current_device().compute_capability
    return major, minor


def _rank(kernel: str) -> int:
    """Those of alg:framework first: its cells run longest."""
    return next((at for at, name in enumerate(_ORDER) if kernel.startswith(name)), len(_ORDER))


def get_ready(generation: Generation) -> None:
    """What a process that compiles does first: this module is imported by then."""
    gc.disable()  # what numba makes lives as long as the process: to look it through is a sixth of the time
    recall()
    leave_the_device(generation)
    stay_on_host()


def compile_one(job: Job, precision: str, kernel: str) -> bool:
    """One kernel of those that the job launches."""
    policy, role = _policy(job), kernel.partition(" ")[0]
    kind: Any = framework.Turns if policy.newton is None else newton.Turns
    turns = kind(job, policy, most=1, single=precision == "single")
    others = {each: Nothing() for each in turns.kernels._fields}
    turns.kernels = turns.kernels._replace(**{**others, role: Typed(getattr(turns.kernels, role))})
    rooms, nobody = kept.rooms(job, 1, turns.estimates), range(1)
    turns.begin(nobody, rooms, goes_on=False)
    turns.advance(nobody, rooms)
    if turns.settles:
        turns.settle(nobody, rooms)
    return True


def kernels_of(job: Job, precision: str) -> list[str]:
    """Names for the kernels that a job launches: the role, and what those of one role share to be the same."""
    policy = _policy(job)
    shape = shape_of(world_of(job.market, job.horizon, None, job.customers), precision == "single")
    kind = f"{'framework' if policy.newton is None else 'newton'} {shape}"
    return [f"{role} of {kind}" for role in _roles(policy)]


def _roles(policy: Policy) -> list[str]:
    """The kernels that the policy launches."""
    if policy.newton is not None:
        return ["advance", "release", "begin"]
    if policy.code == FIXED and policy.price is None:
        return ["advance", "earn", "begin"]
    return ["advance", "estimate", "begin"] if policy.code == LEARNING else ["advance", "begin"]


def _policy(job: Job) -> Policy:
    assert isinstance(job.policy, Policy)  # places.unfit said so
    return job.policy


def _marks() -> Path:
    """Where marks lie, one for each kernel that is on disk."""
    return Path(FOLDER, "gpu")
