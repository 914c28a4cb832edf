"""The covariance stream of a simulated trial of alg:framework, a stretch of records at a time."""

from __future__ import annotations

from typing import Any, NamedTuple

from hushprice.mechanisms import toeplitz, tree
from hushprice.numerics.jit import inlined, step
from hushprice.numerics.linear import log_determinants
from hushprice.policies.paper.pricing import refresh
from hushprice.simulation.scratch import Stretch
from hushprice.simulation.tally import INDEFINITE
from hushprice.simulation.world import KernelPolicy
from hushprice.types import FloatArray, IntArray

PROGRESS = 4  # period, estimates made, checkpoints passed, period of the last estimate
PERIOD, MADE, PASSED, LAST = range(PROGRESS)


class PaperTrial(NamedTuple):
    """Where one trial of alg:framework is, and its scratch."""

    progress: IntArray
    current: FloatArray  # ln det of Lambda at the last estimate
    theta: FloatArray
    inverse: FloatArray
    exact: FloatArray
    running: FloatArray
    exact_before: FloatArray  # shaped like exact and running; never used where stretches are one period long
    running_before: FloatArray
    small: FloatArray  # (2 d + 1, d)
    phi: FloatArray  # the records
    demand: FloatArray
    fit: Any  # scratch of the estimate


@step
def absorb(plan: KernelPolicy, period: int, count: int, stretch: Stretch, state: PaperTrial, totals: FloatArray) -> int:
    """Add the stretch's records to the covariance stream; returns how many, up to the one that asks for an estimate."""
    exact, running, d = state.exact, state.running, state.theta.size
    if count > 1:
        copy_into(exact, state.exact_before)
        copy_into(running, state.running_before)
        _sum_up(plan, exact, running, period, count, stretch, stretch.released)
    else:  # what was known before the one record is known already
        for k in range(stretch.released.shape[0]):
            stretch.released[k, 0] = running[0, k]
    done = count
    if period > plan.exploration:
        asked = period == state.progress[LAST]
        done, log_det = _first_doubling(plan, state.current[0], asked, count, stretch, state.small[:d], totals)
        state.current[0] = log_det
    if count > 1 and done < count:  # take the records after it back out of the sums
        copy_into(state.exact_before, exact)
        copy_into(state.running_before, running)
        _sum_up(plan, exact, running, period, done, stretch, stretch.pivots)
    elif count == 1 and done == 1:
        _add_one(plan, exact, running, period, stretch)
    return done


@step
def _first_doubling(
    plan: KernelPolicy,
    current: float,
    asked: bool,
    count: int,
    stretch: Stretch,
    square: FloatArray,
    totals: FloatArray,
) -> tuple[int, float]:
    """How many periods of the stretch pass before one asks for an estimate (`count` if none does), and its ln det.

    The first period is not asked again where it has `asked` already.
    """
    d = stretch.u.shape[0]
    log_determinants(stretch.released, plan.ridge, d, count, stretch.test, stretch.pivots, square)
    for i in range(1 if asked else 0, count):
        if not stretch.test[2, i] > 0.0:
            totals[INDEFINITE] += 1.0
        if refresh.wants_estimate(stretch.test[0, i], stretch.test[1, i], current):
            return i, stretch.test[1, i]
    return count, current


@step
def _sum_up(
    plan: KernelPolicy,
    exact: FloatArray,
    running: FloatArray,
    period: int,
    count: int,
    stretch: Stretch,
    released: FloatArray,
) -> None:
    """Add `count` records to the covariance stream; `released` gets what was known before each."""
    if plan.poles.size > 0:
        toeplitz.absorb_many(
            exact, running, plan.poles, plan.zeros, count, stretch.summands, stretch.noise, plan.scales, released
        )
    else:
        tree.absorb_many(exact, running, period, count, stretch.summands, stretch.noise, plan.scales, released)


@step
def _add_one(plan: KernelPolicy, exact: FloatArray, running: FloatArray, period: int, stretch: Stretch) -> None:
    """`_sum_up` for one record."""
    summand, noise = stretch.summands[:, 0], stretch.pivots[:, 0]
    for k in range(noise.size):
        noise[k] = plan.scales[k] * stretch.noise[k, 0]
    if plan.poles.size > 0:
        toeplitz.absorb(exact, running, plan.poles, plan.zeros, summand, noise)
    else:
        tree.absorb(exact, running, period, summand, noise)


@inlined
def copy_into(source: FloatArray, target: FloatArray) -> None:
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]
