"""What an audit found: by watching prices or releases (AuditFinding), or inside a releaser (Measurement)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.research.audits.trade_off import Separation

WATCHERS = ("prices", "releases")  # who sees every later price; who sees everything the promise covers
WORST_PAIR = "worst pair"  # what the two worlds of a watcher of releases differ by


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchedRuns:
    """Which policy was watched, telling which story, in how many runs, and what it states."""

    policy: str
    calibration: str | None
    watcher: str  # of prices, or of releases
    part: str = ""  # of the releases, where one alone is watched
    noise: str = "simulated"  # or live
    adjacency: Adjacency = Adjacency.REPLACE_ONE
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

    def watched(self) -> dict[str, Any]:
        """Who watched what, for JSON."""
        return {
            "policy": self.policy,
            "calibration": self.calibration,
            "watcher": self.watcher,
            "part": self.part,
            "noise": self.noise,
            "story": self.story,
            "horizon": self.horizon,
            "period": self.period,
            "seed": self.seed,
            "runs": self.runs,
            "statistic": self.statistic,
        }

    def stated(self) -> dict[str, Any]:
        """What is claimed and what is proven, for JSON."""
        return {
            "adjacency": self.adjacency.value,
            "claimed": pair(self.claimed),
            "proven": pair(self.proven),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditFinding(WatchedRuns):
    """Lower bounds on mu and on epsilon at `delta`, beside what was claimed and what is proven."""

    delta: float
    epsilon_lower_bound: float  # whatever the shape of the noise: what (epsilon, delta) alone cannot explain
    seen: Separation
    proven_mu: float | None  # of what was watched, where it is a promise about mu, or can be said in it
    beaten: bool  # did the watcher do what the proof allows nobody?
    pure: bool = False  # is most of the promise one at delta 0, as Laplace noise gives?

    @property
    def epsilon_of_mu(self) -> float:
        """What the lower bound's mu costs: Gaussian noise of it at `delta`, or the least epsilon at delta 0."""
        return self.seen.pure_epsilon if self.pure else self.seen.epsilon_at(self.delta)

    @property
    def epsilon_seen(self) -> float:
        """The larger of the two bounds."""
        return max(self.epsilon_of_mu, self.epsilon_lower_bound)

    @property
    def share(self) -> float | None:
        """How much of the proven epsilon was seen."""
        if self.proven is None or self.proven.epsilon == 0.0:
            return None
        return (self.epsilon_seen if self.pure else self.epsilon_of_mu) / self.proven.epsilon

    @property
    def refuted(self) -> bool:
        """Is a claimed or a proven epsilon below what was found, or the proven curve?"""
        stated = (each for each in (self.claimed, self.proven) if each is not None and each.delta <= self.delta)
        return self.beaten or any(self.epsilon_lower_bound > each.epsilon for each in stated)

    def to_dict(self) -> dict[str, Any]:
        """The machine interface of `hushprice audit --format json`."""
        return {
            **self.watched(),
            "privacy": self.stated(),
            "delta": self.delta,
            "mu": {"estimate": self.seen.mu, "low": self.seen.low, "high": self.seen.high, "proven": self.proven_mu},
            "epsilon_of_mu": self.epsilon_of_mu,
            "at_delta_0": self.pure,
            "share_of_proven": self.share,
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
