"""Numbers a watcher computes from later prices, fitted on some runs of both worlds and chosen on others.

Whoever attacks may simulate the policy as often as they like, so fitting on runs of both worlds is within their means.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hushprice.types import FloatArray

Score = Callable[[FloatArray], FloatArray]  # prices (runs, periods) to one number a run

SHRINKAGE = 0.1  # of the discriminant's covariance towards independent periods; enough for fewer runs than periods


def fit_scores(first: FloatArray, second: FloatArray) -> dict[str, Score]:
    """Every score, fitted on runs of the first and of the second world."""
    return {
        "next price": lambda prices: prices[:, 0],
        "average price": lambda prices: prices.mean(axis=1),
        "first departure": _departure(first, second),
        "linear discriminant": _discriminant(first, second),
        "seen before": _repeats(first, second),
    }


def _departure(first: FloatArray, second: FloatArray) -> Score:
    """When prices first leave the path of the middle run: how early the policy learned something."""
    usual = np.median(np.concatenate([first, second]), axis=0)

    def score(prices: FloatArray) -> FloatArray:
        away = np.column_stack([prices != usual, np.ones(len(prices), dtype=bool)])  # never: after the last
        return away.argmax(axis=1).astype(np.float64)

    return score


def _discriminant(first: FloatArray, second: FloatArray) -> Score:
    """The direction in which the two worlds' prices lie apart, allowing for how runs of one world scatter."""
    every = np.concatenate([first, second])
    centre, spread = every.mean(axis=0), every.std(axis=0)
    varies = spread > 1e-12  # a mean of equal prices is off by rounding

    def scaled(prices: FloatArray) -> FloatArray:
        return (prices[:, varies] - centre[varies]) / spread[varies]

    z = scaled(every)
    sides = np.concatenate([np.ones(len(first)) / len(first), -np.ones(len(second)) / len(second)])
    runs, periods = z.shape
    # (S + s I)^-1 of the difference of means, by whichever of the two equal forms has the smaller system.
    if periods <= runs:
        weights = np.linalg.solve(z.T @ z / runs + SHRINKAGE * np.eye(periods), z.T @ sides)
    else:
        weights = z.T @ np.linalg.solve(z @ z.T / runs + SHRINKAGE * np.eye(runs), sides)
    return lambda prices: scaled(prices) @ weights


def _repeats(first: FloatArray, second: FloatArray) -> Score:
    """1 if the fitted runs of the first world alone hold these very prices, -1 if those of the second, 0 otherwise.

    Noise that takes few values, or none at all, gives itself away here, however well it hides averages.
    """
    ours, theirs = ({row.tobytes() for row in world} for world in (first, second))

    def score(prices: FloatArray) -> FloatArray:
        rows = [np.ascontiguousarray(row).tobytes() for row in prices]
        return np.array([float(row in ours) - float(row in theirs) for row in rows])

    return score


@dataclass(frozen=True, slots=True)
class ChosenScore:
    """The score that told the worlds apart best, and the cut that did so; above the cut means the first world."""

    name: str
    score: Score
    cut: float
    values: FloatArray  # of the runs it was chosen on, both worlds together


def choose(first: FloatArray, second: FloatArray, fitted: dict[str, Score]) -> ChosenScore:
    """The best of the fitted scores on runs they were not fitted on."""
    best, most = None, -1.0
    for name, score in fitted.items():
        for turned in (score, _turn(score)):
            mine, other = turned(first), turned(second)
            values = np.concatenate([mine, other])
            cuts = np.unique(values)
            above = _share_above(mine, cuts) - _share_above(other, cuts)
            at = int(above.argmax())
            if above[at] > most:
                best, most = ChosenScore(name, turned, _between(cuts, at), values), float(above[at])
    assert best is not None  # there is at least one score
    return best


def _turn(score: Score) -> Score:
    return lambda prices: -score(prices)


def _share_above(values: FloatArray, cuts: FloatArray) -> FloatArray:
    return 1.0 - np.searchsorted(np.sort(values), cuts, side="right") / values.size


def _between(cuts: FloatArray, at: int) -> float:
    """Half way to the next value, so that rounding decides nothing."""
    return float(cuts[at] if at + 1 == cuts.size else 0.5 * (cuts[at] + cuts[at + 1]))
