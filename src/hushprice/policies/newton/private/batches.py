"""The sums of one batch of records and their release, with ideal noise (policy noisy-newton).

A record is added to its batch's sums and kept nowhere. The curvature is looked at block by block, the score once, when
the batch ends. `exact_batches` does the same for live use, in whole numbers.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from hushprice.demand.family import CUSTOM
from hushprice.demand.protocol import Demand, lowest
from hushprice.errors import InvalidInput
from hushprice.mechanisms import toeplitz
from hushprice.mechanisms.continual_sum import scales_of, sections_of
from hushprice.noise import Normals
from hushprice.numerics import tape
from hushprice.numerics.linear import packed_size
from hushprice.policies.newton.noise import column_norm, strategy
from hushprice.policies.newton.private import scores
from hushprice.types import FloatArray


class Scorer:
    """What one record's features are multiplied by: a score factor and a curvature factor (scores.factors)."""

    def __init__(self, *, demand: Demand, cap: float) -> None:
        self._demand = demand
        self._cap = float(cap)
        self._lowest = lowest(demand)

    def weigh(
        self, phi: FloatArray, demand: FloatArray, theta: FloatArray, inverse: FloatArray, work: FloatArray
    ) -> None:
        """Into the last two rows of work (scores.ROWS, records). phi is (d, records), each column in the unit ball."""
        family, bound, count = self._demand.family, float(self._demand.bound), demand.size
        if family != CUSTOM:
            slope = float(self._demand.slope)
            scores.weigh(family, slope, self._lowest, bound, self._cap, theta, inverse, phi, demand, count, work)
            return
        scores.project(theta, inverse, phi, count, work)
        thirds = np.array([1.0, 4.0, 1.0]) / 6.0
        for i in range(count):
            away = math.sqrt(3.0 * max(float(work[1, i]), 0.0))
            points = work[0, i] + np.array([-away, 0.0, away])
            f, steep = float(thirds @ self._demand.mean(points)), float(thirds @ self._demand.mean_slope(points))
            norm = math.sqrt(float(work[3, i]))
            given = float(demand[i]), self._lowest, bound, self._cap
            work[2:, i] = scores.factors(f, max(steep, 0.0), norm, *given)


class Batch(Protocol):
    """The sums of the batch at hand. `records` addresses simulated noise: how many there were up to now."""

    def begin(self, level: int) -> None:
        """Forget the last batch; this one has at most 2^level blocks."""
        ...

    def add(self, phi: FloatArray, work: FloatArray) -> None:
        """Add weighed records, phi (d, records)."""
        ...

    def look(self, records: int) -> FloatArray:
        """Release the curvature so far, packed, and end a block."""
        ...

    def score(self, records: int) -> FloatArray:
        """The batch's score with noise, released once."""
        ...

    def state(self) -> bytes: ...
    def restore(self, state: bytes, level: int) -> None: ...


class IdealBatch:
    """The simulator's arithmetic, one record at a time. Noise of deviation 0 is none: for study, claiming nothing."""

    def __init__(self, *, dimension: int, score_noise: float, curvature_noise: float, source: Normals) -> None:
        self._noise = score_noise
        self._curvature_noise = curvature_noise
        self._source = source
        self._scales = scales_of(1.0, True, dimension)
        self._score = np.zeros(dimension)
        self._exact = np.zeros(packed_size(dimension))
        self._set(0)

    def begin(self, level: int) -> None:
        self._score[:] = 0.0
        self._exact[:] = 0.0
        self._set(level)

    def _set(self, level: int) -> None:
        self._poles, self._zeros = sections_of(strategy(level))
        self._deviation = self._curvature_noise * column_norm(level)
        self._running = np.zeros((self._poles.size + 2, self._exact.size))

    def add(self, phi: FloatArray, work: FloatArray) -> None:
        scores.add_up(phi, phi.shape[1], work, self._score, self._exact)

    def look(self, records: int) -> FloatArray:
        out = np.empty(self._exact.size)
        normals = self._source.normals(tape.COVARIANCE_NOISE, records, out.size)
        sections = self._poles, self._zeros
        toeplitz.look(self._exact, self._running, *sections, self._deviation, self._scales, normals, out)
        return out

    def score(self, records: int) -> FloatArray:
        return self._score + self._noise * self._source.normals(tape.ESTIMATE_NOISE, records, self._score.size)

    def state(self) -> bytes:
        """What must survive a restart. Noise already released is part of it and is never drawn again."""
        return np.concatenate([self._score, self._exact, self._running.ravel()]).astype("<f8").tobytes()

    def restore(self, state: bytes, level: int) -> None:
        """Take up in the middle of a batch."""
        self.begin(level)
        sizes = np.cumsum([self._score.size, self._exact.size, self._running.size])
        if len(state) != 8 * sizes[-1]:
            raise InvalidInput("the saved batch is for another dimension")
        numbers = np.frombuffer(state, dtype="<f8")
        if not np.isfinite(numbers).all():
            raise InvalidInput("the saved batch must be finite")
        self._score[:], self._exact[:] = numbers[: sizes[0]], numbers[sizes[0] : sizes[1]]
        self._running[:] = numbers[sizes[1] :].reshape(self._running.shape)

    def __repr__(self) -> str:
        return "IdealBatch(<sensitive>)"
