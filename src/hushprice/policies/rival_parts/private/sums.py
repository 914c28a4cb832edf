"""Sums of vectors with Gaussian noise, as the event GaussianSums describes them (docs/proofs/pure.md, section 5)."""

from __future__ import annotations

import numpy as np

from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.noise import System
from hushprice.policies.rival_parts.private.arithmetic import Source, arithmetic_of
from hushprice.privacy.events import GaussianSums
from hushprice.types import FloatArray


class NoisySums:
    """Sums over the same records, or parts of them; every row is held to the unit ball. Without an event, no noise."""

    def __init__(self, event: GaussianSums | None, source: Source) -> None:
        self._arithmetic, self._noise = arithmetic_of(event, source), 0.0 if event is None else event.noise
        self._left = 2**62 if event is None else event.rounds
        self._entries = event.entries if event is not None and event.live else 2**62

    def of(self, rows: FloatArray) -> FloatArray:
        """The noisy sum of rows (n, k). NaN is refused, and so is a sum more than the event has."""
        held = _held(rows)
        if self._left == 0:
            raise BudgetExhausted("every sum that the budget covers was released")
        if rows.shape[1] > self._entries:
            raise InvalidInput(f"rows must have at most {self._entries} numbers, got {rows.shape[1]}")
        self._left -= 1
        return self._arithmetic.gaussian_sum(held, self._noise)

    def __repr__(self) -> str:
        return f"NoisySums({self._left} left)"


def reports(rows: FloatArray, event: GaussianSums | None, source: Source) -> FloatArray:
    """What each device sends: its own row, held to the unit ball, with noise. Live, each is a sum of one record."""
    if isinstance(source, System):
        return np.array([NoisySums(event, source).of(row[None, :]) for row in rows])
    held = _held(rows)
    return held if event is None else held + event.noise * source.standard_normal(rows.shape)


def _held(rows: FloatArray) -> FloatArray:
    if not np.isfinite(rows).all():
        raise InvalidInput("a record must be finite")  # says no more: its values are sensitive
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1), 1.0)[:, None])
