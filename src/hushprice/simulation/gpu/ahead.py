"""Kernels that several jobs need, compiled side by side before the first job runs.

A process compiles one kernel at a time, and almost all of that is Python. So each goes to a process of its own, which
leaves it on disk (disk.py).
"""

from __future__ import annotations

import gc
import hashlib
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from hushprice.numerics.jit import FOLDER
from hushprice.policies.protocol import FIXED, LEARNING, Policy
from hushprice.simulation.change import world_of
from hushprice.simulation.gpu import framework, kept, newton
from hushprice.simulation.gpu.recall import recall
from hushprice.simulation.gpu.shape import shape_of
from hushprice.simulation.gpu.toolkit import SIMULATED, lend, stream
from hushprice.simulation.trial import Job


def compile_ahead(jobs: Sequence[Job], *, precision: str) -> None:
    """Compile what these jobs need, if that is more than one set of kernels and not on disk yet."""
    needed = {kernels_of(job, precision): job for job in jobs}
    missing = {name: job for name, job in needed.items() if not _mark(name).exists()}
    if SIMULATED or len(missing) < 2:
        return
    kernels = {(_kind(job, precision), one): job for job in missing.values() for one in _large(_policy(job))}
    tasks = [pickle.dumps((job, precision, one)) for (_, one), job in kernels.items()]
    with ThreadPoolExecutor(min(len(tasks), os.cpu_count() or 1)) as pool:
        codes = list(pool.map(_apart, tasks))
    if not any(codes):  # where one failed, the job itself compiles it and says why
        for name in missing:
            _mark(name).parent.mkdir(parents=True, exist_ok=True)
            _mark(name).touch()


def _apart(task: bytes) -> int:
    """Compile in a process of its own; its exit code. Not by multiprocessing, which would run the caller's script."""
    command = f"from {__name__} import compile_given; compile_given()"
    return subprocess.run([sys.executable, "-c", command], input=task, capture_output=True, check=False).returncode


def compile_given() -> None:
    """The task on standard input."""
    gc.disable()  # what numba makes lives as long as the process: to look it through is a sixth of the time
    recall()
    compile_one(*pickle.loads(sys.stdin.buffer.read()))


def compile_one(job: Job, precision: str, name: str) -> None:
    """One of the large kernels; with the last of them the small one, because the first is what everybody waits for."""
    policy = _policy(job)
    lend()  # for good: the process ends
    kind: Any = framework.Turns if policy.newton is None else newton.Turns
    turns = kind(job, policy, most=1, single=precision == "single")
    others = {other: Nothing() for other in _large(policy) if other != name}
    turns.kernels = turns.kernels._replace(**others)
    rooms, nobody = kept.rooms(job, 1, turns.estimates), range(1)
    if name == _large(policy)[-1]:
        turns.begin(nobody, rooms, goes_on=False)
    else:
        _stay(turns)
    turns.turn(nobody, rooms)


def _stay(turns: Any) -> None:
    """Nobody goes on: what `begin` would say if it ran."""
    place = turns._state.place
    place.copy_to_device(np.zeros(place.shape, dtype=place.dtype), stream=stream())


class Nothing:
    """A kernel that does nothing."""

    def __getitem__(self, launch: Any) -> Any:
        return lambda *arguments: None


def kernels_of(job: Job, precision: str) -> str:
    """A name for the kernels that a job needs."""
    return f"{' '.join(_large(_policy(job)))} of {_kind(job, precision)}"


def _kind(job: Job, precision: str) -> str:
    """What kernels of the same role have to share to be the same."""
    policy = _policy(job)
    shape = shape_of(world_of(job.market, job.horizon, None, job.customers), precision == "single")
    return f"{'framework' if policy.newton is None else 'newton'} {shape} {framework.is_near(job, policy)}"


def _large(policy: Policy) -> list[str]:
    """The kernels that take long to compile, of those that the policy launches."""
    if policy.newton is not None:
        return ["advance", "release"]
    if policy.code == FIXED and policy.price is None:
        return ["advance", "earn"]
    return ["advance", "estimate"] if policy.code == LEARNING else ["advance"]


def _policy(job: Job) -> Policy:
    assert isinstance(job.policy, Policy)  # places.unfit said so
    return job.policy


def _mark(name: str) -> Path:
    return Path(FOLDER, "gpu", f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.made")
