"""Arrays of a belief as they are read from a store: of the right shape and finite, or refused."""

from __future__ import annotations

import numpy as np

from hushprice.errors import InvalidInput
from hushprice.types import FloatArray


def numbers_of(field: str, values: object, shape: tuple[int, ...]) -> FloatArray:
    """The values as an array of this shape."""
    try:
        array = np.array(values, dtype=np.float64)
    except ValueError:  # rows of unequal length
        array = np.empty(0)
    if array.shape != shape or not np.isfinite(array).all():
        raise InvalidInput(f"belief.{field} must have the shape {shape} and finite numbers")
    return array
