"""How noisy-newton goes on: when batches begin and end, what is learned from one, and when prices become personal.

Everything that runs the policy calls these steps: the live quoter, the simulator, a GPU and the planner. They read
releases, slot numbers and public rules, never a record.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.numerics.jit import merged
from hushprice.policies.newton.pricing import belief, probe, schedule
from hushprice.policies.newton.rules import (
    BLOCKS,
    EARLY,
    GROWTH,
    KNOWN,
    NOISE_SHARE,
    PRECISION,
    SPARE,
    NewtonRules,
    Schedule,
    references,
)
from hushprice.policies.newton.rules import schedule as schedule_of
from hushprice.types import FloatArray, IntArray

# Progress is an array of whole numbers: the slot that the batch at hand follows and the one it ends at, at the latest;
# its level and the length of its blocks; the slot after which it is looked at next; is the belief worth pricing by;
# batches learned from, and how many of them ended early.
ENTRIES = 8
BATCH, END, LEVEL, BLOCK, LOOK, READY, LEARNED, ENDED_EARLY = range(ENTRIES)


class BatchRules(NamedTuple):
    """The public numbers that decide about batches."""

    family: int
    slope: float
    unit_cost: float
    price_effect: FloatArray  # v(0): how a price enters the features of the customer x = 0
    reference_u: FloatArray  # customers who decide about probes: (customers, d, 1)
    reference_v: FloatArray
    first: int
    levels: int
    blocks: float
    cap: float
    sampling: float
    trigger: float
    probe: float
    reach: float
    least: float
    near: float
    score_noise: float
    curvature_noise: float
    column: FloatArray  # of each level
    row: FloatArray


@functools.cache
def strategies(levels: int) -> Schedule:
    """How batches of each level are released. Made once: it takes as long as a short trial. Nobody writes into it."""
    return schedule_of(levels)


def batch_rules(rules: NewtonRules, demand: Demand, features: FeatureMap) -> BatchRules:
    """The policy's rules about batches, as the steps take them."""
    levels = strategies(rules.noise.levels)
    _, effect = features.parts(np.zeros(features.contexts))
    return BatchRules(
        demand.family,
        float(demand.slope),
        float(rules.unit_cost),
        np.array(effect),
        *references(features),
        rules.first,
        rules.noise.levels,
        BLOCKS,
        float(rules.cap),
        float(rules.sampling),
        float(rules.trigger),
        float(rules.probe),
        float(rules.reach),
        float(rules.least),
        float(rules.near),
        float(rules.noise.score),
        float(rules.noise.curvature),
        levels.column,
        levels.row,
    )


class TiltedBelief(NamedTuple):
    """The belief N(theta, inverse(precision)), and the batch's tilt: zeros unless it is a probe."""

    theta: FloatArray
    precision: FloatArray
    inverse: FloatArray
    tilt: FloatArray


@merged
def start(rules: BatchRules, center: FloatArray, progress: IntArray, believed: TiltedBelief) -> None:
    """Before the first slot: the first belief, and the first batch."""
    for j in range(center.size):
        believed.theta[j] = center[j]
        believed.tilt[j] = 0.0
        for i in range(center.size):
            believed.precision[i, j] = PRECISION if i == j else 0.0
            believed.inverse[i, j] = 1.0 / PRECISION if i == j else 0.0
    for entry in range(ENTRIES):
        progress[entry] = 0
    _settle(rules.blocks, rules.levels, progress, 0, rules.first)


@merged
def begin_batch(rules: BatchRules, progress: IntArray, believed: TiltedBelief, records: int, work: FloatArray) -> None:
    """A batch begins after this many slots: its latest end, its tilt, its blocks and its first look."""
    end = schedule.batch_end(records, rules.first, GROWTH)
    if progress[READY] > 0:
        end = probe.begin(
            rules.family,
            rules.slope,
            rules.probe,
            rules.reach,
            rules.least,
            rules.near,
            rules.unit_cost,
            believed.theta,
            believed.inverse,
            rules.reference_u,
            rules.reference_v,
            progress[LEARNED],
            records,
            end,
            believed.tilt,
            work,
        )
    else:
        for j in range(believed.tilt.size):
            believed.tilt[j] = 0.0
    _settle(rules.blocks, rules.levels, progress, records, end)


@merged
def _settle(blocks: float, levels: int, progress: IntArray, records: int, end: int) -> None:
    """How the batch between these slots is looked at."""
    level = schedule.block_level(end - records, blocks, levels)
    block = schedule.block_length(end - records, level)
    progress[BATCH], progress[END], progress[LEVEL], progress[BLOCK] = records, end, level, block
    progress[LOOK] = min(records + block, end)


@merged
def ends(
    rules: BatchRules, progress: IntArray, believed: TiltedBelief, curvature: FloatArray, records: int, work: FloatArray
) -> bool:
    """Does the batch end with this release: at its latest slot, or because some direction has gained enough?

    At most EARLY batches end early. work is as probe.work_shape says.
    """
    if records >= progress[END]:
        return True
    if not rules.trigger > 0.0 or progress[ENDED_EARLY] >= EARLY:
        return False
    d = believed.theta.size
    gained = work[2 * d + 1 : 3 * d + 1]
    noise = rules.score_noise * rules.score_noise
    error = curvature_error(rules.cap, rules.curvature_noise, rules.column, rules.row, progress[LEVEL])
    belief.gain(
        curvature, rules.cap, error, noise, rules.sampling, SPARE, NOISE_SHARE, believed.precision, gained, work
    )
    return belief.multiplies(believed.precision, gained, rules.trigger, work)


@merged
def go_on(progress: IntArray) -> None:
    """The batch goes on: it is looked at again after the next block."""
    progress[LOOK] = min(progress[LOOK] + progress[BLOCK], progress[END])


@merged
def accept(
    rules: BatchRules,
    progress: IntArray,
    believed: TiltedBelief,
    score: FloatArray,
    curvature: FloatArray,
    records: int,
    work: FloatArray,
) -> None:
    """Learn from the releases of a batch that ends after this many slots, and begin the next one."""
    noise = rules.score_noise * rules.score_noise
    error = curvature_error(rules.cap, rules.curvature_noise, rules.column, rules.row, progress[LEVEL])
    theta, precision, inverse, _ = believed
    belief.update(
        score, curvature, rules.cap, error, noise, rules.sampling, NOISE_SHARE, theta, precision, inverse, work
    )
    known = KNOWN / PRECISION * belief.squared_length(rules.price_effect)
    if belief.variance_along(inverse, rules.price_effect) <= known:
        progress[READY] = 1  # never unlearned
    progress[LEARNED] += 1
    if records < progress[END]:
        progress[ENDED_EARLY] += 1
    begin_batch(rules, progress, believed, records, work)


@merged
def curvature_error(cap: float, noise: float, column: FloatArray, row: FloatArray, level: int) -> float:
    """The deviation of an entry of the curvature released of a batch of that level, at most."""
    return cap * (noise * column[level]) * row[level]
