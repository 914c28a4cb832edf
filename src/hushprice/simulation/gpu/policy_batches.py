"""Which kernels a policy runs on, and what follows from that for a job: memory, names, what can run beside it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeAlias

from hushprice.policies.catalog import kernel_of
from hushprice.simulation.gpu.gpu_newton import NewtonBatch
from hushprice.simulation.gpu.gpu_paper import PaperBatch
from hushprice.simulation.gpu.kernel_shape import built_policy, job_world, shape_of
from hushprice.simulation.gpu.session import kernel_name
from hushprice.simulation.trial import Job

PolicyBatch: TypeAlias = PaperBatch | NewtonBatch
_BATCHES: dict[str, type[PolicyBatch]] = {"paper": PaperBatch, "newton": NewtonBatch}  # by Policy.kernel
_SMALL = 1 << 22  # bytes for what a job has besides its trials' arrays; what does not fit takes memory of its own


def batch_class(job: Job) -> type[PolicyBatch]:
    """The kernels that the job's policy runs on; nothing else asks which policy it is."""
    return _BATCHES[str(built_policy(job).kernel)]


def compiles_longest(policy: str) -> bool:
    """Do kernels of the policy with this name take longest to compile, and its cells longest to run?"""
    batch = _BATCHES.get(str(kernel_of(policy)))
    return batch is not None and batch.compiles_longest


def kernel_names(job: Job, precision: str) -> list[str]:
    """Names of the kernels that a job launches, by which those that are the same are known."""
    batch, shape = batch_class(job), shape_of(job_world(job), precision == "single")
    return [kernel_name(role, batch.kind, shape) for role in batch.roles(job)]


def batch_key(job: Job) -> Hashable | None:
    """Jobs with the same key can run side by side; None: this one cannot.

    They differ by theta and seed alone; those of alg:framework by their plans too, as far as their arrays are alike.
    """
    rules = batch_class(job).rules(job)
    if rules is None:
        return None
    world = job_world(job)
    tables = world.stream.table.tobytes(), world.stream.table.shape, world.stream.weights.tobytes()
    return rules, job.horizon, shape_of(world, single=False), world.slope, world.bound, world.customers, tables


def most_trials(job: Job, *, precision: str, free: int) -> int:
    """How many trials a batch may have: what so many free bytes hold, and no more than helps."""
    batch = batch_class(job)
    return max(1, min(batch.most_trials(job), free // batch.bytes_each(job, precision == "single")))


def batch_bytes(job: Job, trials: int, *, precision: str) -> int:
    """Device memory that so many trials take at once."""
    return _SMALL + trials * batch_class(job).bytes_each(job, precision == "single")
