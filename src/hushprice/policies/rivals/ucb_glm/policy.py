"""The policy. It promises nothing."""

from __future__ import annotations

import functools

from hushprice import checks
from hushprice.policies.rival_parts.frame import Frame
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, unprotected
from hushprice.policies.rivals.ucb_glm.learner import UcbGlm, usual_width

READS: dict[str, tuple[str, ...]] = {"ucb-glm": ("width",)}


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    width = usual_width(frame) if asked.width is None else asked.width
    checks.non_negative(width=width)
    return unprotected(asked, frame, functools.partial(UcbGlm, factor=width), width=width)
