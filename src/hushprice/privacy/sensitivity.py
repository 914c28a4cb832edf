"""How far one record can move what is released: the numbers every guarantee rests on, and nothing else.

They follow from ||phi|| <= 1 and lowest <= y <= B_Y, which records.py enforces, and from the demand family's
true constants, never from a calibration's. docs/proofs/sensitivity.md proves each.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from hushprice import checks
from hushprice.demand import family
from hushprice.demand.protocol import Demand, lowest, steepest
from hushprice.errors import InvalidInput
from hushprice.privacy.adjacency import Adjacency

RADIUS = 2.0  # alg:private-mle, line 4: ||theta|| <= 2
_ANGLES = 1500  # of the search for the largest difference


Size = TypeVar("Size")


def _where(adjacency: Adjacency, *, replaced: Size, zeroed: Size) -> Size:
    """The one of two that holds for these neighbours."""
    match adjacency:
        case Adjacency.REPLACE_ONE:
            return replaced
        case Adjacency.ZERO_OUT:
            return zeroed
    raise InvalidInput(f"adjacency must be an Adjacency, got {checks.shown(adjacency)}")


def of_covariance(adjacency: Adjacency) -> float:
    """The largest change of phi phi' in Frobenius norm, and of its upper triangle.

    Replaced: ||xx' - yy'||^2 = |x|^4 + |y|^4 - 2 (x'y)^2 <= 2. Zeroed out: |x|^2 <= 1. The paper takes 1 for both.
    """
    return _where(adjacency, replaced=math.sqrt(2.0), zeroed=1.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class LossBounds:
    """What one record's loss can do on the ball ||theta|| <= 2."""

    gradient: float  # sup ||gradient||
    difference: float  # sup ||gradient - another record's gradient|| at the same theta
    curvature: float  # sup of the Hessian's one eigenvalue

    def __post_init__(self) -> None:
        checks.positive(gradient=self.gradient, difference=self.difference, curvature=self.curvature)


def of_loss(demand: Demand) -> LossBounds:
    """The bounds for a demand family: the gradient is slope (f(z) - y) phi, the Hessian slope f'(z) phi phi'."""
    low, high = np.asarray(demand.mean(np.array([-RADIUS, RADIUS])), dtype=float)  # f increases
    reach = max(high - lowest(demand), demand.bound - low)
    gradient = float(demand.slope * reach)
    difference = 2.0 * gradient
    if demand.family == family.LOGISTIC and lowest(demand) == 0.0 and demand.bound == 1.0:
        difference = min(difference, logistic_difference(float(demand.slope)))
    return LossBounds(gradient=gradient, difference=difference, curvature=float(demand.slope * steepest(demand)))


def of_gradients(gradient: float, difference: float, adjacency: Adjacency) -> tuple[float, int]:
    """How far one record moves the sum of gradients, and in how many dimensions it can.

    Replaced: by two records' difference, in the plane of their features. Zeroed out: by one gradient, along one line.
    """
    return _where(adjacency, replaced=(difference, 2), zeroed=(gradient, 1))


def overcounted(score_noise: float, curvature_noise: float, adjacency: Adjacency) -> float:
    """How much less mu^2 one record of a batch costs than its largest score and its largest curvature change would.

    A record's score and its psi are multiples of one vector. So two scores that differ by 2 are parallel, and then the
    two psi psi' differ by 1 at most, not sqrt(2). With a = 1/score_noise^2, b = 1/curvature_noise^2 and k the cosine
    between two records' lines, the squares add up to 4a + b, or to (2 + 2k) a + (2 - 2k^2) b, largest at
    k = min(1, a / 2b); never to 4a + 2b. A record that is zeroed out moves both by 1, and nothing is excluded
    (docs/proofs/batches.md, section 2).

    >>> 4.0 + 2.0 / 0.25 - overcounted(1.0, 0.5, Adjacency.REPLACE_ONE)  # a = 1, b = 4: k = 1/8
    10.125
    """
    match adjacency:
        case Adjacency.REPLACE_ONE:
            a, b = 1.0 / score_noise / score_noise, 1.0 / curvature_noise / curvature_noise
            ratio = curvature_noise / score_noise
            k = min(1.0, 0.5 * ratio * ratio)
            less = min(b, (2.0 - k) * a)  # 4a + 2b less the larger of 4a + b and, at this k, (2 + k) a + 2b
            return less if math.isfinite(less) else 0.0  # a forged noise may be anything
        case Adjacency.ZERO_OUT:
            return 0.0
    raise InvalidInput(f"adjacency must be an Adjacency, got {checks.shown(adjacency)}")


def of_moments(largest: float, own: float, adjacency: Adjacency) -> float:
    """How far one record moves a sum of r psi: r in [-1, largest], |psi| <= 1, and only `own` of psi is the record's.

    Replaced: |r psi - r' psi'|^2 <= (r - r')^2 (1 - own^2) + (|r| + |r'|)^2 own^2, convex in r and r' on each quadrant,
    so largest at a corner: 1 + largest where signs differ, 2 own where they do not (docs/proofs/moments.md).

    >>> of_moments(0.1, 0.5, Adjacency.REPLACE_ONE), of_moments(1.0, 0.5, Adjacency.REPLACE_ONE)
    (1.1, 2.0)
    """
    return _where(adjacency, replaced=max(1.0 + largest, 2.0 * own), zeroed=1.0)


def of_log_sums(rows: int, adjacency: Adjacency) -> float:
    """How far a person with at most so many rows moves a sum of vectors of length at most 1, no entry below 0.

    Zeroed out: by at most `rows`. Replaced: by s - s' of two such sums, s's' >= 0 as no entry is below 0, so by at most
    sqrt(2) rows (docs/proofs/log_values.md, section 2).

    >>> of_log_sums(3, Adjacency.ZERO_OUT)
    3.0
    """
    return _of_rows(rows, adjacency)


def of_counts(rows: int, adjacency: Adjacency) -> float:
    """How far a person with at most so many rows moves the counts of cells, each row in one cell.

    Zeroed out: counts fall by c_1, c_2, ... with sum c <= rows, a vector of length at most rows. Replaced: by the
    difference of two such vectors, c'c* >= 0, so of length at most sqrt(2) rows (docs/proofs/log_schema.md, section 2).
    """
    return _of_rows(rows, adjacency)


def _of_rows(rows: int, adjacency: Adjacency) -> float:
    return _where(adjacency, replaced=math.sqrt(2.0) * rows, zeroed=float(rows))


def of_sides(least: float, most: float, weights: tuple[float, float], adjacency: Adjacency) -> float:
    """How far one record moves its side's two sums, the first times weights[0], in the 1-norm.

    The sums are of r and of r x^, r = h - y in [least - 1, most] and |x^|_1 <= 1. Replaced: |r - r'| a + (|r| + |r'|) b
    is convex in r and r', so largest at a corner (docs/proofs/moments.md).

    >>> of_sides(0.0, 0.25, (1.0, 0.0), Adjacency.REPLACE_ONE), of_sides(0.0, 0.25, (1.0, 1.0), Adjacency.REPLACE_ONE)
    (1.25, 2.5)
    >>> of_sides(0.0, 0.25, (0.25, 1.0), Adjacency.REPLACE_ONE)  # two who buy, as different as can be
    2.0
    """
    common, personal = weights
    longest = max(1.0 - least, most)
    return _where(
        adjacency,
        replaced=max(2.0 * longest * personal, (1.0 + most - least) * (common + personal)),
        zeroed=longest * (common + personal),
    )


@functools.lru_cache(maxsize=64)
def logistic_difference(slope: float) -> float:
    """A bound on ||grad - grad'|| of two logistic losses on the ball, y in [0, 1]; below 2 sup ||grad||.

    With g(h) = f(2 cos h) it is slope sqrt(q), q = g(h)^2 + g(k)^2 - 2 g(h) g(k) cos(h + k), largest over a grid of
    angles in [0, pi/2] and raised by what q can gain between grid points, |dq/dh| <= 2 + 2 slope. Elsewhere on the ball
    q is at most (f(2) + 1/2)^2 or 2 f(2)^2.
    """
    angles, spacing = np.linspace(0.0, math.pi / 2, _ANGLES, retstep=True)
    g = 1.0 / (1.0 + np.exp(-slope * RADIUS * np.cos(angles)))
    squares = g[:, None] ** 2 + g[None, :] ** 2 - 2.0 * np.outer(g, g) * np.cos(angles[:, None] + angles[None, :])
    between = (2.0 + 2.0 * slope) * float(spacing)  # half a step in each of the two angles
    return slope * max(math.sqrt(float(squares.max()) + between), float(g[0]) + 0.5, math.sqrt(2.0) * float(g[0]))
