"""The policy. It protects what buyers answer where features are public, so it claims nothing in our sense."""

from __future__ import annotations

import functools

import numpy as np
from scipy.special import expit

from hushprice import checks
from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.rival_policy import OUTCOMES, Asked, RivalPolicy
from hushprice.policies.rival_parts.stretches import Stretched
from hushprice.policies.rivals.tang.pricing import STRONG, Leader
from hushprice.policies.rivals.tang.private import VectorTree
from hushprice.types import FloatArray

READS: dict[str, tuple[str, ...]] = {"tang": ("calibration",)}
CALIBRATIONS = ("published", "tight")
STEEPEST = 1.0  # a gradient (f - y) psi is at most this long


def scale_of(frame: Frame, epsilon: float, calibration: str) -> float:
    """Of a node's noise: D log2(T) / epsilon, D = 2 (1 + H diam) as published; tight: 1, what an answer can change.

    With features public both worlds have the same theta_s and psi_s while prices so far are the same: one answer moves
    g_s by ||psi|| |y - y'| <= 1, in one node a level.
    """
    levels = max(1, frame.horizon.bit_length())
    diameter = 2.0 * frame.slope * frame.length * frame.size
    moved = 2.0 * (STEEPEST + STRONG * diameter) if calibration == "published" else 1.0
    return moved * levels / epsilon


class ApproximateLeader(Stretched):
    """Both sides in one trial."""

    def __init__(self, frame: Frame, rng: np.random.Generator, *, scale: float) -> None:
        super().__init__()
        self._frame, self.leader = frame, Leader(frame)
        self._tree = VectorTree(frame.dimension, scale, rng)

    def prices(self, customers: Customers) -> FloatArray:
        return self.leader.prices(customers)

    def take(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        theta = self.leader.theta
        psi = customers.features(prices) / self._frame.length
        error = expit(self._frame.offset(prices) + psi @ theta) - np.clip(demands, 0.0, 1.0)
        self._tree.absorb(error[:, None] * psi - STRONG * theta)

    def refit(self) -> None:
        self.leader.accept(self._tree.release(), self.count)


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    checks.one_of(CALIBRATIONS, calibration=asked.calibration)
    scale = scale_of(frame, asked.claimed.epsilon, asked.calibration) if asked.drawn else 0.0
    return RivalPolicy(
        name=asked.name,
        calibration=asked.calibration,
        frame=frame,
        begin=functools.partial(ApproximateLeader, scale=scale),
        horizon=frame.horizon,
        protects=OUTCOMES,
        noised=asked.drawn,
        own={"calibration": asked.calibration},
    )
