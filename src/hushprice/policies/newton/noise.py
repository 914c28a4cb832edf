"""The least noise with which batches of scores and curvatures cost a budget exactly (policy noisy-newton).

Both releases are Gaussian and each record enters one batch, so what a record costs is one mu^2, whatever the number of
batches: the noise depends neither on how many there are nor on the horizon.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.privacy import accountant, sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import Batches, NotPrivate
from hushprice.privacy.ledger import Entry, Ledger
from hushprice.privacy.loss import loss_of
from hushprice.privacy.roots import brentq
from hushprice.privacy.streams import Toeplitz, toeplitz

_MARGIN = 1e-8  # of epsilon, left over so that another machine's last digits never make a sound policy pass its claim
# Of the mu^2 that the largest change of a score and the largest of a curvature would cost if some record made both. It
# fixes the ratio of the two noises; how large they are, the accountant says. Chosen on random markets
# (docs/lab/noisy_newton.md).
CURVATURE_SHARE = 0.25


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchNoise:
    """What is added to the sums of a batch. Scores have length at most 1, curvatures norm at most 1."""

    score: float  # standard deviation of an entry of a batch's score
    curvature: float  # of an entry of a batch's curvature, per unit of its strategy's longest column
    levels: int  # a batch has at most 2^levels blocks
    claimed: EpsilonDelta

    def __post_init__(self) -> None:
        checks.positive(score=self.score, curvature=self.curvature)
        checks.whole(0, levels=self.levels)

    def event(self, dimension: int, *, live: bool) -> Batches:
        """All batches there will ever be, as one event."""
        return Batches(
            dimension=dimension,
            score_noise=self.score,
            curvature_noise=self.curvature,
            levels=self.levels,
            live=live,
        )

    def proven_epsilon(self, dimension: int, adjacency: Adjacency) -> float:
        """What this noise proves at the claim's delta, drawn live."""
        return accountant.epsilon_of(loss_of(self.event(dimension, live=True), 1, adjacency), self.claimed.delta)


@functools.lru_cache(maxsize=64)
def strategy(level: int) -> Toeplitz:
    """How the curvature of a batch with up to 2^level blocks is arranged."""
    return toeplitz(2**level + 1)


def column_norm(level: int) -> float:
    """The longest column of that strategy, which the curvature's noise is in units of."""
    return strategy(level).column_norm(2**level)


def open_ledger(noise: BatchNoise, event: Batches | NotPrivate, adjacency: Adjacency) -> Ledger:
    """An empty ledger that allows all batches, once, and nothing else."""
    claimed = noise.claimed if isinstance(event, Batches) else None
    return Ledger(adjacency=adjacency, claimed=claimed, allowance=(Entry(event, 1),))


@functools.lru_cache(maxsize=256)
def calibrate(claimed: EpsilonDelta, *, dimension: int, levels: int, adjacency: Adjacency) -> BatchNoise:
    """The least noise, up to rounding, whose event costs at most the claim.

    >>> noise = calibrate(EpsilonDelta(1.0, 2e-10), dimension=2, levels=10, adjacency=Adjacency.REPLACE_ONE)
    >>> round(noise.score, 2), round(noise.proven_epsilon(2, Adjacency.REPLACE_ONE), 6)
    (12.44, 1.0)
    """
    checks.positive(epsilon=claimed.epsilon)
    checks.probability(delta=claimed.delta)
    change, _ = sensitivity.of_gradients(1.0, 2.0, adjacency)

    def noise(apart: float) -> BatchNoise:
        return BatchNoise(
            score=change / (apart * math.sqrt(1.0 - CURVATURE_SHARE)),
            curvature=sensitivity.of_covariance(adjacency) / (apart * math.sqrt(CURVATURE_SHARE)),
            levels=levels,
            claimed=claimed,
        )

    def excess(log_apart: float) -> float:
        epsilon = noise(math.exp(log_apart)).proven_epsilon(dimension, adjacency)
        return math.log(max(epsilon, 1e-300) / (claimed.epsilon * (1.0 - _MARGIN)))

    low, high = math.log(1e-6), math.log(100.0)
    budget = f"epsilon {claimed.epsilon!r} at delta {claimed.delta!r}"
    if not excess(low) < 0.0:  # the first release would come after 2.7 million customers
        raise InvalidInput(f"{budget} is too small to learn anything from a million customers")
    if not excess(high) > 0.0:
        raise InvalidInput(f"{budget} is out of reach")
    root = brentq(excess, low, high, xtol=1e-12, rtol=1e-12)
    while excess(root) > 0.0:  # errors are made to fall on the private side
        root -= 1e-10
    return noise(math.exp(root))
