"""The three sums of one batch and their release, with ideal noise (policy cautious).

A record is added to its batch's sums and kept nowhere. `ExactSums` does the same for live use, in whole numbers.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from hushprice.errors import InvalidInput
from hushprice.noise import Normals
from hushprice.numerics import tape
from hushprice.types import FloatArray


class Contributions(NamedTuple):
    """What records add, a row a record: bounded as events.LaplaceBatches says."""

    scores: FloatArray
    descriptions: FloatArray
    earnings: FloatArray


class BatchSums(Protocol):
    """The sums of the batch at hand. `records` addresses simulated noise: how many there were up to now."""

    def begin(self) -> None:
        """Empty the sums for a new batch."""
        ...

    def add(self, given: Contributions) -> None:
        """Add what these records contribute."""
        ...

    def release(self, score_noise: FloatArray, records: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The sums with noise: score, descriptions, earnings."""
        ...

    def state(self) -> bytes: ...
    def restore(self, state: bytes) -> None: ...


class IdealSums:
    """The simulator's arithmetic. Noise of deviation 0 is none: for study, claiming nothing."""

    def __init__(
        self, *, sizes: tuple[int, int, int], noise: tuple[float, tuple[float, float]], source: Normals
    ) -> None:
        self._sizes = sizes
        self._noise = noise  # of descriptions; of what the holdout earned, and the others
        self._source = source
        self.begin()

    def begin(self) -> None:
        self._sums = [np.zeros(size) for size in self._sizes]

    def add(self, given: Contributions) -> None:
        for total, rows in zip(self._sums, given, strict=True):
            total += rows.sum(axis=0)

    def release(self, score_noise: FloatArray, records: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        scores, descriptions, _ = self._sizes
        drawn = self._source.normals(tape.ESTIMATE_NOISE, records, descriptions + 4 * (scores + 2))
        normals, rest = drawn[:descriptions], drawn[descriptions:].reshape(4, -1)
        # The difference of two exponentials, each half a sum of two squares: a Laplace number, of variance 2.
        laplace = 0.5 * (rest[0] ** 2 + rest[1] ** 2 - rest[2] ** 2 - rest[3] ** 2)
        score, described, earned = self._sums
        described_noise, earned_noise = self._noise
        return (
            score + score_noise * laplace[:scores] * math.sqrt(0.5),
            described + described_noise * normals,
            earned + np.array(earned_noise) * laplace[scores:] * math.sqrt(0.5),
        )

    def state(self) -> bytes:
        """What must survive a restart."""
        return np.concatenate(self._sums).astype("<f8").tobytes()

    def restore(self, state: bytes) -> None:
        """Take up in the middle of a batch."""
        if len(state) != 8 * sum(self._sizes):
            raise InvalidInput("the saved batch is for another product")
        numbers = np.frombuffer(state, dtype="<f8").copy()
        if not np.isfinite(numbers).all():
            raise InvalidInput("the saved batch must be finite")
        self._sums = np.split(numbers, np.cumsum(self._sizes)[:-1])

    def __repr__(self) -> str:
        return "IdealSums(<sensitive>)"


class IdealShares(IdealSums):
    """What two aggregators' totals add up to: each has added all of the noise (trust `aggregated`)."""

    def __init__(
        self,
        *,
        sizes: tuple[int, int, int],
        noise: tuple[float, tuple[float, float]],
        sources: tuple[Normals, Normals],
    ) -> None:
        super().__init__(sizes=sizes, noise=noise, source=sources[0])
        self._other = IdealSums(sizes=sizes, noise=noise, source=sources[1])  # noise alone: shares are in the first

    def release(self, score_noise: FloatArray, records: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        first, second = super().release(score_noise, records), self._other.release(score_noise, records)
        return first[0] + second[0], first[1] + second[1], first[2] + second[2]
