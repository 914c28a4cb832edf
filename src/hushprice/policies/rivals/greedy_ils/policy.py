"""The two policies. They promise nothing."""

from __future__ import annotations

import functools

from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.policies.rival_parts.frame import Frame
from hushprice.policies.rival_parts.rival_policy import KERNEL, Asked, RivalPolicy, built, unprotected
from hushprice.policies.rivals.greedy_ils.learner import GreedyLeastSquares
from hushprice.settings import PolicySettings

__all__ = ["KERNEL", "READS", "build", "rival"]

READS: dict[str, tuple[str, ...]] = {"greedy-ils": (), "greedy-ils-dispersed": ()}


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    dispersed = asked.name == "greedy-ils-dispersed"
    return unprotected(asked, frame, functools.partial(GreedyLeastSquares, dispersed=dispersed))


def build(settings: PolicySettings, demand: Demand, features: FeatureMap) -> RivalPolicy:
    """The policy that the settings ask for."""
    return built(rival, settings, demand, features)
