"""Runs of a policy's private side in the two worlds of its worst pair, as one who sees every release sees them.

This is the watcher that the promise is about: prices are made of releases, so who watches prices sees less. Runs are
short and cheap, and there are many: enough to see most of the proven mu, so that noise a fifth too small is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hushprice.demand.protocol import Demand
from hushprice.noise import System, Tape
from hushprice.policies.catalog import PlainFactory
from hushprice.policies.newton.policy import NewtonPolicy
from hushprice.policies.paper.policy import PaperPolicy
from hushprice.policies.protocol import Policy
from hushprice.privacy.loss import Loss, loss_of
from hushprice.research.audits.finding import WORST_PAIR, AuditFinding
from hushprice.research.audits.trade_off import cuts_of, promised_loss, refutes, separation, stream_of
from hushprice.research.audits.transcripts import (
    NewtonTranscripts,
    NumberedTape,
    PaperTranscripts,
    Transcripts,
    weights_of,
    worst_pair_of,
)
from hushprice.simulation.compare import parse
from hushprice.simulation.run import Progress, prepare
from hushprice.types import FloatArray

# For each run of the watcher of prices, so many runs are played: a record's noise costs as much time as these differ.
_PLAYED = {"noisy-newton": 30, "noisy-newton live": 1, "paper": 5}
_PILOT = 8  # one run in so many chooses the cuts and is not judged
_REPORTED = 500  # runs between two reports of progress


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleaseWatch:
    """A policy's private side and its worst pair of records, ready to run."""

    policy: Policy
    demand: Demand
    horizon: int
    seed: int
    runs: int
    live: bool = False

    @property
    def loss(self) -> Loss | None:
        """What the accountant charges for what is watched: all of noisy-newton, the covariance stream of the paper."""
        if isinstance(self.policy, PaperPolicy):
            return loss_of(stream_of(self.policy), 1, self.policy.adjacency)
        return promised_loss(self.policy, live=self.live)

    def run(self, progress: Progress | None = None) -> tuple[FloatArray, FloatArray]:
        """One score a run, larger in the first world; the first world's and the second's."""
        pair = worst_pair_of(self.policy, self.demand)
        weights = weights_of(self.policy, self.demand, pair)
        scores = np.empty((2, self.runs))
        for world, record in enumerate(pair):
            played = self._transcripts(world)
            for n in range(self.runs):
                if progress is not None and n % _REPORTED == 0:
                    progress(world * self.runs + n, 2 * self.runs)
                scores[world, n] = weights @ played.play(record)
        return scores[0], scores[1]

    def split(self, first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Cuts from a pilot, the middle one first, and the scores that are judged by them."""
        pilot = max(1, self.runs // _PILOT)
        return cuts_of(np.concatenate([first[:pilot], second[:pilot]])), first[pilot:], second[pilot:]

    def facts(self) -> dict[str, Any]:
        """What a finding says of how it was come by."""
        return {
            "watcher": "releases",
            "noise": "live" if self.live else "simulated",
            "adjacency": self.policy.adjacency,
            "policy": self.policy.name,
            "calibration": self.policy.calibration,
            "story": WORST_PAIR,
            "horizon": self.horizon,
            "period": 1,
            "seed": self.seed,
            "runs": self.runs,
            "statistic": "likelihood ratio",
            "claimed": self.policy.claimed,
            "proven": self.policy.proven,
        }

    def _transcripts(self, world: int) -> Transcripts:
        if isinstance(self.policy, NewtonPolicy):
            source = System() if self.live else Tape(self.seed, world)
            return NewtonTranscripts(self.policy, self.demand, source)
        assert isinstance(self.policy, PaperPolicy)  # worst_pair_of has refused all others
        return PaperTranscripts(self.policy, NumberedTape(self.seed, world))


def release_watches(policies: Sequence[str | Policy | PlainFactory], runs: int, **setting: Any) -> list[ReleaseWatch]:
    """A watch for every policy that adds noise to releases; noisy-newton has one for live noise too."""
    made: list[ReleaseWatch] = []
    for policy in dict.fromkeys(policies):
        name, calibration = parse(policy) if isinstance(policy, str) else (policy, "tight")
        job = prepare(name, calibration=calibration, **setting)
        if not isinstance(job.policy, NewtonPolicy | PaperPolicy) or not job.policy.private:
            continue
        for kind in (job.policy.name, f"{job.policy.name} live"):
            if kind in _PLAYED:
                made.append(
                    ReleaseWatch(
                        policy=job.policy,
                        demand=job.market.demand,
                        horizon=job.horizon,
                        seed=job.seed,
                        runs=_PLAYED[kind] * runs,
                        live=kind.endswith("live"),
                    )
                )
    return made


def judge_releases(
    watch: ReleaseWatch, first: FloatArray, second: FloatArray, *, confidence: float, audits: int
) -> AuditFinding:
    """What the runs refute, with an equal share of the doubt for each audit of the call."""
    cuts, mine, other = watch.split(first, second)
    each = 1.0 - (1.0 - confidence) / audits
    seen, loss = separation(mine, other, cuts, each), watch.loss
    assert watch.policy.claimed is not None
    delta = watch.policy.claimed.delta
    return AuditFinding(
        **watch.facts(),
        delta=delta,
        epsilon_lower_bound=seen.epsilon_floor(delta),
        seen=seen,
        proven_mu=None if loss is None else loss.mu,
        beaten=loss is not None and refutes(seen, loss),
        confidence=confidence,
    )
