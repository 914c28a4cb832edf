"""The least noise with which batches of moments cost a budget exactly (policy cautious).

Each record enters one batch, so what it costs does not depend on the number of batches: noise depends neither on how
many there are nor on the horizon. Few numbers are released of a batch, and for few numbers Laplace noise, which has a
finite epsilon at delta 0, is several times smaller than Gaussian noise at the same epsilon and a delta of use. Only
descriptions of customers, which are many numbers, have Gaussian noise.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, fields

import numpy as np

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.policies.cautious.pricing import instruments, population
from hushprice.privacy import accountant, gaussian, sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.earlier import claimed_after, entries_after
from hushprice.privacy.events import AggregatedBatches, EarlierFit, Event, LaplaceBatches, NotPrivate
from hushprice.privacy.ledger import Entry, Ledger
from hushprice.privacy.loss import loss_of
from hushprice.types import FloatArray

_LEAST = 1e-6  # of epsilon: noise is then a million purchases
_MARGIN = 1e-8  # of epsilon, left over so that another machine's last digits never make a sound policy pass its claim
# Of epsilon. Chosen on the worlds of benchmarks/shops/designed.py (docs/lab/shops.md).
DESCRIPTION_SHARE = 0.1
EARNINGS_SHARE = 0.04


@dataclass(frozen=True, kw_only=True, slots=True)
class MomentNoise:
    """What is added to the three sums of a batch. A residual is h - y with h in [least, most]."""

    score: float  # epsilon of a batch's score
    description: float  # standard deviation of an entry
    earnings: float  # scale of Laplace noise
    least: float
    most: float
    adjacency: Adjacency
    claimed: EpsilonDelta
    holdout: float | None = None  # the holdout's own; None, as in files of before: `earnings`

    def __post_init__(self) -> None:
        checks.positive(score=self.score, description=self.description, earnings=self.earnings)
        if self.holdout is not None:
            checks.positive(holdout=self.holdout)
            least = 1.0 / (self.score + 1.0 / self.earnings)  # for which somebody there pays what others pay
            checks.at_least(least * (1.0 - _MARGIN), holdout=self.holdout)
        checks.within(0.0, 1.0, least=self.least)
        checks.within(self.least, 1.0, most=self.most)

    def scales(self, choice: int) -> tuple[float, float]:
        """The Laplace scales of a score with this choice: of residuals, and of residuals times attributes.

        Each of the two corners of `sensitivity.of_sides` costs at most `score`, the first just that: the choice's share
        is what attributes take of it. Infinite where attributes are left out.
        """
        share = instruments.SHARES[choice]
        alike = sensitivity.of_sides(self.least, self.most, (1.0, 0.0), self.adjacency)
        different = sensitivity.of_sides(self.least, self.most, (0.0, 1.0), self.adjacency)
        personal = min(share / alike, 1.0 / different)
        common = 1.0 / alike - personal
        return 1.0 / (self.score * common), 1.0 / (self.score * personal) if personal > 0.0 else math.inf

    def of_score(self, contexts: int, choice: int) -> FloatArray:
        """Deviations of the entries of a score with this choice; 0 for those that are left out."""
        scales = np.where(instruments.is_common(contexts), *self.scales(choice))
        deviations, used = np.zeros(scales.size), instruments.used_entries(contexts, choice)
        deviations[used] = math.sqrt(2.0) * scales[used]
        return deviations

    @property
    def earned(self) -> tuple[float, float]:
        """The Laplace scales of what the holdout earned, and the others."""
        return self.earnings if self.holdout is None else self.holdout, self.earnings

    def event(self, contexts: int, *, live: bool) -> LaplaceBatches:
        """All batches there will ever be, as one event."""
        return LaplaceBatches(
            contexts=contexts,
            least=self.least,
            most=self.most,
            scales=tuple(self.scales(choice) for choice in range(len(instruments.SHARES))),
            descriptions=population.entries(contexts),
            description_noise=self.description,
            earnings_scale=self.earnings,
            live=live,
            holdout_scale=self.holdout,
        )

    def proven_epsilon(self, contexts: int) -> float:
        """What this noise proves at the claim's delta, drawn live."""
        return accountant.epsilon_of(loss_of(self.event(contexts, live=True), 1, self.adjacency), self.claimed.delta)


def open_ledger(noise: MomentNoise, event: Event, paid: EarlierFit | None = None) -> Ledger:
    """A ledger that allows all batches, once, and nothing else; what was paid before the first price is spent."""
    claimed = None if isinstance(event, NotPrivate) else claimed_after(paid, noise.claimed)
    spent = entries_after(paid)
    return Ledger(adjacency=noise.adjacency, claimed=claimed, allowance=(*spent, Entry(event, 1)), spent=spent)


def aggregated(event: LaplaceBatches) -> AggregatedBatches:
    """The event of two aggregators that each add this noise."""
    return AggregatedBatches(**{field.name: getattr(event, field.name) for field in fields(event)})


@functools.lru_cache(maxsize=256)
def calibrate(claimed: EpsilonDelta, *, contexts: int, least: float, most: float, adjacency: Adjacency) -> MomentNoise:
    """The least noise, up to rounding, whose event costs at most the claim.

    >>> claimed = EpsilonDelta(1.0, 2e-10)
    >>> noise = calibrate(claimed, contexts=9, least=0.01, most=0.06, adjacency=Adjacency.REPLACE_ONE)
    >>> [round(each, 2) for each in noise.scales(2)], round(noise.proven_epsilon(9), 6)
    ([2.44, 2.44], 1.0)
    """
    checks.positive(epsilon=claimed.epsilon)
    checks.probability(delta=claimed.delta)
    budget = f"epsilon {claimed.epsilon!r} at delta {claimed.delta!r}"
    epsilon = claimed.epsilon * (1.0 - _MARGIN)
    if not epsilon >= _LEAST:
        raise InvalidInput(f"{budget} is too small to learn anything from a million customers")
    try:
        mu = gaussian.mu_of(DESCRIPTION_SHARE * epsilon, claimed.delta)
    except InvalidInput:
        raise InvalidInput(f"{budget} is out of reach") from None

    def noise(score: float) -> MomentNoise:
        return MomentNoise(
            score=score,
            description=sensitivity.of_covariance(adjacency) / mu,
            earnings=1.0 / (EARNINGS_SHARE * epsilon),
            # Somebody in the holdout is in no score, and pays for the holdout's earnings what others pay for both.
            holdout=1.0 / (score + EARNINGS_SHARE * epsilon),
            least=least,
            most=most,
            adjacency=adjacency,
            claimed=claimed,
        )

    # The accountant says what is left for the score: it charges for rounding too, and nothing for no descriptions.
    score = epsilon * (1.0 - EARNINGS_SHARE)
    while (excess := noise(score).proven_epsilon(contexts) - epsilon) > 0.0:
        score -= excess + 1e-12 * epsilon
        checks.positive(score=score)
    return noise(score)
