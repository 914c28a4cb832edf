"""The policy. It promises nothing."""

from __future__ import annotations

from hushprice.policies.rival_parts.frame import Frame
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, unprotected
from hushprice.policies.rivals.ellipsoid.learner import EllipsoidCuts

READS: dict[str, tuple[str, ...]] = {"ellipsoid": ()}


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    return unprotected(asked, frame, EllipsoidCuts)
