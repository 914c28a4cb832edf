"""The policy. It hides the shop's price from who sees questions and no answers; of customers it protects nothing."""

from __future__ import annotations

from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.policies.rival_parts.frame import Frame
from hushprice.policies.rival_parts.rival_policy import KERNEL, Asked, RivalPolicy, built, unprotected
from hushprice.policies.rivals.private_bisection.learner import Bisection
from hushprice.settings import PolicySettings

__all__ = ["KERNEL", "READS", "build", "rival"]

READS: dict[str, tuple[str, ...]] = {"private-bisection": ()}


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    return unprotected(asked, frame, Bisection)


def build(settings: PolicySettings, demand: Demand, features: FeatureMap) -> RivalPolicy:
    """The policy that the settings ask for."""
    return built(rival, settings, demand, features)
