"""What a customer's device makes of its record, before noise: psi psi', (psi'theta) psi and its gradient."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit

from hushprice.policies.rival_parts.triangles import triangles
from hushprice.types import FloatArray

PARTS = 3  # of a report, each a vector of length at most 1
APART = math.sqrt(10.0)  # of two reports: of psi psi' sqrt(2) at most, of the other two parts 2 each


def report_rows(psi: FloatArray, offset: FloatArray, bought: FloatArray, theta: FloatArray, ball: float) -> FloatArray:
    """The three parts over sqrt(3), a row a customer; psi psi' as a triangle, off its diagonal times sqrt(2)."""
    along = psi @ theta
    moved = np.clip(along / ball, -1.0, 1.0)[:, None] * psi
    error = expit(offset + along) - np.clip(bought, 0.0, 1.0)
    return np.column_stack([triangles(psi), moved, error[:, None] * psi]) / math.sqrt(PARTS)
