"""The boundary: the only values that may cross from the layer that reads records to the layer that sets prices.

Each is frozen, its arrays are read-only, and each carries the event that paid for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from hushprice.privacy.events import Event
from hushprice.types import FloatArray


def _sealed(array: FloatArray) -> FloatArray:
    copy = array.copy()
    copy.setflags(write=False)
    return copy


@dataclass(frozen=True, slots=True, eq=False)
class CovarianceRelease:
    """Sigma_n^p: the noisy covariance of the first `records` records, as a packed upper triangle."""

    packed: FloatArray
    records: int
    event: Event

    def __post_init__(self) -> None:
        object.__setattr__(self, "packed", _sealed(self.packed))


@dataclass(frozen=True, slots=True, eq=False)
class EstimateRelease:
    """theta-hat^p: a private estimate of theta*, and what publishing it cost."""

    theta: FloatArray
    event: Event

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", _sealed(self.theta))


@dataclass(frozen=True, slots=True, eq=False)
class CurvatureRelease:
    """The noisy curvature of a batch so far, in units of the cap, as a packed upper triangle (policy noisy-newton).

    `records` counts all records up to the batch's newest one, those of earlier batches included.
    """

    packed: FloatArray
    records: int
    event: Event

    def __post_init__(self) -> None:
        object.__setattr__(self, "packed", _sealed(self.packed))


@dataclass(frozen=True, slots=True, eq=False)
class ScoreRelease:
    """The noisy score of a whole batch, at the belief that was in force while its records were learned."""

    score: FloatArray
    records: int
    event: Event

    def __post_init__(self) -> None:
        object.__setattr__(self, "score", _sealed(self.score))


@dataclass(frozen=True, slots=True, eq=False)
class MomentRelease:
    """The noisy sums of a whole batch (policy cautious): its score, its customers' descriptions, what was earned."""

    score: FloatArray
    descriptions: FloatArray
    earnings: FloatArray  # by the holdout and by the others
    records: int  # up to the batch's newest one, those of earlier batches included
    event: Event
    priced: int | None = None  # slots of the batch outside the holdout, which no record decides; None: as many as usual

    def __post_init__(self) -> None:
        for field in ("score", "descriptions", "earnings"):
            object.__setattr__(self, field, _sealed(getattr(self, field)))
