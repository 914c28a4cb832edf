"""The least noise with which batches of moments cost a budget exactly (policy cautious).

Every release is Gaussian and each record enters one batch, so what a record costs is one mu^2, whatever the number of
batches: the noise depends neither on how many there are nor on the horizon.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.policies.cautious.pricing import instruments, population
from hushprice.privacy import accountant, sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.earlier import claimed_after, entries_after
from hushprice.privacy.events import EarlierFit, MomentBatches, NotPrivate
from hushprice.privacy.ledger import Entry, Ledger
from hushprice.privacy.loss import loss_of
from hushprice.privacy.roots import brentq

_MARGIN = 1e-8  # of epsilon, left over so that another machine's last digits never make a sound policy pass its claim
# Of the mu^2 that a record may cost. Chosen on the worlds of benchmarks/shops/designed.py (docs/lab/shops.md).
DESCRIPTION_SHARE = 0.07
EARNINGS_SHARE = 0.02


@dataclass(frozen=True, kw_only=True, slots=True)
class MomentNoise:
    """What is added to the three sums of a batch."""

    score: float  # per unit of what one record can move a score by
    description: float  # standard deviation of an entry
    earnings: float
    largest: float  # residual above 0
    adjacency: Adjacency
    claimed: EpsilonDelta

    def __post_init__(self) -> None:
        checks.positive(score=self.score, description=self.description, earnings=self.earnings)
        checks.within(0.0, 1.0, largest=self.largest)

    def of_score(self, choice: int) -> float:
        """The deviation of an entry of a score with this choice of weights."""
        return self.score * sensitivity.of_moments(self.largest, instruments.own_share(choice), self.adjacency)

    def event(self, contexts: int, *, live: bool) -> MomentBatches:
        """All batches there will ever be, as one event."""
        return MomentBatches(
            scores=instruments.entries(contexts),
            descriptions=population.entries(contexts),
            largest=self.largest,
            own=tuple(instruments.own_share(choice) for choice in range(len(instruments.WEIGHTS))),
            noise=self.score,
            description_noise=self.description,
            earnings_noise=self.earnings,
            live=live,
        )

    def proven_epsilon(self, contexts: int) -> float:
        """What this noise proves at the claim's delta, drawn live."""
        return accountant.epsilon_of(loss_of(self.event(contexts, live=True), 1, self.adjacency), self.claimed.delta)


def open_ledger(noise: MomentNoise, event: MomentBatches | NotPrivate, paid: EarlierFit | None = None) -> Ledger:
    """A ledger that allows all batches, once, and nothing else; what was paid before the first price is spent."""
    claimed = claimed_after(paid, noise.claimed) if isinstance(event, MomentBatches) else None
    spent = entries_after(paid)
    return Ledger(adjacency=noise.adjacency, claimed=claimed, allowance=(*spent, Entry(event, 1)), spent=spent)


@functools.lru_cache(maxsize=256)
def calibrate(claimed: EpsilonDelta, *, contexts: int, largest: float, adjacency: Adjacency) -> MomentNoise:
    """The least noise, up to rounding, whose event costs at most the claim.

    >>> noise = calibrate(EpsilonDelta(1.0, 2e-10), contexts=9, largest=0.1, adjacency=Adjacency.REPLACE_ONE)
    >>> round(noise.of_score(0), 2), round(noise.proven_epsilon(9), 6)
    (6.64, 1.0)
    """
    checks.positive(epsilon=claimed.epsilon)
    checks.probability(delta=claimed.delta)

    def noise(mu: float) -> MomentNoise:
        return MomentNoise(
            score=1.0 / (mu * math.sqrt(1.0 - DESCRIPTION_SHARE - EARNINGS_SHARE)),
            description=sensitivity.of_covariance(adjacency) / (mu * math.sqrt(DESCRIPTION_SHARE)),
            earnings=1.0 / (mu * math.sqrt(EARNINGS_SHARE)),
            largest=largest,
            adjacency=adjacency,
            claimed=claimed,
        )

    def excess(log_mu: float) -> float:
        epsilon = noise(math.exp(log_mu)).proven_epsilon(contexts)
        return math.log(max(epsilon, 1e-300) / (claimed.epsilon * (1.0 - _MARGIN)))

    low, high = math.log(1e-6), math.log(100.0)
    budget = f"epsilon {claimed.epsilon!r} at delta {claimed.delta!r}"
    if not excess(low) < 0.0:
        raise InvalidInput(f"{budget} is too small to learn anything from a million customers")
    if not excess(high) > 0.0:
        raise InvalidInput(f"{budget} is out of reach")
    root = brentq(excess, low, high, xtol=1e-12, rtol=1e-12)
    while excess(root) > 0.0:  # errors are made to fall on the private side
        root -= 1e-10
    return noise(math.exp(root))
