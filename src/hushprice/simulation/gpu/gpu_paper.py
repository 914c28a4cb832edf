"""alg:framework and the baselines on a GPU: one thread a trial between estimates, one block a trial for an estimate.

Trials ask for estimates at different periods. So all go on until each asks, and then the fits are made side by side,
every one by a whole block of threads. Jobs that differ by their plans, theta and seed share launches: the first job's
trials, then the second's, and so on.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba import float64, int64

from hushprice.demand.family import LOGISTIC
from hushprice.numerics.linear import packed_size
from hushprice.policies.baselines import FixedPrice
from hushprice.policies.paper.policy import PaperPolicy
from hushprice.policies.paper.private import solver
from hushprice.price_search.certified import STACK
from hushprice.simulation.gpu.cuda import TEAM, KernelDefinition, cuda
from hushprice.simulation.gpu.fit import minimize
from hushprice.simulation.gpu.gpu_hindsight import best_prices, revenue_kernel
from hushprice.simulation.gpu.kernel import Launch
from hushprice.simulation.gpu.kernel_shape import (
    ONE_CUSTOMER,
    KernelShape,
    built_policy,
    copy,
    copy_square,
    job_table,
    job_world,
    row_of,
    shape_of,
    stacked,
    with_constants,
    world_constants,
)
from hushprice.simulation.gpu.session import GpuSession, KernelMakers, Workspace
from hushprice.simulation.gpu.substitutes import device_steps, narrowed
from hushprice.simulation.gpu.trial_outputs import TrialOutputs, output_bytes
from hushprice.simulation.hindsight import PRICES
from hushprice.simulation.kernels import paper as steps
from hushprice.simulation.kernels.paper_covariance import PERIOD, PROGRESS, PaperTrial
from hushprice.simulation.scratch import Stretch
from hushprice.simulation.tally import FAILED, TOTALS
from hushprice.simulation.trial import Job, plan_of
from hushprice.simulation.world import DUE, KernelPolicy, TrialInput, TrialOutput
from hushprice.types import FloatArray

_HOT = ("width", "input_noise", "price")  # of the plan, read in every period
_TOGETHER = 96  # of a thread that estimates with its block: more would leave too few blocks to hide each other's waits
_REGISTERS = 128  # a thread; 65,536 trials leave a large GPU as many, and with fewer some are spilled
# Of a stretch, at most; one ends where a multiple of it does. So neighbours are in step, even where one is behind, and
# close the same nodes of their trees.
_PERIODS = 512
# Estimates are made together: one alone takes as long as a hundred. Whoever asks for one waits, at most for a stretch
# at first, and for this share of all periods so far later.
_SHARE, _MOST = 32, 64
FIT, GO_ON = 1, 2  # what a trial does next, the last entry of its progress; 0: it is over


class PaperState(NamedTuple):
    """Where trials are, on the device; the first index is the trial, of exact and running the last."""

    progress: Any  # one entry more than a trial's: does the trial go on?
    current: Any
    theta: Any
    inverse: Any
    exact: Any
    running: Any
    phi: Any
    demand: Any
    price: Any  # of policy fixed


def begin_kernel(shape: KernelShape) -> KernelDefinition:
    """Puts trials before their first period."""
    begin_one, plan_at = device_steps(False)(steps.begin_trial), row_of(KernelPolicy)

    def begin(plans, each, trials, runs, outputs, state):  # type: ignore[no-untyped-def]
        t = cuda.grid(1)
        if t >= trials:
            return
        plan = plan_at(plans, t // each)
        none, blank = cuda.local.array(1, float64), cuda.local.array((1, 1), float64)
        trial = PaperTrial(
            state.progress[t], state.current[t], state.theta[t], state.inverse[t], state.exact[:, :, t],
            state.running[:, :, t], blank, blank, blank, blank, none, none,
        )  # fmt: skip
        begin_one(plan, trial)
        state.progress[t, PROGRESS] = GO_ON if runs else 0
        for i in range(TOTALS):
            outputs.totals[t, i] = 0.0

    return KernelDefinition(begin)


def advance_kernel(shape: KernelShape) -> KernelDefinition:
    """Lets trials go on for a stretch, or until an estimate is due."""
    d, k, number, size = shape.dimension, shape.contexts, shape.number, packed_size(shape.dimension)
    padded, small, plan_at, constant = 4 * ((size + 3) // 4), 2 * d + 1, row_of(KernelPolicy), with_constants(shape)
    known = {"world": world_constants(shape), "stretch": {"out": ONE_CUSTOMER}, "pauses": 1}
    advance_one = device_steps(shape.single)(steps.advance, known)

    def advance(world, plans, jobs, first, each, trials, horizon, outputs, state):  # type: ignore[no-untyped-def]
        t = cuda.grid(1)
        if t >= trials or state.progress[t, PROGRESS] != GO_ON:
            return
        local, job = cuda.local.array, t // each
        truth, scales, plan = local(d, number), local(size, float64), plan_at(plans, job)
        copy(jobs.theta[job], truth)
        copy(plan.scales, scales)
        mine = KernelPolicy(
            plan.code, plan.exploration, plan.ridge, plan.width, plan.max_estimates, scales, plan.estimate_noise,
            plan.estimate_ridge, plan.output_noise, plan.repair, plan.input_noise, state.price[t], plan.exact,
            plan.running, plan.poles, plan.zeros,
        )  # fmt: skip
        stretch = Stretch(
            local((k, 1), number), local((d, 1), number), local((d, 1), number),
            local((k, 1), number), local((d, 1), number), local((d, 1), number),
            local((4, 1), number), local((7, 1), number), local(1, number), local((5, 1), number),
            local((padded, 1), number), local((size, 1), float64), local((size, 1), float64), local((size, 1), float64),
            local((3, 1), float64), local(STACK, number),
        )  # fmt: skip
        progress, theta, inverse = local(PROGRESS, int64), local(d, number), local((d, d), number)
        current, totals, blank = local(1, float64), local(TOTALS, float64), local((1, 1), float64)
        copy(state.progress[t], progress)
        copy(state.theta[t], theta)
        copy_square(state.inverse[t], inverse)
        copy(state.current[t], current)
        copy(outputs.totals[t], totals)
        trial = PaperTrial(
            progress, current, theta, inverse, state.exact[:, :, t], state.running[:, :, t], blank, blank,
            local((small, d), float64), state.phi[t], state.demand[t], blank,
        )  # fmt: skip
        nobody, nothing = local(1, int64)[1:], local(1, float64)[1:]  # empty, and the compiler knows it
        before, left = progress[PERIOD], TrialOutput(outputs.checkpoints, outputs.regret_at[t], totals, nobody, nothing)
        until = min(horizon, ((before - 1) // _PERIODS + 1) * _PERIODS)
        given = TrialInput(jobs.seed[job], first + t % each, until, nobody, 0)
        why = advance_one(constant(world, truth), mine, given, left, stretch, trial, 1)
        for i in range(PROGRESS):
            state.progress[t, i] = progress[i]
        for i in range(TOTALS):
            outputs.totals[t, i] = totals[i]
        state.current[t, 0] = current[0]
        state.progress[t, PROGRESS] = FIT if why == DUE else (GO_ON if progress[PERIOD] <= horizon else 0)
        cuda.atomic.add(outputs.done, 0, progress[PERIOD] - before)

    return KernelDefinition(advance, _REGISTERS, fast=shape.single)


def estimate_kernel(shape: KernelShape) -> KernelDefinition:
    """Makes the estimate of every trial that waits for one, each by a team of threads."""
    d, small, rows = shape.dimension, 2 * shape.dimension + 1, 5 * shape.dimension + 6
    plan_at, constant = row_of(KernelPolicy), with_constants(shape._replace(single=False))
    estimate_one = device_steps(False, {solver.minimize: minimize(d)})(steps.estimate)

    def estimate(world, plans, jobs, first, each, outputs, state):  # type: ignore[no-untyped-def]
        t = cuda.blockIdx.x
        if state.progress[t, PROGRESS] != FIT:
            return
        local, shared, blank = cuda.local.array, cuda.shared.array(TEAM, float64), cuda.local.array((1, 1), float64)
        progress, theta, inverse = local(PROGRESS, int64), local(d, float64), local((d, d), float64)
        copy(state.progress[t], progress)
        copy(state.theta[t], theta)
        cuda.syncthreads()  # nobody writes before everybody has read
        trial = PaperTrial(
            progress, state.current[t], theta, inverse, state.exact[:, :, t], state.running[:, :, t], blank, blank,
            local((small, d), float64), state.phi[t], state.demand[t], (shared, local((rows, d), float64)),
        )  # fmt: skip
        plan, seed, number = plan_at(plans, t // each), jobs.seed[t // each], first + t % each
        sound = estimate_one(constant(world, world.theta), plan, seed, number, trial, outputs.periods[:, t])
        if cuda.threadIdx.x == 0:
            for i in range(PROGRESS):
                state.progress[t, i] = progress[i]
            for i in range(d):
                state.theta[t, i] = theta[i]
                for j in range(d):
                    state.inverse[t, i, j] = inverse[i, j]
            state.progress[t, PROGRESS] = GO_ON if sound else 0
            if not sound:
                outputs.totals[t, FAILED] = 1.0

    return KernelDefinition(estimate, _TOGETHER)


class PaperBatch:
    """Jobs of alg:framework, or one of a baseline, on the device, with memory for `most` trials at once in all."""

    kind, compiles_longest = "paper", True
    makers: ClassVar[KernelMakers] = {
        "advance": advance_kernel,
        "estimate": estimate_kernel,
        "begin": begin_kernel,
        "revenue": revenue_kernel,  # of policy fixed, whose price is the best in hindsight
    }

    def __init__(
        self, jobs: Sequence[Job], session: GpuSession, workspace: Workspace, *, most: int, single: bool
    ) -> None:
        job, plans, on_device = jobs[0], stacked([_plan(each) for each in jobs]), workspace.to_device
        self._job, self._policy, self._workspace, self._jobs = job, built_policy(job), workspace, len(jobs)
        self.estimates, self.settles = int(plans.max_estimates.max()), _fits(job)
        world = job_world(job)
        self.kernels = session.kernels(self.kind, self.makers, shape_of(world, single))
        self._whole = on_device(plans)
        hot = {name: on_device(narrowed(getattr(plans, name))) for name in _HOT if single}
        self._hot, self._table = self._whole._replace(**hot), on_device(job_table(jobs, single))
        self._fitted = on_device(world)
        self._world = on_device(narrowed(world)) if single else self._fitted
        self._state = _state(workspace, most, job, single)
        if _looks_for_its_price(job):
            self._asked, self._earned = (workspace.empty((most, PRICES), np.float64) for _ in range(2))

    def begin(self, numbers: range, outputs: TrialOutputs, *, runs: bool = True) -> None:
        """Put trials before their first period; those that do not run are over at once."""
        if isinstance(self._policy, FixedPrice):
            prices = self._prices(numbers, self._job.horizon if runs else 0)
            self._workspace.copy(prices.astype(self._state.price.dtype), self._state.price[: len(numbers)])
        trials = self._jobs * len(numbers)
        grid = self._workspace.thread_each(trials)
        self.kernels["begin"].prepare(grid, self._whole, len(numbers), trials, int(runs), outputs, self._state)()

    def stretches(self, period: int) -> int:
        """Between two times of estimates, when trials are at this period on average."""
        return min(max(period // (_PERIODS * _SHARE), 1), _MOST)

    def advance(self, numbers: range, outputs: TrialOutputs) -> Launch:
        """All go on for a stretch, or until an estimate is due."""
        first, each, trials = numbers.start, len(numbers), self._jobs * len(numbers)
        grid, given = self._workspace.thread_each(trials), (self._world, self._hot, self._table)
        return self.kernels["advance"].prepare(
            grid, *given, first, each, trials, self._job.horizon, outputs, self._state
        )

    def settle(self, numbers: range, outputs: TrialOutputs) -> Launch:
        """All that wait for an estimate make it."""
        grid, given = self._workspace.team_each(self._jobs * len(numbers)), (self._fitted, self._whole, self._table)
        return self.kernels["estimate"].prepare(grid, *given, numbers.start, len(numbers), outputs, self._state)

    def _prices(self, numbers: range, horizon: int) -> FloatArray:
        """The price of each trial."""
        if isinstance(self._policy, FixedPrice) and self._policy.price is not None:
            return np.full(len(numbers), float(self._policy.price))
        trials, given = len(numbers), (self._fitted, self._job.seed, numbers.start, horizon)
        return best_prices(self._workspace, self.kernels["revenue"], given, self._asked[:trials], self._earned[:trials])

    @staticmethod
    def roles(job: Job) -> list[str]:
        """The kernels that the job launches."""
        if _looks_for_its_price(job):
            return ["advance", "revenue", "begin"]
        return ["advance", "estimate", "begin"] if _fits(job) else ["advance", "begin"]

    @staticmethod
    def rules(job: Job) -> Hashable | None:
        """What jobs of a batch must have alike beside their market; None where the job runs by itself."""
        if not _fits(job):
            return None
        plan = _plan(job)
        return plan.exact.shape, plan.running.shape, plan.poles.size

    @staticmethod
    def bytes_each(job: Job, single: bool) -> int:
        """Device memory that one trial takes."""
        d, plan, number = job.market.dimension, _plan(job), 4 if single else 8
        records = (number * d + (1 if _is_bit(job) else number)) * _capacity(job) + number
        state = 8 * (PROGRESS + 2 + d + d * d + plan.exact.size + plan.running.size)
        asked = 16 * PRICES if isinstance(built_policy(job), FixedPrice) else 0
        return state + records + asked + output_bytes(job, plan.max_estimates)

    @staticmethod
    def most_trials(job: Job) -> int:
        """Trials of a batch: with more a large GPU gets no faster, and with estimates it was slower by a fortieth."""
        return 32_768 if _fits(job) else 131_072


def _plan(job: Job) -> KernelPolicy:
    return plan_of(built_policy(job), job.horizon, job.market.dimension)


def _looks_for_its_price(job: Job) -> bool:
    policy = built_policy(job)
    return isinstance(policy, FixedPrice) and policy.price is None


def _fits(job: Job) -> bool:
    """Does a trial store records and fit estimates to them? The baselines' do not."""
    return isinstance(built_policy(job), PaperPolicy)


def _capacity(job: Job) -> int:
    """Records that a trial stores."""
    return job.horizon if _fits(job) else 1


def _state(workspace: Workspace, trials: int, job: Job, single: bool) -> PaperState:
    plan, d, capacity, number = _plan(job), job.market.dimension, _capacity(job), np.float32 if single else np.float64
    doubles = (trials, 1), (trials, d), (trials, d, d), (*plan.exact.shape, trials), (*plan.running.shape, trials)
    records = ((trials, d, capacity), number), ((trials, capacity), np.uint8 if _is_bit(job) else number)
    arrays = [workspace.empty((trials, PROGRESS + 1), np.int64)]
    arrays += [workspace.empty(shape, np.float64) for shape in doubles]
    return PaperState(*arrays, *(workspace.empty(*each) for each in (*records, ((trials,), number))))


def _is_bit(job: Job) -> bool:
    """Is demand 0 or 1? Records fill the memory, and one byte is enough for that."""
    return job_world(job).family == LOGISTIC
