"""Maximum likelihood, and a bonus inside the link: argmax (margin + p) f(phi'theta + alpha ||phi|| in V^-1)."""

from __future__ import annotations

import functools
import math

import numpy as np

from hushprice import checks
from hushprice.policies.rival_parts.frame import Frame
from hushprice.policies.rival_parts.optimism import LOGISTIC
from hushprice.policies.rival_parts.optimist import Optimist, flattest
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, unprotected

READS: dict[str, tuple[str, ...]] = {"ucb-glm": ("width",)}
SUBGAUSSIAN = 0.5  # a variable in [0, 1]


def published_width(frame: Frame) -> float:
    """alpha = (sigma/kappa) sqrt((d/2) ln(1 + 2T/d) + ln(1/delta)), delta = 1/T."""
    return SUBGAUSSIAN / flattest(frame) * _root(frame)


def usual_width(frame: Frame) -> float:
    """alpha with the steepest slope in kappa's place: no theorem holds for it, and prices leave the ceiling."""
    return SUBGAUSSIAN / (0.25 * frame.slope * frame.length) * _root(frame)


def _root(frame: Frame) -> float:
    d, horizon = frame.dimension, frame.horizon
    return math.sqrt(0.5 * d * math.log1p(2.0 * horizon / d) + math.log(horizon))


class UcbGlm(Optimist):
    """The width is the same in all periods."""

    kind = LOGISTIC

    def __init__(self, frame: Frame, rng: np.random.Generator, *, factor: float) -> None:
        super().__init__(frame, rng)
        self._factor = factor

    def width(self) -> float:
        return self._factor


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    width = usual_width(frame) if asked.width is None else asked.width
    checks.non_negative(width=width)
    return unprotected(asked, frame, functools.partial(UcbGlm, factor=width), width=width)
