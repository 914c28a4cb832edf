"""Everything a policy's private side releases in one short run, as numbers, and the best way to weigh them.

The learner is the real one, with the noise it draws in simulation or live. All other records are empty: that hides
nothing, and every run of a world differs by noise alone. How the numbers are weighed is read off the same code: noise
from a script says how each draw reaches each release, and runs without noise say how far the two worlds lie apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

import numpy as np

from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.noise import NoiseSource, Tape
from hushprice.numerics.linear import packed_size
from hushprice.policies.newton.policy import NewtonPolicy
from hushprice.policies.newton.private.learner import NewtonLearner
from hushprice.policies.paper.policy import PaperPolicy
from hushprice.policies.paper.private.covariance import PrivateCov
from hushprice.policies.protocol import Policy
from hushprice.privacy.events import CovarianceStream
from hushprice.records import hold_to_unit_ball
from hushprice.research.audits.scripted_noise import ScriptedNoise
from hushprice.research.audits.trade_off import stream_of
from hushprice.research.audits.worst_records import (
    Example,
    WorstPair,
    first_belief,
    worst_for_newton,
    worst_for_paper,
)
from hushprice.types import FloatArray

_LEVEL = 1  # of the batch with the record: two blocks
_NUMBERS = 600  # of a covariance stream: all of a short one, and where there are more, the first of them
_LEAST = 1e-6  # what no noise covers of a difference, relative to it, before it alone is looked at

Record = TypeVar("Record")


class NumberedTape:
    """The tape of one trial after the other: a stream that starts again meets noise it has not met."""

    label: ClassVar[str] = Tape.label
    secure: ClassVar[bool] = False
    simulated: ClassVar[bool] = True

    def __init__(self, seed: int, world: int) -> None:
        self._seed, self._world, self._played = seed, world, 0
        self._tape = Tape(seed, world)

    def next(self) -> None:
        """On to the next trial; the two worlds share none."""
        self._played += 1
        self._tape = Tape(self._seed, 2 * self._played + self._world)

    def add(self, values: FloatArray, noise: float, stream: int, period: int) -> FloatArray:
        """The values with noise from the tape of the trial at hand."""
        return self._tape.add(values, noise, stream, period)

    def uniform(self, stream: int, period: int) -> float:
        raise NotImplementedError

    def normals(self, stream: int, period: int, count: int) -> FloatArray:
        """Standard normals from the tape of the trial at hand."""
        return self._tape.normals(stream, period, count)

    def normals_many(self, stream: int, first: int, periods: int, count: int) -> FloatArray:
        """Standard normals from the tape of the trial at hand, a column a period."""
        return self._tape.normals_many(stream, first, periods, count)


class NewtonTranscripts:
    """Two batches of noisy-newton: one with the record, in the first of two blocks, and one that must not know it."""

    def __init__(self, policy: NewtonPolicy, demand: Demand, source: NoiseSource) -> None:
        self.learner = NewtonLearner(
            demand=demand,
            dimension=len(policy.rules.center),
            rules=policy.rules,
            source=source,
            adjacency=policy.adjacency,
        )
        self._belief = first_belief(policy)

    def play(self, record: Example | None) -> FloatArray:
        """Three curvatures and two scores. Slots are counted on, so that no simulated noise is met twice."""
        learner, released = self.learner, []
        learner.begin(_LEVEL)
        if record is None:
            learner.skip()
        else:
            learner.absorb(*record, *self._belief)
        for _ in range(1 << _LEVEL):
            learner.skip()
            released.append(learner.curvature().packed)
        released.append(learner.score().score)
        learner.begin(0)
        learner.skip()
        released += [learner.curvature().packed, learner.score().score]
        return np.concatenate(released)


class PaperTranscripts:
    """The covariances of the paper's stream: all of them, or of a long one so many that weighing them is cheap."""

    def __init__(self, policy: PaperPolicy, source: NumberedTape | ScriptedNoise) -> None:
        event, self._source = stream_of(policy), source
        self._releaser = PrivateCov(horizon=event.steps + 1, dimension=event.dimension, source=source, event=event)
        self._empty = self._releaser.state()
        self._features = np.zeros((event.dimension, steps_of(event)))

    def play(self, record: Example | None) -> FloatArray:
        """A stream from its start, with noise of its own."""
        self._source.next()
        self._releaser.restore(self._empty, 0)
        self._features[:, 0] = 0.0 if record is None else record[0]
        hold_to_unit_ball(self._features, 0, 1)
        return self._releaser.absorb_many(self._features).ravel()


def steps_of(event: CovarianceStream) -> int:
    """How many releases of a stream are watched."""
    return min(event.steps, max(1, _NUMBERS // event.entries))


def worst_pair_of(policy: Policy, demand: Demand) -> WorstPair:
    """The pair to watch, for a policy whose releases can be watched."""
    if isinstance(policy, NewtonPolicy) and policy.private:
        return worst_for_newton(policy, demand)
    if isinstance(policy, PaperPolicy) and policy.private:
        return worst_for_paper(policy, demand)
    raise InvalidInput(f"policy {policy.name!r} has no private releases that can be watched")


def weights_of(policy: Policy, demand: Demand, pair: WorstPair) -> FloatArray:
    """What to multiply released numbers by, so that their sum is larger in the first world."""
    if isinstance(policy, NewtonPolicy):
        d = len(policy.rules.center)
        size = 3 * packed_size(d) + 2 * d

        def play(numbers: FloatArray, record: Example | None) -> FloatArray:
            return NewtonTranscripts(policy, demand, ScriptedNoise(numbers, then_zeros=True)).play(record)

        return likelihood_weights(play, size, pair)
    assert isinstance(policy, PaperPolicy)
    event = stream_of(policy)

    def stream(numbers: FloatArray, record: Example | None) -> FloatArray:
        return PaperTranscripts(policy, ScriptedNoise(numbers, then_zeros=True)).play(record)

    return likelihood_weights(stream, steps_of(event) * event.entries, pair)


def likelihood_weights(
    play: Callable[[FloatArray, Record | None], FloatArray], size: int, pair: tuple[Record, Record | None]
) -> FloatArray:
    """Of a Gaussian vector with two means: the inverse of its covariance times their difference.

    Where no noise covers a part of the difference, that part alone tells the worlds apart.
    """
    quiet = np.zeros(size)
    moved = play(quiet, pair[0]) - play(quiet, pair[1])
    start = play(quiet, None)
    matrix = np.stack([play(unit, None) - start for unit in np.eye(size)], axis=1)
    needed = np.linalg.lstsq(matrix, moved)[0]
    bare = moved - matrix @ needed
    if float(np.linalg.norm(bare)) > _LEAST * float(np.linalg.norm(moved)):
        return bare / _LEAST**2  # beside it nothing else counts
    weights: FloatArray = np.linalg.lstsq(matrix.T, needed)[0]
    return weights
