"""In what numbers a rival's sums are made: real ones in simulations, whole ones with exact noise live."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hushprice.errors import InvalidInput
from hushprice.mechanisms.whole_numbers import UNIT_BITS, round_bits
from hushprice.noise import System
from hushprice.privacy.events import GaussianSums, LaplaceSums, grid_of
from hushprice.types import FloatArray

Source = np.random.Generator | System  # of noise


class FloatArithmetic:
    """Floats, and noise from a seeded generator, which protects nobody."""

    kind = np.float64

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def exact(self, values: FloatArray) -> Any:
        """Values as they are added up."""
        return values

    def add(self, totals: list[Any]) -> Any:
        """Their sum."""
        return math.fsum(totals)

    def laplace(self, count: int, scale: float) -> list[Any]:
        """Noise to publish as many sums with."""
        drawn: list[float] = (scale * self._rng.laplace(size=count)).tolist()
        return drawn

    def publish(self, total: Any, drawn: Any, scale: float) -> float:
        """A sum with noise that was drawn at this scale."""
        return float(total + drawn)

    def gaussian_sum(self, rows: FloatArray, noise: float) -> FloatArray:
        """The noisy sum of rows (n, k)."""
        return np.asarray(rows.sum(axis=0) + noise * self._rng.standard_normal(rows.shape[1]))


class WholeArithmetic:
    """Whole multiples of 2^-40, rounded once to the grid of the noise, and exact discrete noise on that grid.

    Numbers are cut towards zero. Records that two worlds share contribute the same integers in both.
    """

    kind = np.object_  # Python's integers, which have no limit

    def __init__(self, source: System) -> None:
        self._source = source

    def exact(self, values: FloatArray) -> Any:
        """Values in units of 2^-40; none may be above 1."""
        return np.trunc(np.ldexp(values, UNIT_BITS)).astype(np.int64).astype(self.kind)

    def add(self, totals: list[Any]) -> Any:
        """Their sum."""
        return sum(totals)

    def laplace(self, count: int, scale: float) -> list[Any]:
        """Noise to publish as many sums with, in multiples of its grid."""
        return self._source.laplace_integers(scale / grid_of(scale), count)

    def publish(self, total: Any, drawn: Any, scale: float) -> float:
        """A sum with noise that was drawn at this scale."""
        shift = 1 - math.frexp(grid_of(scale))[1]
        return math.ldexp(round_bits(int(total), UNIT_BITS - shift) + drawn, -shift)

    def gaussian_sum(self, rows: FloatArray, noise: float) -> FloatArray:
        """The noisy sum of rows (n, k)."""
        # Drawn before the rows are looked at, so that no failure of the draw can depend on them.
        drawn = self._source.integers(noise / grid_of(noise), rows.shape[1])
        totals = self.exact(rows).sum(axis=0)
        return np.array([self.publish(total, each, noise) for total, each in zip(totals, drawn, strict=True)])


def arithmetic_of(event: GaussianSums | LaplaceSums | None, source: Source) -> FloatArithmetic | WholeArithmetic:
    """What the event describes; live noise has one source, and simulated noise none that looks like it."""
    live = event is not None and event.live
    if live is not isinstance(source, System):
        raise InvalidInput(
            f"event must be for {'simulated' if live else 'live'} noise, as its source is, got {event!r}"
        )
    return WholeArithmetic(source) if isinstance(source, System) else FloatArithmetic(source)
