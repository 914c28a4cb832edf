"""Intervals and slopes, each with the chance that it misses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from hushprice.types import FloatArray

MISS = 0.01  # two-sided chance that an interval does not hold the truth
FARTHEST = 1e18  # customers; no bound is followed past this


class MeanInterval(NamedTuple):
    """An estimate and its confidence interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def mean_interval(values: FloatArray, miss: float = MISS) -> MeanInterval:
    """Student's interval for a mean."""
    centre, count = float(values.mean()), values.size
    reach = float(student.ppf(1 - miss / 2, count - 1)) * float(values.std(ddof=1)) / math.sqrt(count)
    return MeanInterval(centre, centre - reach, centre + reach)


def power(x: Sequence[float], samples: Sequence[FloatArray], miss: float = MISS) -> MeanInterval:
    """The b of mean(y) ~ x^b: least squares on logarithms of the means.

    Samples at different x must be independent. The slope is linear in the ln(mean), whose errors are se/mean to first
    order; the quantile is Student's with the degrees of freedom of the smallest sample.
    """
    logs = np.log(np.asarray(x, dtype=np.float64))
    centred = logs - logs.mean()
    weights = centred / float(centred @ centred)
    means = np.array([float(sample.mean()) for sample in samples])
    errors = np.array([float(sample.std(ddof=1)) / math.sqrt(sample.size) for sample in samples])
    value = float(weights @ np.log(means))
    spread = math.sqrt(float(np.sum((weights * errors / means) ** 2)))
    reach = float(student.ppf(1 - miss / 2, min(sample.size for sample in samples) - 1)) * spread
    return MeanInterval(value, value - reach, value + reach)


def at_most(interval: MeanInterval, most: float) -> bool | None:
    """Does the truth lie at or below `most`? None where the interval reaches across."""
    if interval.high <= most:
        return True
    return False if interval.low > most else None


def all_of(answers: Sequence[bool | None]) -> bool | None:
    """False if any is, else None if any is, else True."""
    if any(answer is False for answer in answers):
        return False
    return None if any(answer is None for answer in answers) else True


def first_horizon(binds: Callable[[float], bool]) -> float:
    """The smallest T up to FARTHEST from which on `binds` is true, to a few digits; infinity if it is not there."""
    if not binds(FARTHEST):
        return math.inf
    low, high = math.log(2.0), math.log(FARTHEST)
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if binds(math.exp(middle)) else (middle, high)
    return math.exp(high)


def from_horizon(horizon: float) -> str:
    """A horizon in words, such as 'from T = 3.2e+09', or that it never happens."""
    return f"from T = {horizon:.1e}" if math.isfinite(horizon) else f"at no T up to {FARTHEST:.0e}"
