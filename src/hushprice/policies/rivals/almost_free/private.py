"""The side that reads records: one sum an epoch, of scores and curvatures whose weights make each as long as 1."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit

from hushprice.policies.rival_parts.logistic_fit import Rows
from hushprice.policies.rival_parts.private.sums import NoisySums
from hushprice.types import FloatArray


def epoch_sum(rows: Rows, length: float, theta: FloatArray, u: FloatArray, sums: NoisySums) -> FloatArray:
    """The noisy sum of [w (f - y); 4 f' w psi'] with w = U psi / ||U psi||, psi = phi / length."""
    psi = rows.phi / length
    weighted = psi @ u
    w = weighted / np.maximum(np.linalg.norm(weighted, axis=1), 1e-300)[:, None]
    chance = expit(rows.offset + psi @ theta)
    score = (chance - rows.bought)[:, None] * w
    curvature = (4.0 * chance * (1.0 - chance))[:, None, None] * w[:, :, None] * psi[:, None, :]
    both = np.column_stack([score, curvature.reshape(len(psi), -1)])
    return math.sqrt(2.0) * sums.of(both / math.sqrt(2.0))
