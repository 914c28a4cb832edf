"""The policy. It promises nothing."""

from __future__ import annotations

import functools

from hushprice import checks
from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.policies.rival_parts.frame import Frame
from hushprice.policies.rival_parts.rival_policy import KERNEL, Asked, RivalPolicy, built, unprotected
from hushprice.policies.rivals.glm_ucb.learner import GlmUcb, usual_width
from hushprice.settings import PolicySettings

__all__ = ["KERNEL", "READS", "build", "rival"]

READS: dict[str, tuple[str, ...]] = {"glm-ucb": ("width",)}


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    width = usual_width(frame) if asked.width is None else asked.width
    checks.non_negative(width=width)
    return unprotected(asked, frame, functools.partial(GlmUcb, factor=width), width=width)


def build(settings: PolicySettings, demand: Demand, features: FeatureMap) -> RivalPolicy:
    """The policy that the settings ask for."""
    return built(rival, settings, demand, features)
