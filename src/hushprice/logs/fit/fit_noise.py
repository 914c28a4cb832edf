"""The least noise with which a fit costs a budget exactly, and how the budget is shared among its passes."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.privacy import accountant
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.certificates.fit_facts import entries
from hushprice.privacy.events import LogFit
from hushprice.privacy.loss import loss_of
from hushprice.privacy.roots import brentq

# Of the mu^2 that a unit may cost; the same whatever the log holds. Chosen on the logs of docs/lab/logs.md.
DESCRIPTION_SHARES = (0.04, 0.08)
SCORE_SHARES = (0.13, 0.18, 0.21, 0.36)
_MARGIN = 1e-8  # of epsilon, left over so that another machine's last digits never make a sound fit pass its claim


@dataclass(frozen=True, kw_only=True, slots=True)
class FitNoise:
    """The event of a fit, and the budget that it was made for."""

    event: LogFit
    claimed: EpsilonDelta
    adjacency: Adjacency = Adjacency.REPLACE_ONE

    @property
    def proven(self) -> EpsilonDelta:
        """What this noise proves at the claim's delta."""
        loss = loss_of(self.event, 1, self.adjacency)
        return EpsilonDelta(accountant.epsilon_of(loss, self.claimed.delta), self.claimed.delta)


@functools.lru_cache(maxsize=64)
def calibrate_fit(claimed: EpsilonDelta, *, contexts: int, rows: int, live: bool) -> FitNoise:
    """The least noise, up to rounding, whose event costs at most the claim.

    >>> noise = calibrate_fit(EpsilonDelta(1.0, 1e-6), contexts=3, rows=1, live=True)
    >>> round(noise.event.score_noise[-1], 2), round(noise.proven.epsilon, 6)
    (7.04, 1.0)
    """
    checks.positive(epsilon=claimed.epsilon)
    checks.probability(delta=claimed.delta)

    descriptions, scores = entries(contexts)

    def noise(log_mu: float) -> FitNoise:
        mu = math.exp(log_mu)
        event = LogFit(
            descriptions=descriptions,
            scores=scores,
            description_noise=tuple(1.0 / (mu * math.sqrt(share)) for share in DESCRIPTION_SHARES),
            score_noise=tuple(1.0 / (mu * math.sqrt(share)) for share in SCORE_SHARES),
            rows=rows,
            live=live,
        )
        return FitNoise(event=event, claimed=claimed)

    def excess(log_mu: float) -> float:
        return math.log(max(noise(log_mu).proven.epsilon, 1e-300) / (claimed.epsilon * (1.0 - _MARGIN)))

    low, high = math.log(1e-6), math.log(100.0)
    budget = f"epsilon {claimed.epsilon!r} at delta {claimed.delta!r}"
    if not excess(low) < 0.0:
        raise InvalidInput(f"{budget} is too small to learn anything from a log")
    if not excess(high) > 0.0:
        raise InvalidInput(f"{budget} is out of reach")
    root = brentq(excess, low, high, xtol=1e-12, rtol=1e-12)
    while excess(root) > 0.0:  # errors are made to fall on the private side
        root -= 1e-10
    return noise(root)
