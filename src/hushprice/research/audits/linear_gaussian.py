"""The covariance stream, audited exactly.

All it publishes is a linear function of Gaussian noise plus a function of the records. So everything published in two
neighbouring worlds is one Gaussian vector with two means, and the two are exactly as hard to tell apart as N(0, 1) and
N(mu, 1), mu the distance of the means as the noise measures it. Nothing here trusts a formula of the releasers: they
are run as they are, records through `Records` and noise from a script, and both the means and the way noise reaches
what is published are read off. What is claimed comes from privacy/loss.py.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hushprice import checks
from hushprice.mechanisms.exact_covariance import ExactCov
from hushprice.numerics import tape
from hushprice.policies.paper.private.covariance import CovarianceReleaser, PrivateCov
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import CovarianceStream
from hushprice.privacy.loss import loss_of
from hushprice.records import Records
from hushprice.research.audits.finding import Measurement
from hushprice.types import FloatArray

_SLACK = 1e-7  # relative; of solving for mu in floating point
_LEAST = 1e-6  # what the noise cannot explain of a difference, relative to it, before mu counts as infinite
_CHECKED = 3  # random noises that must act as the unit noises say they do


@dataclass(frozen=True, slots=True, eq=False)
class NeighbouringStreams:
    """Two neighbouring streams of features, (steps, d): the second has `other` for record `position`, from 0."""

    features: FloatArray
    position: int
    other: FloatArray

    @property
    def second(self) -> FloatArray:
        changed = self.features.copy()
        changed[self.position] = self.other
        return changed


class ScriptedStreamNoise:
    """A noise source that reads out rows of standard normals, one row a record.

    As with the sources it stands for, the tape's noise is found by its address and the system's by asking again.
    """

    label: ClassVar[str] = "script (audit only, not private)"
    secure: ClassVar[bool] = False
    simulated: ClassVar[bool] = True

    def __init__(self, rows: FloatArray) -> None:
        self.rows = rows
        self.asked = 0

    def normals(self, stream: int, period: int, count: int) -> FloatArray:
        """The row of that period, as the tape gives it."""
        assert stream == tape.COVARIANCE_NOISE
        return self.rows[(period - 1) % self.rows.shape[0], :count].copy()

    def integers(self, scale: float, count: int) -> list[int]:
        """The next row as whole numbers of this standard deviation, as the system gives them."""
        self.asked += 1
        row = self.rows[(self.asked - 1) % self.rows.shape[0]]  # who asks too often is found out by what comes of it
        return [round(scale * float(value)) for value in row[:count]]


BuildCovariance = Callable[[Any], CovarianceReleaser]
Adversary = Callable[[Sequence[FloatArray]], FloatArray]


def releaser_of(event: CovarianceStream) -> BuildCovariance:
    """The releaser that the engine would make for this event, given a noise source."""
    if event.grid > 0.0:
        return lambda source: ExactCov(event=event, source=source)
    horizon = event.steps + 1
    return lambda source: PrivateCov(horizon=horizon, dimension=event.dimension, source=source, event=event)


def published(build: BuildCovariance, features: FloatArray, rows: FloatArray) -> FloatArray:
    """All releases, one after the other, for these features and this noise."""
    releaser, records = build(ScriptedStreamNoise(rows)), Records(features.shape[1], 1.0)
    return np.concatenate([releaser.absorb(records.append(phi, 0.0)).packed for phi in features])


def noise_map(build: BuildCovariance, event: CovarianceStream) -> FloatArray:
    """The matrix that noise, in standard deviations, passes on its way to the releases: one run a number of noise."""
    shape = event.steps, event.entries
    nobody = np.zeros((event.steps, event.dimension))
    start = published(build, nobody, np.zeros(shape))
    columns = []
    for index in range(shape[0] * shape[1]):
        rows = np.zeros(shape)
        rows.flat[index] = 1.0
        columns.append(published(build, nobody, rows) - start)
    return np.stack(columns, axis=1)


def mu_of_pair(build: BuildCovariance, pair: NeighbouringStreams, matrix: FloatArray) -> float:
    """How well all releases together tell this pair apart; infinity where no noise covers the difference."""
    quiet = np.zeros((pair.features.shape[0], matrix.shape[1] // pair.features.shape[0]))
    moved = published(build, pair.features, quiet) - published(build, pair.second, quiet)
    needed = np.linalg.lstsq(matrix, moved)[0]
    unexplained = float(np.linalg.norm(matrix @ needed - moved))
    return math.inf if unexplained > _LEAST * float(np.linalg.norm(moved)) else float(np.linalg.norm(needed))


def mu_when_adaptive(
    build: BuildCovariance,
    matrix: FloatArray,
    adversary: Adversary,
    *,
    position: int,
    other: Adversary,
    rows: FloatArray,
) -> float:
    """mu of a stream whose records, and both versions of record `position`, are chosen in view of earlier releases.

    The first world is played with the given noise. The second is made to publish the same: step by step, the noise
    it needs for that is what is left after a run without noise. mu is how far the two noises are apart.
    """
    steps, entries = rows.shape
    needed = np.zeros_like(rows)
    scripts = ScriptedStreamNoise(rows), ScriptedStreamNoise(needed)
    worlds = [build(script) for script in scripts]
    records: list[Records | None] = [None, None]
    transcript: list[FloatArray] = []
    for n in range(steps):
        chosen = adversary(transcript), (other if n == position else adversary)(transcript)
        given = []
        for world in (0, 1):
            table = records[world] = records[world] or Records(chosen[0].size, 1.0)
            given.append(table.append(chosen[world], 0.0))
        released = worlds[0].absorb(given[0]).packed
        mean = copy.deepcopy(worlds[1]).absorb(given[1]).packed
        own = matrix[n * entries : (n + 1) * entries, n * entries : (n + 1) * entries]
        needed[n] = np.linalg.solve(own, released - mean)
        repeated = worlds[1].absorb(given[1]).packed
        if not np.allclose(repeated, released, rtol=1e-9, atol=1e-9 * float(np.abs(own).max())):
            return math.inf
        transcript.append(released)
    return float(np.linalg.norm(rows - needed))


def audit_stream(
    event: CovarianceStream,
    adjacency: Adjacency,
    *,
    pairs: Iterable[NeighbouringStreams] | None = None,
    adaptive: int = 2,
    build: BuildCovariance | None = None,
    seed: int = 0,
) -> Measurement:
    """The largest mu over the pairs given, or over extremal and random ones, and over `adaptive` adaptive streams."""
    checks.whole(0, adaptive=adaptive)
    build = releaser_of(event) if build is None else build
    random = np.random.default_rng(seed)
    claimed = loss_of(event, 1, adjacency).mu
    matrix = noise_map(build, event)
    named = {"noise that is no linear function of the draws": _nonlinear(build, event, matrix, random)}
    for number, pair in enumerate(pairs_for(event, adjacency, random) if pairs is None else pairs):
        named[f"pair {number}, record {pair.position + 1}"] = mu_of_pair(build, pair, matrix)
    if np.linalg.matrix_rank(matrix) == matrix.shape[0]:  # otherwise some difference is not covered at all
        for number in range(adaptive):
            position = int(random.integers(event.steps)) if number else 0
            rows = random.normal(size=(event.steps, event.entries))
            first, other = _follower(event.dimension, 0), _follower(event.dimension, 1)
            if adjacency is Adjacency.ZERO_OUT:
                other = _nobody(event.dimension)
            mu = mu_when_adaptive(build, matrix, first, position=position, other=other, rows=rows)
            named[f"adaptive stream, record {position + 1}"] = mu
    worst = max(named, key=lambda name: named[name])
    largest = named[worst]
    kind = f"{type(event.strategy).__name__.lower()}, {'live' if event.grid > 0.0 else 'ideal'} noise"
    return Measurement(
        f"covariance stream ({kind}, {event.steps} records, {adjacency.value})",
        largest,
        claimed,
        largest <= claimed * (1.0 + _SLACK),
        f"largest mu of {len(named) - 1} neighbouring pairs: {worst}",
    )


def pairs_for(event: CovarianceStream, adjacency: Adjacency, random: np.random.Generator) -> list[NeighbouringStreams]:
    """Extremal pairs, pairs that ask to be clipped, and random ones, at the first, a middle and the last position."""
    steps, d = event.steps, event.dimension
    unit = np.eye(d)
    pairs = []
    for position in sorted({0, steps // 2, steps - 1}):
        features = random.normal(size=(steps, d))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        slanted, mirrored = (unit[0] + unit[-1]) / math.sqrt(2.0), (unit[0] - unit[-1]) / math.sqrt(2.0)
        for phi, replaced in (
            (unit[0], unit[-1]),  # orthogonal: the largest change there is, where d > 1
            (slanted, mirrored),  # the largest too, all of it off the diagonal
            (7.0 * unit[0], -3.0 * unit[-1]),
            (random.normal(size=d), random.normal(size=d) / 3.0),
        ):
            own = features.copy()
            own[position] = phi
            pairs.append(
                NeighbouringStreams(own, position, np.zeros(d) if adjacency is Adjacency.ZERO_OUT else replaced)
            )
    return pairs


def _nonlinear(
    build: BuildCovariance, event: CovarianceStream, matrix: FloatArray, random: np.random.Generator
) -> float:
    """0, or infinity if noise reaches the releases otherwise than `matrix` says, for some records or some size."""
    shape = event.steps, event.entries
    for _ in range(_CHECKED):
        features, rows = random.normal(size=(event.steps, event.dimension)), random.normal(size=shape)
        moved = published(build, features, rows) - published(build, features, np.zeros(shape))
        if not np.allclose(moved, matrix @ rows.ravel(), rtol=1e-6, atol=1e-6 * float(np.abs(matrix).max())):
            return math.inf
    return 0.0


def _follower(dimension: int, turn: int) -> Adversary:
    """A record along the coordinate seen least so far, `turn` coordinates further; long enough to be clipped."""

    def choose(transcript: Sequence[FloatArray]) -> FloatArray:
        sums = np.zeros(dimension)
        if transcript:
            rows, columns = np.triu_indices(dimension)
            sums = transcript[-1][rows == columns]
        chosen: FloatArray = np.eye(dimension)[(int(np.argmin(sums)) + turn) % dimension] * 1.5
        return chosen

    return choose


def _nobody(dimension: int) -> Adversary:
    return lambda transcript: np.zeros(dimension)
