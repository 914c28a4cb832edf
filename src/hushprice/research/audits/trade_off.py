"""How well a test tells two worlds apart, as a mu of Gaussian differential privacy.

A test has two ways to be wrong: a false alarm (share a) and a miss (share b). Whatever is mu-GDP allows no test with
Phi^-1(1 - a) - Phi^-1(b) > mu (Dong, Roth and Su 2022, definition 3). So upper bounds on a and b are a lower bound on
mu, whatever the shape of the noise. That matters at a delta of 1e-10: no number of runs shows epsilon there, while mu
is seen in the middle of the two laws. Epsilon at a delta follows from mu under a *shape*: that of Gaussian noise, which
noisy-newton's proof is about. Where a proof is about another shape, its whole curve is held against a and b. A promise
at delta 0, such as Laplace noise gives, is seen as it is: as the ratio of how likely an event is in the two worlds.

At the middle cut a + b is bounded at once, which is sharper: a + b >= 2 Phi(-mu/2) for every test. The errors of both
worlds are coins of two kinds. Their number stays 1 or more below its mean no more often than with equal coins of the
same mean (Hoeffding, "On the distribution of the number of successes in independent trials", 1956), so Clopper and
Pearson's upper end, made for equal coins, holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtri

from hushprice.policies.newton.policy import NewtonPolicy
from hushprice.policies.paper.noise import events
from hushprice.policies.paper.policy import PaperPolicy
from hushprice.policies.protocol import Policy
from hushprice.privacy import accountant, gaussian
from hushprice.privacy.events import CovarianceStream, NotPrivate, PerturbedEstimate
from hushprice.privacy.loss import Loss, compose, loss_of
from hushprice.research.audits.intervals import clopper_pearson
from hushprice.types import FloatArray

_LEVELS = (0.5, 0.01, 0.1, 0.9, 0.99)  # of the pilot's scores: the middle one tells most about noise, tails about leaks
_DELTAS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 1e-3, 1e-4, 1e-6)  # at which a curve that is not Gaussian is looked up
_MIDDLE = 0.8  # of the doubt goes to the first cut
_SLACK = 1e-9  # of computing mu in floating point


@dataclass(frozen=True, slots=True)
class Separation:
    """What a test showed: a mu with its interval, and upper bounds on its false alarms and misses."""

    mu: float  # at the first cut
    low: float  # the largest over all cuts: no smaller mu explains what was seen
    high: float  # of this test at the first cut; a cleverer one may show more
    both: float  # an upper bound on false alarms plus misses at the first cut
    errors: tuple[tuple[float, float], ...]  # of each, at the other cuts

    @property
    def mu_floor(self) -> float:
        """The lower bound on mu; 0 where nothing was seen."""
        return max(0.0, self.low)

    def epsilon_floor(self, delta: float) -> float:
        """The largest epsilon that is refuted at delta whatever the shape; 0 where none is."""
        pairs = [(0.5 * self.both, 0.5 * self.both), *self.errors]
        surely = ((1.0 - delta - one, other) for alarm, miss in pairs for one, other in ((alarm, miss), (miss, alarm)))
        return max((math.log(most / least) for most, least in surely if most > least > 0.0), default=0.0)

    def epsilon_at(self, delta: float) -> float:
        """What Gaussian noise of the lower bound's mu costs at delta."""
        return gaussian.epsilon_of(delta, min(self.mu_floor, 1e3))

    @property
    def pure_epsilon(self) -> float:
        """The least epsilon at delta 0 that allows the lower bound's mu: `loss.mu_of_pure` turned round."""
        half = 0.5 * self.mu_floor
        return float(log_ndtr(half) - log_ndtr(-half))


def cuts_of(pilot: FloatArray) -> FloatArray:
    """Where to cut, from scores that are not judged: the middle first, then the tails."""
    return np.quantile(pilot, _LEVELS)


def separation(first: FloatArray, second: FloatArray, cuts: FloatArray, confidence: float) -> Separation:
    """Scores of both worlds at cuts fixed beforehand; above a cut says "first world". The first cut is the middle.

    >>> draws = np.random.default_rng(0).normal(size=(2, 20_000))
    >>> seen = separation(draws[0] + 1.0, draws[1], np.array([0.5]), 0.99)
    >>> 0.9 < seen.low < seen.mu < seen.high < 1.1
    True
    """
    doubt = 1.0 - confidence
    middle = _MIDDLE if cuts.size > 1 else 1.0
    alarms, misses = _errors(first, second, float(cuts[0]))
    runs = first.size + second.size
    both_ends = max(1e-9, 1.0 - 2.0 * middle * doubt)  # one end alone is relied on
    low, high = clopper_pearson(alarms + misses, runs, both_ends)
    floor, bounds = _mu(high, high), list[tuple[float, float]]()
    for cut in cuts[1:]:
        alarms_there, misses_there = _errors(first, second, float(cut))
        one = 1.0 - (1.0 - middle) * doubt / (cuts.size - 1)
        alarm = clopper_pearson(alarms_there, second.size, one)[1]
        miss = clopper_pearson(misses_there, first.size, one)[1]
        bounds.append((alarm, miss))
        floor = max(floor, _mu(alarm, miss))
    share = (alarms + misses) / runs
    return Separation(_mu(share, share), floor, _mu(low, low), 2.0 * high, tuple(bounds))


def _errors(first: FloatArray, second: FloatArray, cut: float) -> tuple[int, int]:
    """False alarms and misses."""
    return int((second > cut).sum()), int((first <= cut).sum())


def promised_loss(policy: object, *, live: bool) -> Loss | None:
    """What the accountant charges for all releases of a policy; None where it proves nothing."""
    if not isinstance(policy, Policy) or not policy.private or policy.basis is None:
        return None
    if isinstance(policy, NewtonPolicy):
        return loss_of(policy.rules.noise.event(policy.basis.dimension, live=live), 1, policy.adjacency)
    if isinstance(policy, PaperPolicy):
        stream, estimate = _events(policy, live=live)
        counts = (stream, 1), (estimate, policy.rules.max_estimates)
        return compose(loss_of(event, count, policy.adjacency) for event, count in counts)
    return None


def stream_of(policy: PaperPolicy) -> CovarianceStream:
    """The covariance stream of a policy that claims something, with ideal noise."""
    stream = _events(policy, live=False)[0]
    assert isinstance(stream, CovarianceStream)
    return stream


def estimate_of(policy: PaperPolicy) -> PerturbedEstimate:
    """One estimate of a policy that claims something, with ideal noise."""
    estimate = _events(policy, live=False)[1]
    assert isinstance(estimate, PerturbedEstimate)
    return estimate


def _events(policy: PaperPolicy, *, live: bool) -> tuple[CovarianceStream | NotPrivate, PerturbedEstimate | NotPrivate]:
    assert policy.horizon is not None  # a policy that claims something has one
    assert policy.basis is not None
    basis = policy.basis
    return events(policy.noise, horizon=policy.horizon, dimension=basis.dimension, losses=basis.losses, live=live)


def refutes(seen: Separation, loss: Loss) -> bool:
    """Did a test do what this loss allows no test to do? It holds with the confidence of `seen`."""
    if loss.unbounded:
        return False
    if not loss.radials and seen.low > loss.mu * (1.0 + _SLACK):
        return True
    if not loss.radials and loss.pure == 0.0:
        return False  # mu says all there is to say about a Gaussian curve
    for delta in _DELTAS:
        factor = math.exp(min(accountant.epsilon_of(loss, delta), 700.0))
        if (1.0 + factor) * seen.both < 2.0 * (1.0 - delta):  # the sum of both inequalities below
            return True
        for alarm, miss in seen.errors:  # (epsilon, delta) asks for a + e^eps b >= 1 - delta, and the other way round
            if min(alarm + factor * miss, miss + factor * alarm) < 1.0 - delta:
                return True
    return False


def most_separation(loss: Loss) -> float:
    """The most that any test's shares of right and wrong can be apart: delta at epsilon 0, or a bound on it."""
    if loss.unbounded:
        return 1.0
    if not loss.radials:
        return gaussian.delta_of(0.0, loss.mu)
    gained = (
        (math.expm1(epsilon) + 2.0 * delta) / (math.exp(epsilon) + 1.0)
        for delta in _DELTAS
        if (epsilon := accountant.epsilon_of(loss, delta)) < 700.0
    )
    return min(1.0, *gained, 1.0)


def _mu(alarm: float, miss: float) -> float:
    """Phi^-1(1 - a) - Phi^-1(b). Minus infinity where either bound says nothing."""
    return -math.inf if max(alarm, miss) >= 1.0 else float(-ndtri(alarm) - ndtri(miss))
