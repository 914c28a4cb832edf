"""The two policies. They promise nothing."""

from __future__ import annotations

import functools

from hushprice.policies.rival_parts.frame import Frame
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, unprotected
from hushprice.policies.rivals.greedy_ils.learner import GreedyLeastSquares

READS: dict[str, tuple[str, ...]] = {"greedy-ils": (), "greedy-ils-dispersed": ()}


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    dispersed = asked.name == "greedy-ils-dispersed"
    return unprotected(asked, frame, functools.partial(GreedyLeastSquares, dispersed=dispersed))
