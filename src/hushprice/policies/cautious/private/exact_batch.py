"""The three sums of one batch for live use: whole numbers from the record to what is published.

Every number a record adds is cut to a multiple of 2^-40 and they add up without rounding; the sum is rounded once, to
the noise's grid. Records that two worlds share contribute the same integers in both. What cutting and rounding move the
rest by is charged (loss._of_moments).
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from hushprice.errors import InvalidInput
from hushprice.mechanisms.whole_numbers import UNIT_BITS, hexed, round_bits, unhexed
from hushprice.noise import System
from hushprice.policies.cautious.private.sums import Contributions
from hushprice.privacy.events import LaplaceBatches as MomentBatches, grid_of
from hushprice.types import FloatArray

_MOST_ROWS = 1 << 20  # added in 64 bits: no number is above 1, so sums stay below 2^60


class ExactSums:
    """The batch at hand of `event`, drawn live. Sensitive."""

    def __init__(self, *, event: MomentBatches, source: System) -> None:
        if not event.live:
            raise InvalidInput(f"event must be for live noise, got {event!r}")
        self._event = event
        self._source = source
        self.begin()

    def begin(self) -> None:
        self._sums = [[0] * size for size in (self._event.scores, self._event.descriptions, 2)]  # in units of 2^-40

    def add(self, given: Contributions) -> None:
        for part, rows in enumerate(given):
            for start in range(0, len(rows), _MOST_ROWS):
                cut = np.trunc(np.ldexp(rows[start : start + _MOST_ROWS], UNIT_BITS)).astype(np.int64)
                totals = cut.sum(axis=0).tolist()
                self._sums[part] = [total + value for total, value in zip(self._sums[part], totals, strict=True)]

    def release(self, score_noise: float, records: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        deviations = (score_noise, self._event.description_noise, self._event.earnings_noise)
        # Drawn before the sums are looked at, so that no failure of the draw can depend on them.
        drawn = [
            self._source.integers(noise / grid_of(noise), len(total)) if total else []
            for noise, total in zip(deviations, self._sums, strict=True)
        ]
        score, described, earned = (
            _published(total, noise, each) for total, noise, each in zip(self._sums, deviations, drawn, strict=True)
        )
        return score, described, earned

    def state(self) -> bytes:
        """What must survive a restart."""
        return msgspec.msgpack.encode(hexed(self._sums))

    def restore(self, state: bytes) -> None:
        """Take up in the middle of a batch."""
        try:
            sums = unhexed(msgspec.msgpack.decode(state, type=list[str]), self._sums)
        except (msgspec.DecodeError, ValueError):
            raise InvalidInput("the saved batch is not one of this releaser") from None
        if sums is None:
            raise InvalidInput("the saved batch is for another product")
        self._sums = sums

    def __repr__(self) -> str:
        return "ExactSums(<sensitive>)"


def _published(total: list[int], noise: float, drawn: list[int]) -> FloatArray:
    shift = 1 - math.frexp(grid_of(noise))[1]
    values = [round_bits(value, UNIT_BITS - shift) + each for value, each in zip(total, drawn, strict=True)]
    return np.array([math.ldexp(value, -shift) for value in values], dtype=np.float64)
