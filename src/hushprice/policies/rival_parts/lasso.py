"""Maximum likelihood with a penalty on the sum of absolute coefficients (`rmlp`, `ban-keskin`)."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit

from hushprice.policies.rival_parts.logistic_fit import Rows
from hushprice.types import FloatArray

LASSO = 0.1  # of slope sqrt(ln d / n). The 4 u_W of `rmlp`'s source in its place leaves every coefficient at 0 here


def lasso(rows: Rows, slope: float, start: FloatArray, *, steps: int, factor: float = LASSO) -> FloatArray:
    """The theta with the least mean loss plus lambda ||theta||_1, lambda = factor slope sqrt(ln d / n)."""
    phi, count = slope * rows.phi, rows.count
    penalty = factor * slope * math.sqrt(math.log(max(start.size, 2)) / count)
    steep = 0.25 * float(np.linalg.eigvalsh(phi.T @ phi)[-1]) / count + 1e-12  # of the mean loss's gradient
    theta = start
    for _ in range(steps):
        moved = theta - phi.T @ (expit(rows.offset + phi @ theta) - rows.bought) / (count * steep)
        theta = np.sign(moved) * np.maximum(np.abs(moved) - penalty / steep, 0.0)
    return theta
