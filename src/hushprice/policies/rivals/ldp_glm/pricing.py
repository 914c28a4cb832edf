"""The side that prices: an online descent, a regression on what it predicts, and optimism around that."""

from __future__ import annotations

import math

import numpy as np

from hushprice.numerics.linear import packed_size
from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.optimism import LOGISTIC, best_on_grid, glm_parts
from hushprice.policies.rival_parts.optimist import flattest
from hushprice.policies.rival_parts.triangles import matrix_of
from hushprice.types import FloatArray


class ReportedBelief:
    """`theta` is the descent's, which devices are told; `mean` what prices are made of. `noise` is that of a part."""

    def __init__(self, frame: Frame, noise: float, *, sharp: bool) -> None:
        d = frame.dimension
        self._frame, self._noise, self._sharp, self._count = frame, noise, sharp, 0
        self._unit = frame.slope * frame.length
        self.ball = self._unit * frame.size
        self._flat = flattest(frame) / self._unit
        self.theta, self.mean, self.width = np.zeros(d), np.zeros(d), 0.0
        self._v, self._u, self.inverse = np.zeros((d, d)), np.zeros(d), np.eye(d)

    def prices(self, customers: Customers) -> FloatArray:
        """The best price of the grid for the upper bound of the log-odds."""
        frame, parts = self._frame, glm_parts(customers) / self._frame.length
        width = self.width / frame.slope
        return best_on_grid(frame, parts, self.mean / frame.slope, self.inverse, width=width, kind=LOGISTIC)

    def accept(self, reports: FloatArray) -> None:
        """Take up reports of parts over sqrt(3). The descent moves by T^-1/2 a report, and stays in its ball."""
        d, frame = self.theta.size, self._frame
        total, size = math.sqrt(3.0) * reports.sum(axis=0), packed_size(d)
        self._v += matrix_of(total[:size], d)
        self._u += self.ball * total[size : size + d]
        theta = self.theta - total[size + d :] / math.sqrt(frame.horizon)
        self.theta = theta * min(1.0, self.ball / max(float(np.linalg.norm(theta)), 1e-300))
        self._count += len(reports)
        v = self._v + 2.0 * self.reach() * np.eye(d)
        if np.linalg.eigvalsh(v)[0] > 0.0:
            self.inverse = np.asarray(np.linalg.inv(v), dtype=np.float64)
            self.mean = self.inverse @ self._u
            self.width = math.sqrt(self._noise * math.sqrt(d * self._count) / self._flat)

    def reach(self) -> float:
        """A bound on the norm of the noise in V, at least 1/2: the source's, or one for symmetric normal matrices."""
        d, horizon = self.theta.size, self._frame.horizon
        if self._sharp:
            far = math.sqrt(2.0) * (math.sqrt(d) + math.sqrt(math.log(4.0 * horizon**2)))
        else:
            far = 4.0 * math.sqrt(d) + 2.0 * math.log(2.0 * horizon**2)
        return 0.5 + self._noise * math.sqrt(self._count) * far
