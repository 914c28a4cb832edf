"""A private fit by noisy gradient steps over all rows, averaged over the last ones."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit

from hushprice.policies.rival_parts.frame import Frame
from hushprice.policies.rival_parts.logistic_fit import Rows
from hushprice.policies.rival_parts.private.sums import NoisySums
from hushprice.types import FloatArray

SHRINK = 2e-5  # of theta, in every step: 2 lambda, lambda = 1e-5 (the published code of `shuffle-glm`)
RATE = 10.0  # step j moves by RATE / sqrt(j) (there as well)
BURN = 10  # steps that are not averaged (there as well)


def descend(rows: Rows, frame: Frame, start: FloatArray, sums: NoisySums, *, steps: int, clip: float) -> FloatArray:
    """theta of log-odds = offset + theta'psi, psi = phi / length. Each record's gradient is cut to `clip`.

    How many rows there are is public. The average is of releases alone.
    """
    psi, theta, kept = rows.phi / frame.length, start.copy(), []
    for step in range(1, steps + 1):
        error = expit(rows.offset + psi @ theta) - rows.bought
        gradient = clip * sums.of(error[:, None] * psi / clip) / rows.count
        theta = theta - RATE / math.sqrt(step) * (gradient + SHRINK * theta)
        if step > BURN:
            kept.append(theta)
    return np.asarray(np.mean(kept, axis=0))
