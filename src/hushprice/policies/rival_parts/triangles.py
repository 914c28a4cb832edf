"""psi psi' as a triangle: off its diagonal times sqrt(2), so that it is as long as the matrix."""

from __future__ import annotations

import math

import numpy as np

from hushprice.numerics.linear import unpack
from hushprice.types import FloatArray


def triangles(psi: FloatArray) -> FloatArray:
    """A row for each row of psi."""
    first, second = np.triu_indices(psi.shape[1])
    return np.asarray(psi[:, first] * psi[:, second] * np.where(first == second, 1.0, math.sqrt(2.0)))


def matrix_of(triangle: FloatArray, dimension: int) -> FloatArray:
    """The symmetric matrix that it stands for."""
    square = np.empty((dimension, dimension))
    unpack(triangle, dimension, square)
    return np.asarray(square * (math.sqrt(0.5) + (1.0 - math.sqrt(0.5)) * np.eye(dimension)))
