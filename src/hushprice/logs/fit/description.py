"""The first release of a fit: how many units there are, and the first and second moments of v = [x; z].

A row adds [kappa; sqrt(2) v; v v'], off-diagonal entries of v v' times sqrt(2), with v held to a ball, divided by what
one unit can move the sum by. The count comes free: kappa is as large as leaving a unit out allows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hushprice.types import FloatArray

RADIUS = 0.75  # of the ball v is held to, times the root of its entries: most rows lie in it
_SPREAD = 0.3  # variance of an entry of v where nothing is known: between a uniform one's and a coin's
_CENTRE = 0.1  # variance of its mean
_TRUST = 3.0  # deviations of the noise that the first guess counts for
_LEAST_VARIANCE = 0.01
_MOST_CORRELATION = 0.95
_LEAST_VALUE = 0.05  # of an eigenvalue of the correlations
_LEAST_COUNT = 10.0


def _radius(size: int) -> float:
    return RADIUS * math.sqrt(size)


def largest_change(size: int) -> float:
    """How far apart two rows' [sqrt(2) v; v v'] can be, |v| <= the radius (docs/proofs/log_fit.md, section 2).

    >>> round(largest_change(1), 6), round(largest_change(4), 6)
    (2.12132, 4.596194)
    """
    radius = _radius(size)
    return 2.0 * math.sqrt(2.0) * radius if radius <= 1.0 else math.sqrt(2.0) * (radius * radius + 1.0)


def _kappa(size: int) -> float:
    """As large as it can be without a unit that is left out moving more than one that is replaced."""
    square = _radius(size) ** 2
    return math.sqrt(largest_change(size) ** 2 - 2.0 * square - square * square)


def described(contexts: FloatArray, prices: FloatArray) -> FloatArray:
    """Rows that add up to what is released; two differ by at most 1, and one has length at most 1.

    Bit for bit the same whoever comes with a row: columns are added one by one, no product of matrices.
    """
    v = [*contexts.T, prices]
    size = len(v)
    squares = np.zeros(len(prices))
    for column in v:
        squares = squares + column * column
    scale = np.minimum(1.0, _radius(size) / np.maximum(np.sqrt(squares), 1e-12))
    held = [column * scale for column in v]
    columns = [np.full(len(prices), _kappa(size)), *(math.sqrt(2.0) * column for column in held)]
    for i, left in enumerate(held):
        columns.append(left * left)
        columns += [math.sqrt(2.0) * (left * right) for right in held[i + 1 :]]
    return np.stack(columns, axis=1) * (1.0 / largest_change(size))


class Moments(NamedTuple):
    """What a description says of the log: units, and mean and covariance of v = [x; z], shrunk as far as noise asks."""

    units: float
    mean: FloatArray
    covariance: FloatArray


def read_description(released: FloatArray, contexts: int, noise: float, known: int | None = None) -> Moments:
    """The moments of a released sum; `noise` is the deviation of its entries, `known` the count where it is public.

    Where it is not, a count that may be noise is taken lower: too many units would make noise look like evidence.
    """
    size = contexts + 1
    scale = largest_change(size)
    if known is None:
        counted, doubt = scale * float(released[0]) / _kappa(size), 2.0 * scale * noise / _kappa(size)
        count = max(counted, _LEAST_COUNT)
        count = max(count / (1.0 + (doubt / count) ** 2), _LEAST_COUNT)
    else:
        count = max(float(known), _LEAST_COUNT)
    unit = noise * scale / count  # deviation of an entry, for one unit
    first = scale * released[1 : 1 + size] / (math.sqrt(2.0) * count)
    mean = np.clip(first, -0.95, 0.95) * (_CENTRE / (_CENTRE + 0.5 * unit * unit))
    second = np.zeros((size, size))
    rows, columns = np.triu_indices(size)
    packed = scale * released[1 + size :] / count
    second[rows, columns] = np.where(rows == columns, packed, packed * math.sqrt(0.5))
    second = second + np.triu(second, 1).T
    likeness = 1.0 / (1.0 + _TRUST * unit / _SPREAD)
    covariance = likeness * (second - np.outer(mean, mean))
    variance = likeness * np.clip(np.diag(second) - mean * mean, 0.0, 1.0) + (1.0 - likeness) * _SPREAD
    deviations = np.sqrt(np.maximum(variance, _LEAST_VARIANCE))
    correlations = np.clip(covariance / np.outer(deviations, deviations), -_MOST_CORRELATION, _MOST_CORRELATION)
    np.fill_diagonal(correlations, 1.0)
    values, vectors = np.linalg.eigh(correlations)
    whole = (vectors * np.maximum(values, _LEAST_VALUE)) @ vectors.T
    root = np.sqrt(np.diag(whole))
    return Moments(count, mean, whole / np.outer(root, root) * np.outer(deviations, deviations))
