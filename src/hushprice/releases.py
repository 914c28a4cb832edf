"""The boundary: the only values that may cross from the layer that reads records to the layer that sets prices.

Each is frozen, its arrays are read-only, and each carries the event that paid for it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, cast

from hushprice.privacy.events import Event
from hushprice.types import FloatArray


class _Sealed:
    """Holds copies of the arrays that it is given, which nobody can write to."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for field in fields(cast(Any, self)):
            if field.type == "FloatArray":
                copy = getattr(self, field.name).copy()
                copy.setflags(write=False)
                object.__setattr__(self, field.name, copy)


@dataclass(frozen=True, slots=True, eq=False)
class CovarianceRelease(_Sealed):
    """Sigma_n^p: the noisy covariance of the first `records` records, as a packed upper triangle."""

    packed: FloatArray
    records: int
    event: Event


@dataclass(frozen=True, slots=True, eq=False)
class EstimateRelease(_Sealed):
    """theta-hat^p: a private estimate of theta*, and what publishing it cost."""

    theta: FloatArray
    event: Event


@dataclass(frozen=True, slots=True, eq=False)
class CurvatureRelease(_Sealed):
    """The noisy curvature of a batch so far, in units of the cap, as a packed upper triangle (policy noisy-newton).

    `records` counts all records up to the batch's newest one, those of earlier batches included.
    """

    packed: FloatArray
    records: int
    event: Event


@dataclass(frozen=True, slots=True, eq=False)
class ScoreRelease(_Sealed):
    """The noisy score of a whole batch, at the belief that was in force while its records were learned."""

    score: FloatArray
    records: int
    event: Event


@dataclass(frozen=True, slots=True, eq=False)
class MomentRelease(_Sealed):
    """The noisy sums of a whole batch (policy cautious): its score, its customers' descriptions, what was earned."""

    score: FloatArray
    descriptions: FloatArray
    earnings: FloatArray  # by the holdout and by the others
    records: int  # up to the batch's newest one, those of earlier batches included
    event: Event
    priced: int | None = None  # slots of the batch outside the holdout, which no record decides; None: as many as usual
