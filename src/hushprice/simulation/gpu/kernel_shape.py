"""What a kernel is compiled for: everything that stays the same for all trials of a market, known to the compiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import float32, float64

from hushprice.policies.protocol import Policy
from hushprice.simulation.changed_record import world_of
from hushprice.simulation.contexts import Stream
from hushprice.simulation.gpu.constant_folding import Constants
from hushprice.simulation.gpu.cuda import device_step
from hushprice.simulation.trial import Job
from hushprice.simulation.world import KernelMarket

ONE_CUSTOMER: Constants = {"shape": {"[1]": 1}}  # of an array with a column a customer


class KernelShape(NamedTuple):
    """One set of kernels. Branches on these cost nothing, and arrays of a known size stay in registers."""

    dimension: int
    contexts: int
    family: int
    map: int
    stream: int
    single: bool

    @property
    def number(self) -> Any:
        """The type of what is computed in every period."""
        return float32 if self.single else float64


def shape_of(world: KernelMarket, single: bool) -> KernelShape:
    """The kernels that this market needs."""
    d, k = int(world.theta.size), int(world.stream.size)
    return KernelShape(d, k, int(world.family), int(world.map), int(world.stream.kind), single)


def job_world(job: Job) -> KernelMarket:
    """The job's market as kernels take it; no record of it is changed."""
    return world_of(job.market, job.horizon, None, job.customers)


def built_policy(job: Job) -> Policy:
    """The job's policy, which is built in, or the job would not have come this far (simulation/device.py)."""
    assert isinstance(job.policy, Policy)
    return job.policy


def with_constants(shape: KernelShape) -> Any:
    """A step that puts the shape's constants and a trial's theta, of known size, into a world; no record is changed."""
    _, k, family, feature_map, kind, single = shape
    nan: Any = np.float32(np.nan) if single else np.nan

    @device_step()
    def replace(world, theta):  # type: ignore[no-untyped-def]
        stream = Stream(kind, k, world.stream.horizon, world.stream.table, world.stream.weights)
        return KernelMarket(
            family, world.slope, world.bound, feature_map, theta, stream, 0, world.changed_x, nan, world.customers
        )

    return replace


def world_constants(shape: KernelShape) -> Constants:
    """What is known of such a world when steps that take it are compiled."""
    stream: Constants = {"kind": shape.stream, "size": shape.contexts}
    return {"family": shape.family, "map": shape.map, "changed": 0, "stream": stream}


class JobTable(NamedTuple):
    """What jobs side by side have of their own, on the device; the first index is the job."""

    seed: Any
    theta: Any


def job_table(jobs: Sequence[Job], single: bool) -> JobTable:
    """Seeds and demand vectors of jobs."""
    seeds, theta = np.array([job.seed for job in jobs], dtype=np.int64), np.array([job.market.theta for job in jobs])
    return JobTable(seeds, theta.astype(np.float32 if single else np.float64))


def stacked(tuples: Sequence[Any]) -> Any:
    """Named tuples of one kind as one of arrays; the first index is the tuple."""
    columns = zip(*tuples, strict=True)
    return type(tuples[0])(*(np.stack([np.asarray(value) for value in column]) for column in columns))


def row_of(kind: Any) -> Any:
    """A step that takes one of `stacked` tuples of this kind out."""
    fields = ", ".join(f"many.{name}[at]" for name in kind._fields)
    made: dict[str, Any] = {}
    exec(f"def pick(many, at):\n    return kind({fields})", {"kind": kind}, made)  # a device cannot go through names
    return device_step()(made["pick"])


@device_step()
def copy(source, target):  # type: ignore[no-untyped-def]
    """A vector into another, as long as the second. Unsigned counters say that no index counts from the end."""
    for i in range(np.uint64(target.size)):
        target[i] = source[i]


@device_step()
def copy_square(source, target):  # type: ignore[no-untyped-def]
    """A matrix into another, as large as the second."""
    for i in range(np.uint64(target.shape[0])):
        for j in range(np.uint64(target.shape[1])):
            target[i, j] = source[i, j]
