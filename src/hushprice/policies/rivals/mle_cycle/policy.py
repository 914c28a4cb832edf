"""The policy. It promises nothing."""

from __future__ import annotations

from hushprice.policies.rival_parts.frame import Frame
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, unprotected
from hushprice.policies.rivals.mle_cycle.learner import MleCycle

READS: dict[str, tuple[str, ...]] = {"mle-cycle": ()}


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    return unprotected(asked, frame, MleCycle)
