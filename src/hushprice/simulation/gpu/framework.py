"""alg:framework and the baselines on a GPU: one thread a trial between estimates, one block a trial for an estimate.

Trials ask for estimates at different periods. So all go on until each asks, and then the fits are made side by side,
every one by a whole block of threads. Jobs that differ by their plans, theta and seed share launches: the first job's
trials, then the second's, and so on.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import float64, int64

from hushprice.demand.family import LOGISTIC
from hushprice.numerics.linear import packed_size
from hushprice.policies.paper.private import solver
from hushprice.policies.protocol import FIXED, LEARNING, Policy
from hushprice.price_search.certified import STACK
from hushprice.simulation.change import world_of
from hushprice.simulation.gpu.fit import minimize
from hushprice.simulation.gpu.hindsight import earn
from hushprice.simulation.gpu.kept import Kept, bytes_kept, host
from hushprice.simulation.gpu.shape import (
    ALONE,
    Shape,
    copy,
    copy_square,
    known,
    one_of,
    own_of,
    shape_of,
    stacked,
    told_of,
)
from hushprice.simulation.gpu.steps import narrowed, twins
from hushprice.simulation.gpu.toolkit import TEAM, bounded, cuda, new, on_device, over, stream
from hushprice.simulation.gpu.toolkit import kept as kept_on_disk
from hushprice.simulation.hindsight import PRICES, narrow_many
from hushprice.simulation.kernels import paper as steps
from hushprice.simulation.kernels.paper_covariance import PERIOD, PROGRESS, PaperTrial
from hushprice.simulation.scratch import Stretch
from hushprice.simulation.tally import FAILED, TOTALS
from hushprice.simulation.trial import Job, plan_of
from hushprice.simulation.world import DUE, Plan, TrialInput, TrialOutput
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
FIT, GO_ON = 1, 2  # what a trial does next, the last entry of its place; 0: it is over


class State(NamedTuple):
    """Where trials are, on the device; the first index is the trial, of exact and running the last."""

    place: Any  # one entry more than a trial's: does the trial go on?
    current: Any
    theta: Any
    inverse: Any
    exact: Any
    running: Any
    phi: Any
    demand: Any
    price: Any  # of policy fixed


class Kernels(NamedTuple):
    """Compiled for one shape."""

    begin: Any
    advance: Any
    estimate: Any
    earn: Any  # of policy fixed, whose price is the best in hindsight


@functools.cache
def kernels(shape: Shape) -> Kernels:
    """The four kernels."""
    d, k, number, size = shape.dimension, shape.contexts, shape.number, packed_size(shape.dimension)
    padded, small, rows = 4 * ((size + 3) // 4), 2 * d + 1, 5 * d + 6
    in_shape, in_double = known(shape), known(shape._replace(single=False))
    hot, cold = twins(shape.single), twins(False, {solver.minimize: minimize(d)})
    advance_one = hot(steps.advance, {"world": told_of(shape), "stretch": {"out": ALONE}, "pauses": 1})
    estimate_one, begin_one = cold(steps.estimate), cold(steps.begin_trial)
    plan_at = one_of(Plan)

    def begin(plans, each, trials, goes_on, kept, state):  # type: ignore[no-untyped-def]
        t = cuda.grid(1)
        if t >= trials:
            return
        plan = plan_at(plans, t // each)
        none, blank = cuda.local.array(1, float64), cuda.local.array((1, 1), float64)
        trial = PaperTrial(
            state.place[t], state.current[t], state.theta[t], state.inverse[t], state.exact[:, :, t],
            state.running[:, :, t], blank, blank, blank, blank, none, none,
        )  # fmt: skip
        begin_one(plan, trial)
        state.place[t, PROGRESS] = GO_ON if goes_on else 0
        for i in range(TOTALS):
            kept.totals[t, i] = 0.0

    def advance(world, plans, own, first, each, trials, horizon, kept, state):  # type: ignore[no-untyped-def]
        t = cuda.grid(1)
        if t >= trials or state.place[t, PROGRESS] != GO_ON:
            return
        local, job = cuda.local.array, t // each
        truth, scales, plan = local(d, number), local(size, float64), plan_at(plans, job)
        copy(own.theta[job], truth)
        copy(plan.scales, scales)
        mine = Plan(
            plan.code, plan.exploration, plan.ridge, plan.width, plan.max_estimates, scales, plan.estimate_noise,
            plan.estimate_ridge, plan.output_noise, plan.repair, plan.input_noise, state.price[t], plan.exact,
            plan.running, plan.poles, plan.zeros,
        )  # fmt: skip
        room = Stretch(
            local((k, 1), number), local((d, 1), number), local((d, 1), number),
            local((k, 1), number), local((d, 1), number), local((d, 1), number),
            local((4, 1), number), local((7, 1), number), local(1, number), local((5, 1), number),
            local((padded, 1), number), local((size, 1), float64), local((size, 1), float64), local((size, 1), float64),
            local((3, 1), float64), local(STACK, number),
        )  # fmt: skip
        place, theta, inverse = local(PROGRESS, int64), local(d, number), local((d, d), number)
        current, totals, blank = local(1, float64), local(TOTALS, float64), local((1, 1), float64)
        copy(state.place[t], place)
        copy(state.theta[t], theta)
        copy_square(state.inverse[t], inverse)
        copy(state.current[t], current)
        copy(kept.totals[t], totals)
        exact, running = state.exact[:, :, t], state.running[:, :, t]
        trial = PaperTrial(
            place, current, theta, inverse, exact, running, blank, blank, local((small, d), float64), state.phi[t],
            state.demand[t], blank,
        )  # fmt: skip
        nobody, nothing = local(1, int64)[1:], local(1, float64)[1:]  # empty, and the compiler knows it
        output, before = TrialOutput(kept.checkpoints, kept.regret_at[t], totals, nobody, nothing), place[PERIOD]
        until = min(horizon, ((before - 1) // _PERIODS + 1) * _PERIODS)
        given = TrialInput(own.seed[job], first + t % each, until, nobody, 0)
        why = advance_one(in_shape(world, truth), mine, given, output, room, trial, 1)
        next_turn = FIT if why == DUE else (GO_ON if place[PERIOD] <= horizon else 0)
        for i in range(PROGRESS):
            state.place[t, i] = place[i]
        for i in range(TOTALS):
            kept.totals[t, i] = totals[i]
        state.current[t, 0] = current[0]
        state.place[t, PROGRESS] = next_turn
        cuda.atomic.add(kept.done, 0, place[PERIOD] - before)

    def estimate(world, plans, own, first, each, kept, state):  # type: ignore[no-untyped-def]
        t = cuda.blockIdx.x
        if state.place[t, PROGRESS] != FIT:
            return
        local, shared, blank = cuda.local.array, cuda.shared.array(TEAM, float64), cuda.local.array((1, 1), float64)
        place, theta, inverse = local(PROGRESS, int64), local(d, float64), local((d, d), float64)
        copy(state.place[t], place)
        copy(state.theta[t], theta)
        cuda.syncthreads()  # nobody writes before everybody has read
        trial = PaperTrial(
            place, state.current[t], theta, inverse, state.exact[:, :, t], state.running[:, :, t], blank, blank,
            local((small, d), float64), state.phi[t], state.demand[t], (shared, local((rows, d), float64)),
        )  # fmt: skip
        plan, seed, number = plan_at(plans, t // each), own.seed[t // each], first + t % each
        sound = estimate_one(in_double(world, world.theta), plan, seed, number, trial, kept.periods[:, t])
        if cuda.threadIdx.x == 0:
            for i in range(PROGRESS):
                state.place[t, i] = place[i]
            for i in range(d):
                state.theta[t, i] = theta[i]
                for j in range(d):
                    state.inverse[t, i, j] = inverse[i, j]
            state.place[t, PROGRESS] = GO_ON if sound else 0
            if not sound:
                kept.totals[t, FAILED] = 1.0

    made = Kernels(
        cuda.jit(begin),
        bounded(advance, _REGISTERS, quick=shape.single),
        bounded(estimate, _TOGETHER),
        bounded(earn(shape), _REGISTERS),
    )
    return kept_on_disk(made, f"framework {shape}")


class Turns:
    """A job of the framework or a baseline on the device, others beside it, with room for `most` trials in all."""

    def __init__(self, job: Job, policy: Policy, *, most: int, single: bool, beside: Sequence[Job] = ()) -> None:
        jobs = [job, *beside]
        plans = stacked([_plan(each) for each in jobs])
        plan = _plan(job)
        world = world_of(job.market, job.horizon, None, job.customers)
        self.estimates, self.jobs = int(plans.max_estimates.max()), len(jobs)
        self.kernels = kernels(shape_of(world, single))
        self._job, self._policy, self.settles = job, policy, policy.code == LEARNING
        self._whole = on_device(plans)
        hot = {name: on_device(narrowed(getattr(plans, name))) for name in _HOT if single}
        self._hot, self._own = self._whole._replace(**hot), on_device(own_of(jobs, single))
        self._fitted = on_device(world)
        self._world = on_device(narrowed(world)) if single else self._fitted
        self._state = _state(most, job, policy, plan, single)
        if policy.code == FIXED and policy.price is None:
            self._asked, self._earned = new((most, PRICES), np.float64), new((most, PRICES), np.float64)

    def begin(self, numbers: range, kept: Kept, *, goes_on: bool = True) -> None:
        """Sit trials down before their first period; those that do not go on only make kernels be compiled."""
        if self._policy.code == FIXED:
            prices = self._prices(numbers, self._job.horizon if goes_on else 0).astype(self._state.price.dtype)
            self._state.price[: len(numbers)].copy_to_device(prices, stream=stream())
        trials = self.jobs * len(numbers)
        self.kernels.begin[over(trials)](self._whole, len(numbers), trials, int(goes_on), kept, self._state)

    def stretches(self, period: int) -> int:
        """Between two times of estimates, when trials are at this period on average."""
        return min(max(period // (_PERIODS * _SHARE), 1), _MOST)

    def advance(self, numbers: range, kept: Kept) -> None:
        """All go on for a stretch, or until an estimate is due."""
        trials, horizon = self.jobs * len(numbers), self._job.horizon
        self.kernels.advance[over(trials)](
            self._world, self._hot, self._own, numbers.start, len(numbers), trials, horizon, kept, self._state
        )

    def settle(self, numbers: range, kept: Kept) -> None:
        """All that wait for an estimate make it."""
        self.kernels.estimate[self.jobs * len(numbers), TEAM, stream()](
            self._fitted, self._whole, self._own, numbers.start, len(numbers), kept, self._state
        )

    def _prices(self, numbers: range, horizon: int) -> FloatArray:
        """The price of each trial."""
        if self._policy.price is not None:
            return np.full(len(numbers), float(self._policy.price))
        asked, totals = self._asked[: len(numbers)], self._earned[: len(numbers)]

        def earned(prices: FloatArray) -> Any:
            asked.copy_to_device(prices, stream=stream())
            self.kernels.earn[len(numbers), TEAM, stream()](
                self._fitted, self._job.seed, numbers.start, horizon, asked, totals
            )
            return host(totals)

        return narrow_many(earned, len(numbers))


def _plan(job: Job) -> Plan:
    assert isinstance(job.policy, Policy)  # places.unfit said so
    return plan_of(job.policy, job.horizon, job.market.dimension)


def bytes_each(job: Job, policy: Policy, single: bool) -> int:
    """Device memory that one trial takes."""
    d, plan = job.market.dimension, plan_of(policy, job.horizon, job.market.dimension)
    number = 4 if single else 8
    records = (number * d + (1 if _is_bit(job) else number)) * _capacity(job, policy) + number
    state = 8 * (PROGRESS + 2 + d + d * d + plan.exact.size + plan.running.size)
    asked = 16 * PRICES if policy.code == FIXED else 0
    return state + records + asked + bytes_kept(job, plan.max_estimates)


def _capacity(job: Job, policy: Policy) -> int:
    """Records that a trial keeps."""
    return job.horizon if policy.code == LEARNING else 1


def _state(trials: int, job: Job, policy: Policy, plan: Plan, single: bool) -> State:
    d, capacity, number = job.market.dimension, _capacity(job, policy), np.float32 if single else np.float64
    doubles = (trials, 1), (trials, d), (trials, d, d), (*plan.exact.shape, trials), (*plan.running.shape, trials)
    records = ((trials, d, capacity), number), ((trials, capacity), np.uint8 if _is_bit(job) else number)
    rooms = [new((trials, PROGRESS + 1), np.int64), *(new(shape, np.float64) for shape in doubles)]
    return State(*rooms, *(new(shape, kind) for shape, kind in (*records, ((trials,), number))))


def _is_bit(job: Job) -> bool:
    """Is demand 0 or 1? Records fill the memory, and one byte is enough for that."""
    return world_of(job.market, job.horizon, None, job.customers).family == LOGISTIC
