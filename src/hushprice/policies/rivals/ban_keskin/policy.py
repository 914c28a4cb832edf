"""The policy. It promises nothing."""

from __future__ import annotations

from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.policies.rival_parts.frame import Frame
from hushprice.policies.rival_parts.rival_policy import KERNEL, Asked, RivalPolicy, built, unprotected
from hushprice.policies.rivals.ban_keskin.learner import SparseGreedy
from hushprice.settings import PolicySettings

__all__ = ["KERNEL", "READS", "build", "rival"]

READS: dict[str, tuple[str, ...]] = {"ban-keskin": ()}


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    return unprotected(asked, frame, SparseGreedy)


def build(settings: PolicySettings, demand: Demand, features: FeatureMap) -> RivalPolicy:
    """The policy that the settings ask for."""
    return built(rival, settings, demand, features)
