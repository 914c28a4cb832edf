"""Runs of a policy's private side in the two worlds of its worst pair, as one who sees every release sees them.

This is the watcher that the promise is about: prices are made of releases, so who watches prices sees less. Runs are
short and cheap, and there are many: enough to see most of the proven mu, so that noise a fifth too small is found.
Where noise is Laplace, most of the proven epsilon is seen as it is.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hushprice.demand.protocol import Demand
from hushprice.noise import System, Tape
from hushprice.policies.catalog import PlainFactory
from hushprice.policies.cautious.rules import CautiousRules
from hushprice.policies.newton.policy import NewtonPolicy
from hushprice.policies.paper.policy import PaperPolicy
from hushprice.policies.protocol import Policy
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.loss import Loss, loss_of
from hushprice.research.audits.finding import AuditFinding
from hushprice.research.audits.intervals import epsilon_floor
from hushprice.research.audits.moments import (
    CAUTIOUS,
    MomentTranscripts,
    NeighbouringShops,
    Shopper,
    noise_map,
    played,
    rules_of,
    sizes_of,
    worst_shops,
)
from hushprice.research.audits.paper_runs import ESTIMATES, PaperWatch
from hushprice.research.audits.played_releases import PlayedReleases, Stated
from hushprice.research.audits.trade_off import promised_loss, refutes, separation
from hushprice.research.audits.transcripts import NewtonTranscripts, weights_of, worst_pair_of
from hushprice.research.audits.worst_records import WorstPair
from hushprice.simulation.compare import parse
from hushprice.simulation.run import prepare
from hushprice.simulation.trial import Job
from hushprice.types import BoolArray, FloatArray

_LEAST = 1e-6  # of a difference, relative to it, that noise cannot explain
# For each run of the watcher of prices, so many runs are played: a record's noise costs as much time as these differ.
_PLAYED = {"noisy-newton": 30, "noisy-newton live": 1, "paper": 5, CAUTIOUS: 20, f"{CAUTIOUS} live": 1}


@dataclass(frozen=True, kw_only=True, eq=False)
class NewtonWatch(PlayedReleases):
    """The private side of noisy-newton and its worst pair of records, ready to run."""

    policy: NewtonPolicy
    demand: Demand

    @property
    def loss(self) -> Loss | None:
        """What the accountant charges for all batches."""
        return promised_loss(self.policy, live=self.live)

    @property
    def stated(self) -> Stated:
        return Stated.of(self.policy)

    def pair(self) -> tuple[FloatArray, WorstPair]:
        pair = worst_pair_of(self.policy, self.demand)
        return weights_of(self.policy, self.demand, pair), pair

    def transcripts(self, world: int) -> NewtonTranscripts:
        source = System() if self.live else Tape(self.seed, world)
        return NewtonTranscripts(self.policy, self.demand, source)


@dataclass(frozen=True, kw_only=True, eq=False)
class MomentWatch(PlayedReleases):
    """The private side of policy cautious, which is no policy for a market: a product's rules."""

    rules: CautiousRules

    @property
    def loss(self) -> Loss:
        """What the accountant charges for all batches."""
        noise = self.rules.noise
        return loss_of(noise.event(self.rules.model.contexts, live=self.live), 1, noise.adjacency)

    @property
    def stated(self) -> Stated:
        noise = self.rules.noise
        proven = EpsilonDelta(noise.proven_epsilon(self.rules.model.contexts), noise.claimed.delta)
        return Stated(CAUTIOUS, None, noise.adjacency, noise.claimed, proven)

    @functools.cached_property
    def shops(self) -> NeighbouringShops:
        """The worst pair under the weights by which most of what is charged can be seen."""
        return worst_shops(self.rules)

    def pair(self) -> tuple[FloatArray, tuple[Shopper, Shopper | None]]:
        """Weights are rows: every number in the two worlds without noise, a unit of its noise, and what is uncovered.

        The last is what no noise explains of the difference: 0 in a sound learner.
        """
        rules, shops, quiet = self.rules, self.shops, np.zeros(1)
        first, second = (played(rules, shops, record, quiet, live=False) for record in (shops.first, shops.other))
        matrix = noise_map(rules, shops.choice, live=False)
        bare = first - second - matrix @ np.linalg.lstsq(matrix, first - second)[0]
        if float(np.linalg.norm(bare)) <= _LEAST * float(np.linalg.norm(first - second)):
            bare = np.zeros(bare.size)
        return np.stack([first, second, np.abs(matrix).sum(axis=1), bare]), (shops.first, shops.other)

    def score(self, weights: FloatArray, released: FloatArray) -> float:
        """The log-likelihood ratio; where no noise covers a part of the difference, that part alone tells."""
        first, second, units, bare = weights
        if bare.any():
            return float(bare @ released)
        drawn = units > 0.0
        scale = np.where(drawn, units, 1.0)
        mine, other = (released - first) / scale, (released - second) / scale
        ratios = np.where(self._gaussian, 0.5 * (other**2 - mine**2), np.abs(other) - np.abs(mine))
        return float(ratios[drawn].sum())

    @functools.cached_property
    def _gaussian(self) -> BoolArray:
        """Which numbers have Gaussian noise."""
        scores, descriptions, earnings = sizes_of(self.rules)
        return np.tile(np.repeat([False, True, False], [scores, descriptions, earnings]), 2)

    def cuts(self, pilot: FloatArray) -> FloatArray:
        """The middle, and where the ratio of an event's likelihoods is read off best: before the ends of its law.

        Half of the time Laplace noise lies on the far side of what the record moved, where the loss is largest, and in
        the other world e^-epsilon times as often.
        """
        ends = 0.25 * (1.0 + math.exp(-self.loss.pure))
        return np.quantile(pilot, (0.5, ends, 1.0 - ends))

    def transcripts(self, world: int) -> MomentTranscripts:
        source = System() if self.live else Tape(self.seed, world)
        return MomentTranscripts(self.rules, self.shops, source)


def release_watches(policies: Sequence[str | Policy | PlainFactory], runs: int, **setting: Any) -> list[PlayedReleases]:
    """A watch for every policy that adds noise to releases; noisy-newton and cautious have one for live noise too."""
    made: list[PlayedReleases] = []
    for policy in dict.fromkeys(policies):
        if policy == CAUTIOUS:
            made += _moment_watches(runs, **setting)
            continue
        name, calibration = parse(policy) if isinstance(policy, str) else (policy, "tight")
        made += watches_of(prepare(name, calibration=calibration, **setting), runs)
    return made


def watches_of(job: Job, runs: int) -> list[PlayedReleases]:
    """The watches of a policy for markets: by kind of noise, or of all releases and of estimates alone."""
    policy = job.policy
    given: dict[str, Any] = {"demand": job.market.demand, "horizon": job.horizon, "seed": job.seed}
    if isinstance(policy, NewtonPolicy) and policy.private:
        return [
            NewtonWatch(policy=policy, runs=_PLAYED["noisy-newton"] * runs, **given),
            NewtonWatch(policy=policy, runs=_PLAYED["noisy-newton live"] * runs, live=True, **given),
        ]
    if isinstance(policy, PaperPolicy) and policy.private:
        return [PaperWatch(policy=policy, runs=_PLAYED["paper"] * runs, part=part, **given) for part in ("", ESTIMATES)]
    return []


def _moment_watches(runs: int, **setting: Any) -> list[PlayedReleases]:
    """The watched runs of policy cautious, on a product of its own, whatever the market is."""
    given: dict[str, Any] = {
        "rules": rules_of(**setting),
        "horizon": setting["horizon"],
        "seed": setting.get("seed", 0),
    }
    return [
        MomentWatch(runs=_PLAYED[CAUTIOUS] * runs, **given),
        MomentWatch(runs=_PLAYED[f"{CAUTIOUS} live"] * runs, live=True, **given),
    ]


def judge_releases(
    watch: PlayedReleases, first: FloatArray, second: FloatArray, *, confidence: float, audits: int
) -> AuditFinding:
    """What the runs refute, with an equal share of the doubt for each audit of the call."""
    cuts, mine, other = watch.split(first, second)
    loss, claimed = watch.loss, watch.stated.claimed
    assert claimed is not None
    delta, pure = claimed.delta, loss is not None and loss.pure > 0.0
    each = 1.0 - (1.0 - confidence) / (2 * audits if pure else audits)
    seen = separation(mine, other, cuts, each)
    floor = seen.epsilon_floor(delta)
    if pure:  # half of the doubt is for events by which a promise at delta 0 is seen as it is
        floor = max(floor, epsilon_floor(mine, other, cuts[-1:], delta, each))
    return AuditFinding(
        **watch.facts(),
        delta=delta,
        epsilon_lower_bound=floor,
        seen=seen,
        proven_mu=watch.mu,
        beaten=loss is not None and (refutes(seen, loss) or seen.both < 1.0 - watch.told),
        confidence=confidence,
        pure=pure,
    )
