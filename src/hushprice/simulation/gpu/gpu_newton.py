"""noisy-newton on a GPU, one thread a trial: all trials go on until a release is due, then all release, and so on.

Releases are rare and need many registers; periods are many and need few. With a kernel for each, each gets what it
needs. Jobs that differ by theta and seed alone share a launch: the first job's trials, then the second's, and so on.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba import float64, int64

from hushprice.numerics.linear import packed_size
from hushprice.policies.newton.policy import NewtonPolicy
from hushprice.policies.newton.pricing.probe import work_shape
from hushprice.policies.newton.pricing.transition import TiltedBelief
from hushprice.policies.newton.private import scores
from hushprice.policies.newton.rules import DOUBLINGS, EARLY
from hushprice.price_search.certified import STACK
from hushprice.simulation.gpu.cuda import KernelDefinition, cuda
from hushprice.simulation.gpu.kernel import Launch
from hushprice.simulation.gpu.kernel_shape import (
    ONE_CUSTOMER,
    KernelShape,
    built_policy,
    copy,
    copy_square,
    job_table,
    job_world,
    shape_of,
    with_constants,
    world_constants,
)
from hushprice.simulation.gpu.session import GpuSession, KernelMakers, Workspace
from hushprice.simulation.gpu.substitutes import device_steps, narrowed
from hushprice.simulation.gpu.trial_outputs import TrialOutputs, output_bytes
from hushprice.simulation.kernels import newton as steps
from hushprice.simulation.kernels.newton import ENTRIES, PERIOD, NewtonTrial
from hushprice.simulation.kernels.newton_prices import NewtonPlan
from hushprice.simulation.scratch import Stretch
from hushprice.simulation.tally import TOTALS
from hushprice.simulation.trial import Job, newton_plan
from hushprice.simulation.world import DUE, TrialInput, TrialOutput

RELEASES = EARLY + DOUBLINGS  # of a trial, at most
_HOT = ("reference_price", "dispersion", "width", "spread", "lowest")  # read in every period
_HOT_BATCHES = ("cap", "near")
_REGISTERS = 128  # a thread; 65,536 trials leave a large GPU as many, and with fewer more are spilled


class NewtonState(NamedTuple):
    """Where trials are, on the device; the first index is the trial."""

    progress: Any  # one entry more than a trial's: does the trial go on?
    score: Any
    exact: Any
    running: Any
    theta: Any
    precision: Any
    inverse: Any
    tilt: Any


def begin_kernel(shape: KernelShape) -> KernelDefinition:
    """Puts trials before their first period."""
    begin_one = device_steps(False)(steps.begin_trial)

    def begin(plan, trials, runs, outputs, state):  # type: ignore[no-untyped-def]
        t = cuda.grid(1)
        if t >= trials:
            return
        progress, score, exact, running, theta, precision, inverse, tilt = state
        none, blank = cuda.local.array(1, float64), cuda.local.array((1, 1), float64)
        believed = TiltedBelief(theta[t], precision[t], inverse[t], tilt[t])
        trial = NewtonTrial(progress[t], believed, score[t], exact[t], none, none, running[t], blank, blank, blank)
        begin_one(plan, trial)
        progress[t, ENTRIES] = runs
        for i in range(TOTALS):
            outputs.totals[t, i] = 0.0

    return KernelDefinition(begin)


def advance_kernel(shape: KernelShape) -> KernelDefinition:
    """Lets trials go on until a release is due or the last period is over."""
    d, k, number, size = shape.dimension, shape.contexts, shape.number, packed_size(shape.dimension)
    rows, constant = scores.ROWS, with_constants(shape)
    known = {"world": world_constants(shape), "state": {"phi": ONE_CUSTOMER}, "pauses": 1}
    advance_one = device_steps(shape.single)(steps.advance, known)

    def advance(world, plan, jobs, first, each, trials, horizon, outputs, state):  # type: ignore[no-untyped-def]
        t = cuda.grid(1)
        if t >= trials or state.progress[t, ENTRIES] == 0:
            return
        local = cuda.local.array
        none, blank = local(1, number), local((1, 1), number)
        double_none, double_blank = local(1, float64), local((1, 1), float64)
        stretch = Stretch(
            local((k, 1), number), local((d, 1), number), local((d, 1), number), blank, blank, blank,
            local((4, 1), number), local((7, 1), number), none, local((5, 1), number), blank, blank, blank, blank,
            local((3, 1), number), local(STACK, number),
        )  # fmt: skip
        progress, theta, inverse = local(ENTRIES, int64), local(d, number), local((d, d), number)
        tilt = local(d, number)
        score, exact, totals = local(d, float64), local(size, float64), local(TOTALS, float64)
        truth, job = local(d, number), t // each
        copy(jobs.theta[job], truth)
        copy(state.progress[t], progress)
        copy(state.theta[t], theta)
        copy_square(state.inverse[t], inverse)
        copy(state.tilt[t], tilt)
        copy(state.score[t], score)
        copy(state.exact[t], exact)
        copy(outputs.totals[t], totals)
        trial = NewtonTrial(
            progress, TiltedBelief(theta, double_blank, inverse, tilt), score, exact, double_none, double_none,
            double_blank, local((d, 1), number), local((rows, 1), number), double_blank,
        )  # fmt: skip
        nobody, nothing = local(1, int64)[1:], local(1, float64)[1:]  # empty, and the compiler knows it
        output = TrialOutput(outputs.checkpoints, outputs.regret_at[t], totals, nobody, nothing)
        before = progress[PERIOD]
        given = TrialInput(jobs.seed[job], first + t % each, horizon, nobody, 0)
        why = advance_one(constant(world, truth), plan, given, output, stretch, trial, 1)
        for i in range(d):
            state.score[t, i] = score[i]
        for i in range(size):
            state.exact[t, i] = exact[i]
        for i in range(ENTRIES):
            state.progress[t, i] = progress[i]
        for i in range(TOTALS):
            outputs.totals[t, i] = totals[i]
        state.progress[t, ENTRIES] = 1 if why == DUE else 0
        cuda.atomic.add(outputs.done, 0, progress[PERIOD] - before)

    return KernelDefinition(advance, _REGISTERS, fast=shape.single)


def release_kernel(shape: KernelShape) -> KernelDefinition:
    """Makes the release of every trial that is not over."""
    d, size, small = shape.dimension, packed_size(shape.dimension), work_shape(shape.dimension)[0]
    release_one = device_steps(False)(steps.release)

    def release(plan, jobs, first, each, trials, outputs, state):  # type: ignore[no-untyped-def]
        t = cuda.grid(1)
        if t >= trials or state.progress[t, ENTRIES] == 0:
            return
        progress, score, exact, running, theta, precision, inverse, tilt = state
        local, blank = cuda.local.array, cuda.local.array((1, 1), float64)
        believed = TiltedBelief(theta[t], precision[t], inverse[t], tilt[t])
        trial = NewtonTrial(
            progress[t], believed, score[t], exact[t], local(d, float64), local(size, float64), running[t], blank,
            blank, local((small, d), float64),
        )  # fmt: skip
        release_one(plan, jobs.seed[t // each], first + t % each, trial, outputs.periods[:, t])

    return KernelDefinition(release)


class NewtonBatch:
    """Jobs of noisy-newton on the device, side by side, with memory for `most` trials at once in all."""

    kind, compiles_longest, estimates, settles = "newton", False, RELEASES, True
    makers: ClassVar[KernelMakers] = {"advance": advance_kernel, "release": release_kernel, "begin": begin_kernel}

    def __init__(
        self, jobs: Sequence[Job], session: GpuSession, workspace: Workspace, *, most: int, single: bool
    ) -> None:
        job, plan, self._workspace = jobs[0], _plan(jobs[0]), workspace
        world, on_device = job_world(job), workspace.to_device
        self.kernels = session.kernels(self.kind, self.makers, shape_of(world, single))
        self._whole = on_device(plan)
        hot = {name: narrowed(getattr(plan, name)) for name in _HOT if single}
        batches = {name: narrowed(getattr(plan.batches, name)) for name in _HOT_BATCHES if single}
        self._hot = self._whole._replace(batches=self._whole.batches._replace(**batches), **hot)
        self._world = on_device(narrowed(world) if single else world)
        self._state = _state(workspace, most, job.market.dimension, plan)
        self._jobs, self._horizon, self._table = len(jobs), job.horizon, on_device(job_table(jobs, single))

    def begin(self, numbers: range, outputs: TrialOutputs, *, runs: bool = True) -> None:
        """Put trials before their first period; those that do not run are over at once."""
        trials = self._jobs * len(numbers)
        grid = self._workspace.thread_each(trials)
        self.kernels["begin"].prepare(grid, self._whole, trials, int(runs), outputs, self._state)()

    def stretches(self, period: int) -> int:
        """Releases come at the same periods for nearly all, and are short."""
        return 1

    def advance(self, numbers: range, outputs: TrialOutputs) -> Launch:
        """All go on until a release is due."""
        first, each, trials = numbers.start, len(numbers), self._jobs * len(numbers)
        grid, given = self._workspace.thread_each(trials), (self._world, self._hot, self._table)
        return self.kernels["advance"].prepare(grid, *given, first, each, trials, self._horizon, outputs, self._state)

    def settle(self, numbers: range, outputs: TrialOutputs) -> Launch:
        """All that are not over release."""
        first, each, trials = numbers.start, len(numbers), self._jobs * len(numbers)
        grid, given = self._workspace.thread_each(trials), (self._whole, self._table)
        return self.kernels["release"].prepare(grid, *given, first, each, trials, outputs, self._state)

    @staticmethod
    def roles(job: Job) -> list[str]:
        """The kernels that the job launches."""
        return ["advance", "release", "begin"]

    @staticmethod
    def rules(job: Job) -> Hashable | None:
        """What jobs of a batch must have alike beside their market; None where the job runs by itself."""
        return _policy(job).rules

    @staticmethod
    def bytes_each(job: Job, single: bool) -> int:
        """Device memory that one trial takes; its sums are double in either precision."""
        d, size, plan = job.market.dimension, packed_size(job.market.dimension), _plan(job)
        state = ENTRIES + 1 + 3 * d + 2 * d * d + size * (plan.poles.shape[1] + 3)
        return 8 * state + output_bytes(job, RELEASES)

    @staticmethod
    def most_trials(job: Job) -> int:
        """The trials of a batch: with more, a large GPU gets no faster."""
        return 131_072


def _policy(job: Job) -> NewtonPolicy:
    policy = built_policy(job)
    assert isinstance(policy, NewtonPolicy)
    return policy


def _plan(job: Job) -> NewtonPlan:
    return newton_plan(_policy(job).rules, job.market)


def _state(workspace: Workspace, trials: int, d: int, plan: NewtonPlan) -> NewtonState:
    size = packed_size(d)
    shapes = (d,), (size,), (plan.poles.shape[1] + 2, size), (d,), (d, d), (d, d), (d,)
    progress = workspace.empty((trials, ENTRIES + 1), np.int64)
    return NewtonState(progress, *(workspace.empty((trials, *shape), np.float64) for shape in shapes))
