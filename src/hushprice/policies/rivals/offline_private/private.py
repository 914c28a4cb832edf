"""The side that reads the log: a sum of scores and curvatures for every step of the fit."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit

from hushprice.policies.rival_parts.logistic_fit import Rows
from hushprice.policies.rival_parts.private.sums import NoisySums
from hushprice.policies.rival_parts.triangles import triangles
from hushprice.types import FloatArray


def step_sum(rows: Rows, length: float, theta: FloatArray, sums: NoisySums) -> FloatArray:
    """The noisy sum of [(f - y) psi; 4 f' psi psi'], psi = phi / length, the second as a triangle."""
    psi = rows.phi / length
    chance = expit(rows.offset + psi @ theta)
    score = (chance - rows.bought)[:, None] * psi
    both = np.column_stack([score, (4.0 * chance * (1.0 - chance))[:, None] * triangles(psi)])
    return math.sqrt(2.0) * sums.of(both / math.sqrt(2.0))
