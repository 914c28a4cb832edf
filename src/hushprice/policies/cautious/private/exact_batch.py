"""The three sums of one batch for live use: whole numbers from the record to what is published.

Every number a record adds is cut to a multiple of 2^-40 and they add up without rounding; the sum is rounded once, to
the noise's grid. Records that two worlds share contribute the same integers in both. What cutting and rounding move the
rest by is charged (loss._of_laplace).
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from hushprice.errors import InvalidInput
from hushprice.mechanisms.whole_numbers import UNIT_BITS, hexed, round_bits, unhexed
from hushprice.noise import System
from hushprice.policies.cautious.pricing.instruments import entries
from hushprice.policies.cautious.private.sums import Contributions
from hushprice.privacy.events import LaplaceBatches, grid_of
from hushprice.types import FloatArray

_MOST_ROWS = 1 << 20  # added in 64 bits: no number is above 1, so sums stay below 2^60


class ExactSums:
    """The batch at hand of `event`, drawn live. Sensitive."""

    def __init__(self, *, event: LaplaceBatches, source: System) -> None:
        if not event.live:
            raise InvalidInput(f"event must be for live noise, got {event!r}")
        self._event = event
        self._source = source
        self.begin()

    def begin(self) -> None:
        sizes = entries(self._event.contexts), self._event.descriptions, 2
        self._sums = [[0] * size for size in sizes]  # in units of 2^-40

    def add(self, given: Contributions) -> None:
        for part, rows in enumerate(given):
            for start in range(0, len(rows), _MOST_ROWS):
                cut = np.trunc(np.ldexp(rows[start : start + _MOST_ROWS], UNIT_BITS)).astype(np.int64)
                totals = cut.sum(axis=0).tolist()
                self._sums[part] = [total + value for total, value in zip(self._sums[part], totals, strict=True)]

    def release(self, score_noise: FloatArray, records: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Numbers whose noise has deviation 0 are left out: a constant is published in their place."""
        scales = [float(each) for each in score_noise / math.sqrt(2.0)]  # of Laplace noise
        described_noise, earned_scales = self._event.description_noise, list(self._event.earned_scales)
        # Drawn before the sums are looked at, so that no failure of the draw can depend on them.
        scored = [self._laplace(scale) if scale > 0.0 else 0 for scale in scales]
        described = self._source.integers(described_noise / grid_of(described_noise), len(self._sums[1]))
        earned = [self._laplace(scale) for scale in earned_scales]
        return (
            _released(self._sums[0], scales, scored),
            _released(self._sums[1], [described_noise] * len(described), described),
            _released(self._sums[2], earned_scales, earned),
        )

    def _laplace(self, scale: float) -> int:
        return self._source.laplace_integers(scale / grid_of(scale), 1)[0]

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


def _released(totals: list[int], noise: list[float], drawn: list[int]) -> FloatArray:
    each = zip(totals, noise, drawn, strict=True)
    return np.array([_published(*number) if number[1] > 0.0 else 0.0 for number in each])


def _published(total: int, noise: float, drawn: int) -> float:
    """A sum of units of 2^-40, rounded to the noise's grid, and noise on that grid."""
    shift = 1 - math.frexp(grid_of(noise))[1]
    return math.ldexp(round_bits(total, UNIT_BITS - shift) + drawn, -shift)
