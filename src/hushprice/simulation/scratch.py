"""The scratch that kernels work in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hushprice.numerics.linear import packed_size
from hushprice.price_search import many
from hushprice.types import FloatArray

STRETCH = 512


class Stretch(NamedTuple):
    """Scratch for one stretch of periods, one column a period."""

    x: FloatArray  # contexts
    u: FloatArray  # features of the true context
    v: FloatArray
    seen_x: FloatArray  # what the policy sees of them (input perturbation)
    seen_u: FloatArray  # and, once prices are known, the records
    seen_v: FloatArray
    line: FloatArray  # rows: a*, b*, clairvoyant price, clairvoyant revenue
    curve: FloatArray  # rows: a, b, q0, q1, q2, two of scratch
    clipped: FloatArray  # 1 where a record had to be scaled into the unit ball
    out: FloatArray  # rows: price, z*, revenue, surplus, demand
    noise: FloatArray  # covariance noise
    summands: FloatArray  # phi phi' of each record
    released: FloatArray  # covariance released before each period
    pivots: FloatArray  # scratch of its determinant
    test: FloatArray  # rows: sign, ln |det|, definite
    search: FloatArray  # scratch of the price search


def new_stretch(k: int, d: int) -> Stretch:
    """Scratch for contexts of k entries and d features. A GPU's threads have their own, one period wide."""
    return Stretch(
        np.empty((k, STRETCH)),
        np.empty((d, STRETCH)),
        np.empty((d, STRETCH)),
        np.empty((k, STRETCH)),
        np.empty((d, STRETCH)),
        np.empty((d, STRETCH)),
        np.empty((4, STRETCH)),
        np.empty((7, STRETCH)),
        np.empty(STRETCH),
        np.empty((5, STRETCH)),
        np.zeros((4 * ((packed_size(d) + 3) // 4), STRETCH)),
        np.empty((packed_size(d), STRETCH)),
        np.empty((packed_size(d), STRETCH)),
        np.empty((packed_size(d), STRETCH)),
        np.empty((3, STRETCH)),
        np.empty(many.WORK),
    )
