"""The batches of noisy-newton, audited exactly, as linear_gaussian.py audits the covariance stream.

Given the belief in force, a batch publishes a linear function of Gaussian noise plus a function of its records. So two
neighbouring batches are as hard to tell apart as N(0, 1) and N(mu, 1). Records go through the learner's own scorer and
batch, ideal or live, and noise is read from a script; means and the way noise reaches the releases are read off.
What later batches add is nothing, since a record is in one; tests/planted plays whole runs to show that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hushprice.demand.protocol import Demand, lowest
from hushprice.policies.newton.private.batches import Batch, IdealBatch, Scorer
from hushprice.policies.newton.private.exact_batches import ExactBatch
from hushprice.policies.newton.private.scores import ROWS
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import Batches
from hushprice.privacy.loss import loss_of
from hushprice.research.audits.finding import Measurement
from hushprice.research.audits.scripted_noise import ScriptedNoise
from hushprice.types import FloatArray

_SLACK = 1e-7  # relative; of solving for mu in floating point
_LEAST = 1e-6  # what the noise cannot explain of a difference, relative to it, before mu counts as infinite
_LEVEL = 2  # blocks: four, of three records each
_BLOCK = 3

BuildBatch = Callable[[Any], Batch]


@dataclass(frozen=True, slots=True, eq=False)
class NeighbouringBatches:
    """A belief, the records of one batch, and another record for position `changed`; None takes it out."""

    theta: FloatArray
    inverse: FloatArray
    features: FloatArray  # (records, d)
    demands: FloatArray
    changed: int
    other: tuple[FloatArray, float] | None


def batch_of(event: Batches) -> BuildBatch:
    """The batch that the engine would make for this event, given a noise source."""
    if event.live:
        return lambda source: ExactBatch(event=event, source=source)
    given = {"score_noise": event.score_noise, "curvature_noise": event.curvature_noise}
    return lambda source: IdealBatch(dimension=event.dimension, source=source, **given)


def published(
    build: BuildBatch,
    scorer: Scorer,
    pair: NeighbouringBatches,
    *,
    second: bool,
    numbers: FloatArray,
    records: bool = True,
) -> FloatArray:
    """Everything released of the batch, one after the other, in the first or the second world."""
    batch, work = build(ScriptedNoise(numbers)), np.empty((ROWS, 1))
    batch.begin(_LEVEL)
    released = []
    for n, (phi, demand) in enumerate(zip(pair.features, pair.demands, strict=True)):
        record = pair.other if second and n == pair.changed else (phi, float(demand))
        if records and record is not None:
            column = np.array(record[0]).reshape(-1, 1)
            scorer.weigh(column, np.array([record[1]]), pair.theta, pair.inverse, work)
            batch.add(column, work)
        if (n + 1) % _BLOCK == 0:
            released.append(batch.look(n + 1))
    return np.concatenate([*released, batch.score(len(pair.demands))])


def mu_of(build: BuildBatch, scorer: Scorer, pair: NeighbouringBatches, matrix: FloatArray) -> float:
    """How well all releases together tell this pair apart; infinity where no noise covers the difference."""
    quiet = np.zeros(matrix.shape[1])
    first, other = (published(build, scorer, pair, second=world, numbers=quiet) for world in (False, True))
    moved = first - other
    needed = np.linalg.lstsq(matrix, moved)[0]
    unexplained = float(np.linalg.norm(matrix @ needed - moved))
    return math.inf if unexplained > _LEAST * float(np.linalg.norm(moved)) else float(np.linalg.norm(needed))


def noise_map(build: BuildBatch, event: Batches, scorer: Scorer, pair: NeighbouringBatches) -> FloatArray:
    """The matrix that noise, in standard deviations, passes on its way to the releases."""
    size = event.entries * 2**_LEVEL + event.dimension

    def bare(numbers: FloatArray) -> FloatArray:
        return published(build, scorer, pair, second=False, numbers=numbers, records=False)

    start = bare(np.zeros(size))
    return np.stack([bare(unit) - start for unit in np.eye(size)], axis=1)


def audit_batches(
    event: Batches,
    demand: Demand,
    cap: float,
    adjacency: Adjacency,
    *,
    pairs: int = 24,
    worst: NeighbouringBatches | None = None,
    build: BuildBatch | None = None,
    seed: int = 0,
) -> Measurement:
    """The largest mu over neighbouring batches: `worst`, records at the bounds of what is allowed, and random ones."""
    build = batch_of(event) if build is None else build
    scorer, random = Scorer(demand=demand, cap=cap), np.random.default_rng(seed)
    claimed = loss_of(event, 1, adjacency).mu
    made = [_pair(event.dimension, demand, adjacency, number, random) for number in range(pairs)]
    made += [] if worst is None else [worst]
    matrix = noise_map(build, event, scorer, made[0])
    mus = [mu_of(build, scorer, pair, matrix) for pair in made]
    largest = int(np.argmax(mus))
    kind = "live" if event.live else "ideal"
    return Measurement(
        f"batches ({kind} noise, {2**_LEVEL} blocks, {adjacency.value})",
        mus[largest],
        claimed,
        mus[largest] <= claimed * (1.0 + _SLACK),
        f"largest mu of {len(made)} neighbouring batches: pair {largest}, record {made[largest].changed + 1}",
    )


def batch_with(
    first: tuple[FloatArray, float], other: tuple[FloatArray, float] | None, theta: FloatArray, inverse: FloatArray
) -> NeighbouringBatches:
    """A batch of empty records but for the first one, which is replaced by the other."""
    features, demands = np.zeros((_BLOCK * 2**_LEVEL, theta.size)), np.zeros(_BLOCK * 2**_LEVEL)
    features[0], demands[0] = first
    return NeighbouringBatches(theta, inverse, features, demands, 0, other)


def _pair(
    dimension: int, demand: Demand, adjacency: Adjacency, number: int, random: np.random.Generator
) -> NeighbouringBatches:
    """Every third pair turns the changed record around, so that its score does the same; the others are random."""
    count, ends = _BLOCK * 2**_LEVEL, (lowest(demand), float(demand.bound))
    features = random.normal(size=(count, dimension))
    features /= np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1.0)
    demands = random.choice(ends, size=count)
    theta = random.normal(size=dimension)
    theta *= random.uniform() / np.linalg.norm(theta)
    spread = random.normal(size=(dimension, dimension)) / math.sqrt(dimension)
    inverse = random.choice([0.0, 0.1, 0.5]) * spread @ spread.T
    changed = int(random.integers(count))
    if number % 3 == 0:
        theta, inverse = np.zeros(dimension), np.zeros((dimension, dimension))
        features[changed] = np.eye(dimension)[0] / (1.0 + 9.0 * (number % 2))
        other, bought = -features[changed], demands[changed]
    else:
        other = random.normal(size=dimension)
        other /= max(float(np.linalg.norm(other)), 1.0)
        bought = random.choice(ends)
    replaced = None if adjacency is Adjacency.ZERO_OUT else (other, float(bought))
    return NeighbouringBatches(theta, inverse, features, demands, changed, replaced)
