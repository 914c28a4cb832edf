"""Every choice that policy cautious makes before the first customer, from what a shop knows and a budget.

The numbers below were chosen on the worlds of benchmarks/shops/designed.py; docs/lab/shops.md says what each is worth
and shows worlds that had no part in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.policies.cautious.noise import MomentNoise, calibrate
from hushprice.policies.cautious.pricing.shop_model import ShopModel
from hushprice.prior import Prior
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.earlier import claimed_after, proven_after
from hushprice.privacy.events import EarlierFit
from hushprice.types import FloatArray

LEVEL = 1.0  # deviations of the first belief: of log-odds at today's price,
ATTRIBUTES = 0.7  # of what an attribute adds to them,
RESPONSE = 1.0  # of the price response, in units of the expected one,
PERSONAL = 0.35  # of what an attribute adds to that
FIRST = 0.3  # of the customers whose purchases are as uncertain as the noise, in the first batch
MIDDLE = 4.0  # of them, in a batch, before batches grow with what is known
GROWTH = 0.12  # of all slots so far
SHORTEST = 48  # slots in the first batch


@dataclass(frozen=True, kw_only=True, slots=True)
class CautiousRules:
    """Every choice, before the first customer."""

    model: ShopModel
    noise: MomentNoise
    deviations: tuple[float, float, float, float]  # of the first belief: level, attributes, response, personal
    first: int  # slots in the first batch
    middle: int  # slots in a batch, once as many have passed
    growth: float
    risk: float
    horizon: int
    holdout: float = 0.0  # share of slots, by a coin, that are charged today's price
    drawn: bool = True  # False: all noise is left out, for study, and nothing is claimed
    prior: Prior | None = None  # what a log says, in the model's numbers

    def __post_init__(self) -> None:
        checks.positive(**dict(zip(("level", "attributes", "response", "personal"), self.deviations, strict=True)))
        checks.whole(1, first=self.first, middle=self.middle, horizon=self.horizon)
        checks.positive(growth=self.growth)
        checks.within(0.0, 1.0, risk=self.risk)
        checks.within(0.0, 0.5, holdout=self.holdout)
        if self.prior is not None:
            self._check_prior(self.prior)

    def _check_prior(self, prior: Prior) -> None:
        if prior.contexts != self.model.contexts:
            raise InvalidInput(f"prior must be about {self.model.contexts} contexts, got {prior.contexts}")
        if (prior.level, prior.response) != (self.model.level, self.model.response):
            raise InvalidInput(f"prior must be in the model's numbers, got level {prior.level}, {prior.response}")
        if prior.paid is not None and prior.adjacency is not self.noise.adjacency:
            neighbours = f"{self.noise.adjacency.value}, got {prior.adjacency.value}"
            raise InvalidInput(f"prior.adjacency must be the product's where the same people are in both, {neighbours}")

    @property
    def paid(self) -> EarlierFit | None:
        """What customers may have paid before the first price."""
        return None if self.prior is None else self.prior.paid

    @property
    def claimed(self) -> EpsilonDelta:
        """What all of it costs a customer, at most: the noise's claim, and what was paid before."""
        return claimed_after(self.paid, self.noise.claimed)

    @property
    def proven(self) -> EpsilonDelta:
        """What the accountant gets for it, drawn live."""
        event = self.noise.event(self.model.contexts, live=True)
        return proven_after(self.paid, event, self.noise.claimed, self.noise.adjacency)

    def score_noise(self, choice: int) -> FloatArray:
        """The deviations of the entries of a batch's score, as drawn."""
        deviations = self.noise.of_score(self.model.contexts, choice)
        return deviations if self.drawn else 0.0 * deviations

    def next_count(self, slots: int) -> int:
        """How many slots the batch after these should have, if that is safe."""
        return max(self.first, min(slots, self.middle), int(self.growth * slots))

    def priced(self, slots: int) -> int:
        """How many of so many slots are not in the holdout, on average: the others tell nothing about the rule."""
        return max(1, round((1.0 - self.holdout) * slots))


def cautious(
    claimed: EpsilonDelta,
    *,
    model: ShopModel,
    risk: float,
    horizon: int,
    adjacency: Adjacency = Adjacency.REPLACE_ONE,
    holdout: float = 0.0,
    drawn: bool = True,
    response_doubt: float | None = None,
    prior: Prior | None = None,
) -> CautiousRules:
    """The rules for a budget and a product; `response_doubt` replaces RESPONSE where a shop knows better."""
    conversion = model.conversion
    if not 1e-6 <= conversion <= 1.0 - 1e-6:
        raise InvalidInput(f"conversion must lie between 0.000001 and 0.999999, got {conversion!r}")
    noise = calibrate(claimed, contexts=model.contexts, least=model.least, most=model.most, adjacency=adjacency)
    uncertain = 4.0 * noise.scales(0)[0] ** 2 / (conversion * (1.0 - conversion)) if drawn else 0.0  # of two sides
    doubt = RESPONSE if response_doubt is None else response_doubt
    return CautiousRules(
        model=model,
        noise=noise,
        deviations=(LEVEL, ATTRIBUTES, doubt * model.response, PERSONAL * model.response),
        first=max(SHORTEST, math.ceil(FIRST * uncertain)),
        middle=max(SHORTEST, math.ceil(MIDDLE * uncertain)),
        growth=GROWTH,
        risk=risk,
        horizon=horizon,
        holdout=holdout,
        drawn=drawn,
        prior=prior,
    )


def without_noise(rules: CautiousRules) -> CautiousRules:
    """These rules with no noise drawn: what privacy costs is the difference. Claims nothing."""
    return replace(rules, drawn=False)
