"""The policy. It hides the shop's price from who sees questions and no answers; of customers it protects nothing."""

from __future__ import annotations

from hushprice.policies.rival_parts.frame import Frame
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, unprotected
from hushprice.policies.rivals.private_bisection.learner import Bisection

READS: dict[str, tuple[str, ...]] = {"private-bisection": ()}


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    return unprotected(asked, frame, Bisection)
