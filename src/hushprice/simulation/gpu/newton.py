"""noisy-newton on a GPU, one thread a trial, in turns: all trials go on until a release is due, then all release.

Releases are rare and need many registers; periods are many and need few. Apart, each kernel gets what it needs.
Jobs that differ by theta and seed alone share a launch: the first job's trials, then the second's, and so on.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import float64, int64

from hushprice.numerics.linear import packed_size
from hushprice.policies.newton.pricing.probe import work_shape
from hushprice.policies.newton.pricing.transition import Believed
from hushprice.policies.newton.private import scores
from hushprice.policies.newton.rules import DOUBLINGS, EARLY
from hushprice.policies.protocol import Policy
from hushprice.price_search.certified import STACK
from hushprice.simulation.change import world_of
from hushprice.simulation.gpu.kept import Kept, bytes_kept
from hushprice.simulation.gpu.shape import ALONE, Shape, copy, copy_square, known, own_of, shape_of, told_of
from hushprice.simulation.gpu.steps import narrowed, twins
from hushprice.simulation.gpu.toolkit import bounded, cuda, new, on_device, over
from hushprice.simulation.gpu.toolkit import kept as kept_on_disk
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


class State(NamedTuple):
    """Where trials are, on the device; the first index is the trial."""

    place: Any  # one entry more than a trial's: does the trial go on?
    score: Any
    exact: Any
    running: Any
    theta: Any
    precision: Any
    inverse: Any
    tilt: Any


class Kernels(NamedTuple):
    """Compiled for one shape."""

    begin: Any
    advance: Any
    release: Any


@functools.cache
def kernels(shape: Shape) -> Kernels:
    """The three kernels."""
    d, k, number, size = shape.dimension, shape.contexts, shape.number, packed_size(shape.dimension)
    rows, small, in_shape = scores.ROWS, work_shape(d)[0], known(shape)
    hot, cold = twins(shape.single), twins(False)
    advance_one = hot(steps.advance, {"world": told_of(shape), "state": {"phi": ALONE}, "pauses": 1})
    release_one, begin_one = cold(steps.release), cold(steps.begin_trial)

    def begin(plan, trials, goes_on, kept, state):  # type: ignore[no-untyped-def]
        t = cuda.grid(1)
        if t >= trials:
            return
        place, score, exact, running, theta, precision, inverse, tilt = state
        none, blank = cuda.local.array(1, float64), cuda.local.array((1, 1), float64)
        believed = Believed(theta[t], precision[t], inverse[t], tilt[t])
        trial = NewtonTrial(place[t], believed, score[t], exact[t], none, none, running[t], blank, blank, blank)
        begin_one(plan, trial)
        place[t, ENTRIES] = goes_on
        for i in range(TOTALS):
            kept.totals[t, i] = 0.0

    def advance(world, plan, own, first, each, trials, horizon, kept, state):  # type: ignore[no-untyped-def]
        t = cuda.grid(1)
        if t >= trials or state.place[t, ENTRIES] == 0:
            return
        local = cuda.local.array
        none, blank = local(1, number), local((1, 1), number)
        double_none, double_blank = local(1, float64), local((1, 1), float64)
        room = Stretch(
            local((k, 1), number), local((d, 1), number), local((d, 1), number), blank, blank, blank,
            local((4, 1), number), local((7, 1), number), none, local((5, 1), number), blank, blank, blank, blank,
            local((3, 1), number), local(STACK, number),
        )  # fmt: skip
        place, theta, inverse, tilt = local(ENTRIES, int64), local(d, number), local((d, d), number), local(d, number)
        score, exact, totals = local(d, float64), local(size, float64), local(TOTALS, float64)
        truth, job = local(d, number), t // each
        copy(own.theta[job], truth)
        copy(state.place[t], place)
        copy(state.theta[t], theta)
        copy_square(state.inverse[t], inverse)
        copy(state.tilt[t], tilt)
        copy(state.score[t], score)
        copy(state.exact[t], exact)
        copy(kept.totals[t], totals)
        trial = NewtonTrial(
            place, Believed(theta, double_blank, inverse, tilt), score, exact, double_none, double_none, double_blank,
            local((d, 1), number), local((rows, 1), number), double_blank,
        )  # fmt: skip
        nobody, nothing = local(1, int64)[1:], local(1, float64)[1:]  # empty, and the compiler knows it
        output, before = TrialOutput(kept.checkpoints, kept.regret_at[t], totals, nobody, nothing), place[PERIOD]
        given = TrialInput(own.seed[job], first + t % each, horizon, nobody, 0)
        why = advance_one(in_shape(world, truth), plan, given, output, room, trial, 1)
        for i in range(d):
            state.score[t, i] = score[i]
        for i in range(size):
            state.exact[t, i] = exact[i]
        for i in range(ENTRIES):
            state.place[t, i] = place[i]
        for i in range(TOTALS):
            kept.totals[t, i] = totals[i]
        state.place[t, ENTRIES] = 1 if why == DUE else 0
        cuda.atomic.add(kept.done, 0, place[PERIOD] - before)

    def release(plan, own, first, each, trials, kept, state):  # type: ignore[no-untyped-def]
        t = cuda.grid(1)
        if t >= trials or state.place[t, ENTRIES] == 0:
            return
        place, score, exact, running, theta, precision, inverse, tilt = state
        local, blank = cuda.local.array, cuda.local.array((1, 1), float64)
        believed = Believed(theta[t], precision[t], inverse[t], tilt[t])
        trial = NewtonTrial(
            place[t], believed, score[t], exact[t], local(d, float64), local(size, float64), running[t], blank, blank,
            local((small, d), float64),
        )  # fmt: skip
        release_one(plan, own.seed[t // each], first + t % each, trial, kept.periods[:, t])

    made = Kernels(cuda.jit(begin), bounded(advance, _REGISTERS, quick=shape.single), cuda.jit(release))
    return kept_on_disk(made, f"newton {shape}")


class Turns:
    """A job of noisy-newton on the device, and others beside it, with room for `most` trials at once in all."""

    estimates = RELEASES
    settles = True

    def __init__(self, job: Job, policy: Policy, *, most: int, single: bool, beside: Sequence[Job] = ()) -> None:
        assert policy.newton is not None
        world, plan = world_of(job.market, job.horizon, None, job.customers), newton_plan(policy.newton, job.market)
        self.kernels = kernels(shape_of(world, single))
        self._job, self._whole = job, on_device(plan)
        hot = {name: narrowed(getattr(plan, name)) for name in _HOT if single}
        batches = {name: narrowed(getattr(plan.batches, name)) for name in _HOT_BATCHES if single}
        self._hot = self._whole._replace(batches=self._whole.batches._replace(**batches), **hot)
        self._world = on_device(narrowed(world) if single else world)
        self._state = _state(most, job.market.dimension, plan)
        self.jobs, self._own = 1 + len(beside), on_device(own_of([job, *beside], single))

    def begin(self, numbers: range, kept: Kept, *, goes_on: bool = True) -> None:
        """Sit trials down before their first period; those that do not go on only make kernels be compiled."""
        trials = self.jobs * len(numbers)
        self.kernels.begin[over(trials)](self._whole, trials, int(goes_on), kept, self._state)

    def stretches(self, period: int) -> int:
        """Releases come at the same slots for nearly all, and are short."""
        return 1

    def advance(self, numbers: range, kept: Kept) -> None:
        """All go on until a release is due."""
        trials, horizon = self.jobs * len(numbers), self._job.horizon
        self.kernels.advance[over(trials)](
            self._world, self._hot, self._own, numbers.start, len(numbers), trials, horizon, kept, self._state
        )

    def settle(self, numbers: range, kept: Kept) -> None:
        """All that are not over release."""
        trials = self.jobs * len(numbers)
        self.kernels.release[over(trials)](
            self._whole, self._own, numbers.start, len(numbers), trials, kept, self._state
        )


def bytes_each(job: Job, policy: Policy, single: bool) -> int:
    """Device memory that one trial takes; its sums are double in either precision."""
    assert policy.newton is not None
    d, size, plan = job.market.dimension, packed_size(job.market.dimension), newton_plan(policy.newton, job.market)
    return 8 * (ENTRIES + 1 + 3 * d + 2 * d * d + size * (plan.poles.shape[1] + 3)) + bytes_kept(job, RELEASES)


def _state(trials: int, d: int, plan: NewtonPlan) -> State:
    size = packed_size(d)
    shapes = (d,), (size,), (plan.poles.shape[1] + 2, size), (d,), (d, d), (d, d), (d,)
    place = new((trials, ENTRIES + 1), np.int64)
    return State(place, *(new((trials, *shape), np.float64) for shape in shapes))
