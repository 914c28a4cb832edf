"""Constrained nonlinear least squares, and a bonus outside the link, clipped at 1."""

from __future__ import annotations

import functools
import math

import numpy as np
from scipy.special import expit

from hushprice import checks
from hushprice.policies.rival_parts.frame import Frame
from hushprice.policies.rival_parts.optimism import LOGISTIC_MEAN
from hushprice.policies.rival_parts.optimist import Optimist
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, unprotected
from hushprice.types import FloatArray

READS: dict[str, tuple[str, ...]] = {"wang-optimism": ("width",)}
STEPS = 8  # of Gauss and Newton, at each refit
DAMPING = 1e-2


def usual_width(frame: Frame) -> float:
    """gamma: about sqrt(d), times half, the deviation of a purchase; the source's constants are not known to us."""
    return 0.5 * math.sqrt(frame.dimension)


class WangOptimism(Optimist):
    """Least squares of what was bought on f(phi'theta), ||theta|| <= S. The ridge of V is 1: nothing is explored."""

    kind = LOGISTIC_MEAN

    def __init__(self, frame: Frame, rng: np.random.Generator, *, factor: float) -> None:
        super().__init__(frame, rng)
        self._factor = factor
        self.v += np.eye(frame.dimension)
        self.ready = True

    def width(self) -> float:
        return self._factor

    def estimate(self) -> FloatArray:
        """Damped Gauss-Newton steps, each held to the ball."""
        frame, rows, theta = self.frame, self.rows, self.theta
        for _ in range(STEPS):
            chance = expit(rows.offset + frame.slope * (rows.phi @ theta))
            steep = rows.phi * (frame.slope * chance * (1.0 - chance))[:, None]
            gram = steep.T @ steep + DAMPING * np.eye(theta.size)
            theta = theta + np.linalg.solve(gram, steep.T @ (rows.bought - chance))
            theta = theta * min(1.0, frame.size / max(float(np.linalg.norm(theta)), 1e-12))
        return theta


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    width = usual_width(frame) if asked.width is None else asked.width
    checks.non_negative(width=width)
    return unprotected(asked, frame, functools.partial(WangOptimism, factor=width), width=width)
