"""The first releases of a fit: how many units there are, and the first and second moments of v = [x; z].

A row adds [kappa; sqrt(2) v; v v'], off-diagonal entries of v v' times sqrt(2), with v held to a ball, divided by what
one unit can move the sum by. The count comes free: kappa is as large as leaving a unit out allows.

Rows are described twice: as they are, and then in units of what the first description found, centred and whitened.
Most attributes spread far less than they could, and prices move with them. Directions in which little varies, where the
first description is mostly noise, are as long as any other in the second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hushprice.errors import InvalidInput
from hushprice.logs.fit.row_columns import PIECE, SPARE, description_columns
from hushprice.types import FloatArray

RADIUS = 0.75  # of the ball v is held to, times the root of its entries: most rows lie in it
_SQUARES = (1.2, 4.0)  # squared radius, per entry, of the ball that whitened rows are held to: least and most,
_WANTED = 0.06  # and as large between them as leaves this deviation to an entry of what they say
_SPREAD = 0.3  # variance of an entry of v where nothing is known: between a uniform one's and a coin's
_CENTRE = 0.1  # variance of its mean
_APART = 0.15  # how far variances and covariances may be from that,
_APART_AGAIN = 0.3  # and, whitened, from the first description, where it is surer of itself
_LEAST_VARIANCE = 0.02
_LEAST_VALUE = 0.05  # of an eigenvalue of the whitened covariance
_LEAST_COUNT = 10.0


def largest_change(radius: float) -> float:
    """How far apart two rows' [sqrt(2) v; v v'] can be, |v| <= the radius (docs/proofs/log_fit.md, section 2).

    >>> round(largest_change(0.75), 6), round(largest_change(1.5), 6)
    (2.12132, 4.596194)
    """
    return 2.0 * math.sqrt(2.0) * radius if radius <= 1.0 else math.sqrt(2.0) * (radius * radius + 1.0)


def _kappa(radius: float) -> float:
    """As large as it can be without a unit that is left out moving more than one that is replaced."""
    square = radius**2
    return math.sqrt(largest_change(radius) ** 2 - 2.0 * square - square * square)


@dataclass(frozen=True, slots=True, eq=False)
class DescriptionPlan:
    """Public: v is [x; z], centred, times a lower triangle, and held to a ball."""

    centre: FloatArray
    whitening: FloatArray
    radius: float

    def check(self) -> None:
        """Refuse numbers at which a row would add one that is none: what is cut to whole numbers must be bounded."""
        if self.whitening.shape != (self.centre.size, self.centre.size):
            raise InvalidInput("a plan of a description must have as many rows and columns as entries")
        if not (np.isfinite(self.centre).all() and np.isfinite(self.whitening).all() and 0.0 < self.radius < math.inf):
            raise InvalidInput("a plan of a description must be finite")


class Moments(NamedTuple):
    """What descriptions say of the log: units, and mean and covariance of [x; z], shrunk as far as noise asks."""

    units: float
    mean: FloatArray
    covariance: FloatArray
    error: float = 0.0  # deviation that noise leaves to an entry of the covariance


def _as_they_are(size: int) -> DescriptionPlan:
    return DescriptionPlan(np.zeros(size), np.eye(size), RADIUS * math.sqrt(size))


def described(contexts: FloatArray, prices: FloatArray, plan: DescriptionPlan | None = None) -> FloatArray:
    """Rows that add up to what is released; two differ by at most 1, and one has length at most 1."""
    size = contexts.shape[1] + 1
    plan = _as_they_are(size) if plan is None else plan
    if plan.centre.size != size:
        raise InvalidInput(f"rows must have {plan.centre.size} entries, as the plan of their description, got {size}")
    bounds = np.array([plan.radius, _kappa(plan.radius), largest_change(plan.radius)])
    added, work = np.empty((1 + size + size * (size + 1) // 2, len(prices))), np.empty((size + SPARE, PIECE))
    x, z = np.ascontiguousarray(contexts.T), np.ascontiguousarray(prices)
    description_columns(x, z, plan.centre, plan.whitening, bounds, work, added)
    return added.T


def read_first(released: FloatArray, contexts: int, noise: float, known: int | None = None) -> Moments:
    """The moments of a released sum; `noise` is the deviation of its entries, `known` the count where it is public.

    Where it is not, a count that may be noise is taken lower: too many units would make noise look like evidence.
    """
    size = contexts + 1
    plan = _as_they_are(size)
    if known is None:
        count = _counted(released, plan, noise)
    else:
        count = max(float(known), _LEAST_COUNT)
    first, second, unit = _read(released, plan, count, noise)
    mean = np.clip(first, -0.95, 0.95) * (_CENTRE / (_CENTRE + 0.5 * unit * unit))
    errors = unit * _shapes(size)
    trust = _APART**2 / (_APART**2 + errors**2)
    found = np.clip(second - np.outer(mean, mean), -1.0, 1.0)
    np.fill_diagonal(found, np.maximum(np.diag(found), 0.0))
    error = unit * _APART / math.hypot(unit, _APART)
    # No direction is taken to be narrower than noise leaves open.
    least = max(_LEAST_VARIANCE, error * math.sqrt(size))
    return Moments(count, mean, _raised(trust * found + (1.0 - trust) * _SPREAD * np.eye(size), least), error)


def plan_description(moments: Moments, noise: float) -> DescriptionPlan:
    """The second description, in units of the first; `noise` is the deviation of its entries."""
    size = moments.mean.size
    square = _WANTED * moments.units / (math.sqrt(2.0) * noise) - 1.0
    radius = math.sqrt(size * min(max(square / size, _SQUARES[0]), _SQUARES[1]))
    return DescriptionPlan(moments.mean, np.linalg.inv(np.linalg.cholesky(moments.covariance)), radius)


def read_again(released: FloatArray, before: Moments, plan: DescriptionPlan, noise: float) -> Moments:
    """The moments by both descriptions: in whitened terms the first says mean 0 and covariance I, give or take."""
    first, second, unit = _read(released, plan, before.units, noise)
    lengths = np.sqrt((plan.whitening * plan.whitening).sum(axis=1))
    shapes = _shapes(lengths.size)
    means = np.minimum(math.sqrt(0.5) * before.error * lengths, _APART_AGAIN) ** 2
    mean = first * means / (means + 0.5 * unit * unit)
    doubts = np.minimum(before.error * np.outer(lengths, lengths), _APART_AGAIN) * shapes
    trust = doubts**2 / (doubts**2 + (unit * shapes) ** 2)
    found = trust * (second - np.outer(mean, mean)) + (1.0 - trust) * np.eye(lengths.size)
    back = np.linalg.inv(plan.whitening)
    covariance = back @ _raised(found, _LEAST_VALUE) @ back.T
    return Moments(before.units, before.mean + back @ mean, 0.5 * (covariance + covariance.T))


def _counted(released: FloatArray, plan: DescriptionPlan, noise: float) -> float:
    scale = largest_change(plan.radius) / _kappa(plan.radius)
    count, doubt = max(scale * float(released[0]), _LEAST_COUNT), 2.0 * scale * noise
    return max(count / (1.0 + (doubt / count) ** 2), _LEAST_COUNT)


def _read(
    released: FloatArray, plan: DescriptionPlan, count: float, noise: float
) -> tuple[FloatArray, FloatArray, float]:
    """First and second moments a unit, and the deviation of an entry on the latter's diagonal."""
    size, scale = plan.centre.size, largest_change(plan.radius) / count
    second = np.zeros((size, size))
    rows, columns = np.triu_indices(size)
    packed = scale * released[1 + size :]
    second[rows, columns] = np.where(rows == columns, packed, packed * math.sqrt(0.5))
    return scale * released[1 : 1 + size] * math.sqrt(0.5), second + np.triu(second, 1).T, noise * scale


def _shapes(size: int) -> FloatArray:
    """Deviations of a second moment's entries, relative to the diagonal's."""
    return np.where(np.eye(size) > 0.0, 1.0, math.sqrt(0.5))


def _raised(matrix: FloatArray, least: float) -> FloatArray:
    """With no eigenvalue below the least."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)
