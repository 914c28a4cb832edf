"""Maximum likelihood, and a bonus outside the link: argmax (margin + p) min(1, f(phi'theta) + rho ||phi|| in V^-1)."""

from __future__ import annotations

import functools
import math

import numpy as np

from hushprice import checks
from hushprice.policies.rival_parts.frame import Frame
from hushprice.policies.rival_parts.optimism import LOGISTIC_MEAN
from hushprice.policies.rival_parts.optimist import Optimist, flattest
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, unprotected

READS: dict[str, tuple[str, ...]] = {"glm-ucb": ("width",)}
RARE = 0.1  # delta of the published width


def published_width(frame: Frame) -> float:
    """rho over sqrt(ln t): (2 k_mu kappa0 R / c_mu) sqrt(2 d ln(2 d T / delta)), kappa0 = sqrt(3 + 2 ln(1 + 2/1))."""
    steepest = 0.25 * frame.slope * frame.length
    factor = 2.0 * steepest * math.sqrt(3.0 + 2.0 * math.log(3.0)) / flattest(frame)
    return factor * math.sqrt(2.0 * frame.dimension * math.log(2.0 * frame.dimension * frame.horizon / RARE))


def usual_width(frame: Frame) -> float:
    """rho = sqrt(ln t), times half, the deviation of a purchase."""
    return 0.5


class GlmUcb(Optimist):
    """The width grows with sqrt(ln t). It begins once V can be inverted."""

    kind = LOGISTIC_MEAN

    def __init__(self, frame: Frame, rng: np.random.Generator, *, factor: float) -> None:
        super().__init__(frame, rng, enough=1.0 / frame.dimension)
        self._factor = factor

    def width(self) -> float:
        return self._factor * math.sqrt(math.log(max(self.count, 2)))


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    width = usual_width(frame) if asked.width is None else asked.width
    checks.non_negative(width=width)
    return unprotected(asked, frame, functools.partial(GlmUcb, factor=width), width=width)
