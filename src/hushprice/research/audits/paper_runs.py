"""Runs of policy `paper` in the two worlds of its worst pair: covariances and estimates, or estimates alone.

Everything else is public, so an estimate theta tells of the tilt b behind it: inside the ball b = -(gradient of the
record's loss + ridge theta), and theta has density N(b; 0, nu^2 I) det(Hessian); on the sphere that is summed over the
ball's multiplier, which is not released (docs/proofs/objective_perturbation.md, section 1). All other records are
empty, so against no record at all the ratio of densities takes one sum over fixed nodes, and without a record theta is
a known function of b. Hence also the most that noise as it is stated leaves of this pair: the proof allows more, as it
adds lengths where noise has signs, so that alone would not find a fault of a fifth.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from hushprice.demand.protocol import Demand, lowest
from hushprice.policies.paper.policy import PaperPolicy
from hushprice.policies.paper.private.estimate import PrivateMLE
from hushprice.privacy.events import PerturbedEstimate
from hushprice.privacy.loss import Loss, compose, loss_of
from hushprice.privacy.sensitivity import RADIUS
from hushprice.records import Records
from hushprice.research.audits.played_releases import PlayedReleases, Stated
from hushprice.research.audits.trade_off import estimate_of, most_separation, stream_of
from hushprice.research.audits.transcripts import NumberedTape, PaperTranscripts, weights_of, worst_pair_of
from hushprice.research.audits.worst_records import Example, WorstPair
from hushprice.types import FloatArray

ESTIMATES = "estimates"
_NODES = 64  # of the sum over the ball's multiplier
_REACH = 9.0  # deviations of the tilt beyond which nothing is summed
_DRAWN = 400_000  # estimates drawn to say what noise leaves of a pair
_ERRORS = 6.0  # standard errors added to that: wrong once in 1e9
_BLURRED = 8.0  # deviations of its output noise by which an estimate on the sphere may seem to be inside


@dataclass(frozen=True, kw_only=True, eq=False)
class EstimateDensity:
    """How likely an estimate is where one record alone is not empty, against no record at all."""

    event: PerturbedEstimate
    demand: Demand

    def log_ratio(self, thetas: FloatArray, record: Example | None) -> FloatArray:
        """ln of that ratio for every row of `thetas`, (n, d)."""
        if record is None:
            return np.zeros(len(thetas))
        (phi, bought), ridge, variance = record, self.event.ridge, self.event.noise**2
        lengths = np.linalg.norm(thetas, axis=1)
        outside = lengths >= RADIUS - _BLURRED * self.event.output_noise
        held = np.where(outside, RADIUS / np.maximum(lengths, 1e-300), 1.0)[:, None] * thetas
        z, size = held @ phi, float(phi @ phi)
        pulled = self.demand.slope * (self.demand.mean(z) - bought)  # the gradient is this times phi
        bent = self.demand.slope * self.demand.mean_slope(z)  # the Hessian is this times phi phi'
        told = -(pulled**2 * size + 2.0 * ridge * pulled * z) / (2.0 * variance) + np.log1p(bent * size / ridge)
        along = np.maximum(size - (z[outside] / RADIUS) ** 2, 0.0)  # of phi, along the sphere
        nodes, weights = self._multipliers
        summed = np.exp(-np.outer(pulled[outside] * z[outside], nodes) / variance)
        summed *= 1.0 + np.outer(bent[outside] * along, 1.0 / nodes)
        told[outside] = np.log(summed @ weights) - pulled[outside] ** 2 * size / (2.0 * variance)
        return told

    def without_record(self, random: np.random.Generator, count: int) -> FloatArray:
        """Estimates from no record: the tilt over the ridge, the other way, held to the ball."""
        tilts = self.event.noise * random.normal(size=(count, self.event.dimension))
        lengths = np.linalg.norm(tilts, axis=1, keepdims=True)
        return -tilts / np.maximum(self.event.ridge, lengths / RADIUS)

    @functools.cached_property
    def _multipliers(self) -> tuple[FloatArray, FloatArray]:
        """Values of ridge plus multiplier on the sphere, and how likely each is without a record."""
        d, ridge, spread = self.event.dimension, self.event.ridge, self.event.noise / RADIUS
        end = max(ridge, spread * math.sqrt(d)) + _REACH * spread
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        nodes = ridge + 0.5 * (end - ridge) * (nodes + 1.0)
        logs = (d - 1) * np.log(nodes) - 0.5 * (nodes / spread) ** 2
        weights = weights * np.exp(logs - logs.max())
        return nodes, weights / weights.sum()


class PaperReleases:
    """Covariances, unless a part is asked for, and all the estimates that are paid for."""

    def __init__(self, policy: PaperPolicy, demand: Demand, source: NumberedTape, *, part: str = "") -> None:
        event, self._demand, self._source = estimate_of(policy), demand, source
        self._count, self._empty = policy.rules.max_estimates, np.zeros(event.dimension)
        self._covariances = None if part else PaperTranscripts(policy, source)
        self._estimates = PrivateMLE(
            demand=demand, dimension=event.dimension, ridge=event.ridge, source=source, event=event
        )

    def play(self, record: Example | None) -> FloatArray:
        """One run from its start, with noise of its own."""
        released = []
        if self._covariances is None:
            self._source.next()
        else:
            released.append(self._covariances.play(record))
        records = Records(self._empty.size, self._demand.bound, lowest(self._demand))
        records.append(*(record or (self._empty, lowest(self._demand))))
        self._estimates.start = self._empty.copy()
        released += [self._estimates.release(records, n + 1).theta for n in range(self._count)]
        return np.concatenate(released)


@dataclass(frozen=True, kw_only=True, eq=False)
class PaperWatch(PlayedReleases):
    """The private side of policy `paper`, ready to run."""

    policy: PaperPolicy
    demand: Demand

    @functools.cached_property
    def loss(self) -> Loss:
        """What the accountant charges for what is watched."""
        policy = self.policy
        estimates = loss_of(estimate_of(policy), policy.rules.max_estimates, policy.adjacency)
        return estimates if self.part else compose([loss_of(stream_of(policy), 1, policy.adjacency), estimates])

    @property
    def stated(self) -> Stated:
        return Stated.of(self.policy)

    @functools.cached_property
    def told(self) -> float:
        """The most that noise as it is stated leaves of this pair, or what is proven if that is less."""
        density, calls = self._density, self.policy.rules.max_estimates
        runs = max(1000, _DRAWN // calls)
        thetas = density.without_record(np.random.default_rng(self.seed), runs * calls)
        first, second = (
            np.exp(density.log_ratio(thetas, record).reshape(runs, calls).sum(axis=1)) for record in self._worst
        )
        # Its Gaussian part: covariances, and the noise that hides how far the solver stopped.
        seen = 0.5 * (first + second) - _smaller(first, second, math.sqrt(self.loss.mu_squared))
        most = float(seen.mean() + _ERRORS * seen.std() / math.sqrt(runs))
        return min(most, most_separation(self.loss), 1.0)

    @property
    def mu(self) -> float:
        """What the least errors of a test come to that has as many false alarms as misses."""
        return float(-2.0 * ndtri(0.5 * (1.0 - self.told)))

    def pair(self) -> tuple[FloatArray, WorstPair]:
        """Weights of covariances; estimates have a density."""
        return np.zeros(0) if self.part else weights_of(self.policy, self.demand, self._worst), self._worst

    def score(self, weights: FloatArray, released: FloatArray) -> float:
        """The log-likelihood ratio of all that is watched, up to a constant."""
        thetas = released[weights.size :].reshape(-1, self._density.event.dimension)
        first, second = (float(self._density.log_ratio(thetas, record).sum()) for record in self._worst)
        return float(weights @ released[: weights.size]) + first - second

    def transcripts(self, world: int) -> PaperReleases:
        return PaperReleases(self.policy, self.demand, NumberedTape(self.seed, world), part=self.part)

    @functools.cached_property
    def _density(self) -> EstimateDensity:
        return EstimateDensity(event=estimate_of(self.policy), demand=self.demand)

    @functools.cached_property
    def _worst(self) -> WorstPair:
        return worst_pair_of(self.policy, self.demand)


def _smaller(first: FloatArray, second: FloatArray, mu: float) -> FloatArray:
    """The mean over x of the smaller of first N(x; mu, 1) and second N(x; 0, 1), relative to the latter's law."""
    cut = 0.5 * mu + np.log(second / first) / mu
    return first * ndtr(cut - mu) + second * ndtr(-cut)
