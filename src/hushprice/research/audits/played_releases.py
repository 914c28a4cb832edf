"""Runs of a private side in the two worlds of its worst pair, each turned into one score by who sees every release."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hushprice.policies.protocol import Policy
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.loss import Loss
from hushprice.research.audits.finding import WORST_PAIR
from hushprice.research.audits.trade_off import cuts_of, most_separation
from hushprice.simulation.run import Progress
from hushprice.types import FloatArray

_PILOT = 8  # one run in so many chooses the cuts and is not judged
_REPORTED = 500  # runs between two reports of progress


class Stated(NamedTuple):
    """Which policy is watched, and what it says of itself."""

    policy: str
    calibration: str | None
    adjacency: Adjacency
    claimed: EpsilonDelta | None
    proven: EpsilonDelta | None

    @classmethod
    def of(cls, policy: Policy) -> Stated:
        """What a policy for markets says."""
        return cls(policy.name, policy.calibration, policy.adjacency, policy.claimed, policy.proven)


@dataclass(frozen=True, kw_only=True, eq=False)
class PlayedReleases(ABC):
    """What all watches of releases share."""

    horizon: int
    seed: int
    runs: int
    live: bool = False
    part: str = ""  # of the releases, where one alone is watched

    @property
    @abstractmethod
    def loss(self) -> Loss | None:
        """What the accountant charges for what is watched."""

    @property
    def told(self) -> float:
        """The most that the shares of right and wrong of any test can be apart."""
        return 1.0 if self.loss is None else most_separation(self.loss)

    @property
    def mu(self) -> float | None:
        """What is watched as a promise about mu, or what comes to the same."""
        return None if self.loss is None else self.loss.mu

    @property
    @abstractmethod
    def stated(self) -> Stated: ...

    @abstractmethod
    def pair(self) -> tuple[FloatArray, tuple[Any, Any]]:
        """How to weigh released numbers, and the two records that differ."""

    @abstractmethod
    def transcripts(self, world: int) -> Any:
        """What plays a run of a world with a record."""

    def score(self, weights: FloatArray, released: FloatArray) -> float:
        """How much likelier what was released is in the first world, up to a scale: that of Gaussian noise."""
        return float(weights @ released)

    def cuts(self, pilot: FloatArray) -> FloatArray:
        """Where scores are cut, from a pilot of both worlds."""
        return cuts_of(pilot)

    def run(self, progress: Progress | None = None) -> tuple[FloatArray, FloatArray]:
        """One score a run, larger in the first world; the first world's and the second's."""
        weights, pair = self.pair()
        scores = np.empty((2, self.runs))
        for world, record in enumerate(pair):
            played = self.transcripts(world)
            for n in range(self.runs):
                if progress is not None and n % _REPORTED == 0:
                    progress(world * self.runs + n, 2 * self.runs)
                scores[world, n] = self.score(weights, played.play(record))
        return scores[0], scores[1]

    def split(self, first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Cuts from a pilot, the middle one first, and the scores that are judged by them."""
        pilot = max(1, self.runs // _PILOT)
        return self.cuts(np.concatenate([first[:pilot], second[:pilot]])), first[pilot:], second[pilot:]

    def facts(self) -> dict[str, Any]:
        """What a finding says of how it was come by."""
        return {
            **self.stated._asdict(),
            "watcher": "releases",
            "part": self.part,
            "noise": "live" if self.live else "simulated",
            "story": WORST_PAIR,
            "horizon": self.horizon,
            "period": 1,
            "seed": self.seed,
            "runs": self.runs,
            "statistic": "likelihood ratio",
        }
