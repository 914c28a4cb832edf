"""What an audit found: in prices (AuditFinding), or inside a releaser (Measurement)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchedRuns:
    """Which policy was watched, telling which story, in how many runs, and what it states."""

    policy: str
    calibration: str | None
    story: str  # what the two worlds differ by
    horizon: int
    period: int
    seed: int
    runs: int  # of each world
    statistic: str
    claimed: EpsilonDelta | None
    proven: EpsilonDelta | None
    confidence: float  # that all bounds and intervals of one call hold together

    @property
    def label(self) -> str:
        """The policy's name, with its calibration where it has one."""
        return f"{self.policy} ({self.calibration})" if self.calibration else self.policy

    def stated(self) -> dict[str, Any]:
        """What is claimed and what is proven, for JSON."""
        return {
            "adjacency": Adjacency.REPLACE_ONE.value,
            "claimed": pair(self.claimed),
            "proven": pair(self.proven),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditFinding(WatchedRuns):
    """A lower bound on epsilon at `delta`, beside what was claimed and what is proven."""

    audit: str  # which audit
    delta: float
    epsilon_lower_bound: float

    @property
    def refuted(self) -> bool:
        """Is a claimed or a proven epsilon below what was found?"""
        stated = (each for each in (self.claimed, self.proven) if each is not None and each.delta <= self.delta)
        return any(self.epsilon_lower_bound > each.epsilon for each in stated)

    def to_dict(self) -> dict[str, Any]:
        """The machine interface of `hushprice audit --format json`."""
        return {
            "audit": self.audit,
            "policy": self.policy,
            "calibration": self.calibration,
            "story": self.story,
            "horizon": self.horizon,
            "period": self.period,
            "seed": self.seed,
            "runs": self.runs,
            "statistic": self.statistic,
            "privacy": self.stated(),
            "delta": self.delta,
            "epsilon_lower_bound": self.epsilon_lower_bound,
            "confidence": self.confidence,
            "refuted": self.refuted,
        }


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a look inside measured, what was allowed, and whether the one is within the other."""

    name: str
    found: float
    allowed: float
    holds: bool
    detail: str

    def to_dict(self) -> dict[str, Any]:
        """The machine interface of `hushprice audit --white-box --format json`."""
        return {
            "audit": "white-box",
            "name": self.name,
            "found": self.found,
            "allowed": self.allowed,
            "holds": self.holds,
            "detail": self.detail,
        }


def pair(value: EpsilonDelta | None) -> dict[str, float] | None:
    """An (epsilon, delta) for JSON."""
    return None if value is None else {"epsilon": value.epsilon, "delta": value.delta}
