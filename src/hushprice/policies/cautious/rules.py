"""Every choice that policy cautious makes before the first customer, from what a shop knows and a budget.

The numbers below were chosen on the worlds of benchmarks/shops/designed.py; docs/lab/shops.md says what each is worth
and shows worlds that had no part in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.policies.cautious import report_noise
from hushprice.policies.cautious.noise import MomentNoise, aggregated, calibrate
from hushprice.policies.cautious.pricing.shop_model import ShopModel
from hushprice.policies.cautious.report_noise import BitNoise
from hushprice.prior import Prior
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.earlier import claimed_after, proven_after
from hushprice.privacy.events import BitReports, EarlierFit, LaplaceBatches, ShuffledBits
from hushprice.settings import TRUST
from hushprice.types import FloatArray

LEVEL = 1.0  # deviations of the first belief: of log-odds at today's price,
ATTRIBUTES = 0.7  # of what an attribute adds to them,
RESPONSE = 1.0  # of the price response, in units of the expected one,
PERSONAL = 0.35  # of what an attribute adds to that
FIRST = 0.3  # of the customers whose purchases are as uncertain as the noise, in the first batch
CENTRAL, LOCAL, SHUFFLE, AGGREGATED = TRUST
MIDDLE = 4.0, 8.0  # of them, in a batch, before batches grow with what is known: at a risk of 2 % or less, and at 1
GROWTH = 0.12, 0.25  # of all slots so far; long batches have less noise, short ones let `risk` be kept to
ROOTS = 50  # times `middle` slots: from there on noise is little, and batches grow with the root of all slots
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
    trust: str = CENTRAL
    bits: BitNoise | None = None  # of devices, where `trust` is local or shuffle: then `noise` is not drawn

    def __post_init__(self) -> None:
        checks.positive(**dict(zip(("level", "attributes", "response", "personal"), self.deviations, strict=True)))
        checks.whole(1, first=self.first, middle=self.middle, horizon=self.horizon)
        checks.positive(growth=self.growth)
        checks.within(0.0, 1.0, risk=self.risk)
        checks.within(0.0, 0.5, holdout=self.holdout)
        checks.one_of(TRUST, trust=self.trust)
        if (self.bits is not None) != (self.drawn and self.trust in (LOCAL, SHUFFLE)):
            raise InvalidInput(f"bits are what devices send where trust is local or shuffle, got {self.trust!r}")
        if self.trust in (LOCAL, SHUFFLE) and self.holdout > 0.0:
            raise InvalidInput(f"holdout must be 0 where trust is {self.trust!r}: earnings leave no device")
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
        return proven_after(self.paid, self.event(live=True), self.noise.claimed, self.noise.adjacency)

    def event(self, *, live: bool) -> LaplaceBatches | BitReports | ShuffledBits:
        """All there will ever be, as one event. Bits are drawn from the same numbers, live or not."""
        if self.bits is not None:
            return self.bits.event()
        event = self.noise.event(self.model.contexts, live=live)
        return aggregated(event) if self.trust == AGGREGATED else event

    def score_noise(self, choice: int, slots: int) -> FloatArray:
        """The deviations of the entries of the score of a batch of so many slots, as drawn."""
        if self.bits is not None:
            return self.bits.deviations(self.model, choice, slots)
        return self._times * self.noise.of_score(self.model.contexts, choice)

    def released_noise(self, choice: int) -> FloatArray:
        """What is drawn when a batch is released: by one aggregator, where there are two. Bits have theirs already."""
        return float(self.drawn and self.bits is None) * self.noise.of_score(self.model.contexts, choice)

    def noise_of_slots(self, choice: int) -> FloatArray | None:
        """The deviations that each slot adds by itself, where reports have noise of their own and batches none."""
        if self.bits is None or self.trust != LOCAL:
            return None
        return self.bits.deviations(self.model, choice, 1)

    @property
    def description_noise(self) -> float | None:
        """The deviation of an entry of descriptions, as drawn; None where nothing is said of customers."""
        return None if self.bits is not None else self._times * self.noise.description

    @property
    def earned_scales(self) -> tuple[float, float]:
        """Laplace scales of what the holdout earned, and the others, as drawn.

        Of two aggregators' noise those of one number with the same variance: its moments are no smaller.
        """
        times = 0.0 if self.bits is not None else self._times
        return times * self.noise.earned[0], times * self.noise.earned[1]

    @property
    def laplace(self) -> float:
        """How far a score's noise is read as the Laplace noise it is, not as normal noise: from not at all to 1.

        Not where little may be lost: who is sooner sure tosses fewer coins, and coins show that demand has changed.
        What devices send, or two draws, add up to is nearer to normal noise.
        """
        return _between((0.0, 1.0), self.risk) if self.drawn and self.trust == CENTRAL else 0.0

    @property
    def _times(self) -> float:
        """How many times the noise of one release there is: two aggregators each add all of it."""
        return (math.sqrt(2.0) if self.trust == AGGREGATED else 1.0) if self.drawn else 0.0

    def next_count(self, slots: int) -> int:
        """How many slots the batch after these should have, if that is safe."""
        growing = min(float(slots), math.sqrt(ROOTS * self.middle * slots))
        return max(self.first, min(slots, self.middle), int(self.growth * growing))

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
    trust: str = CENTRAL,
) -> CautiousRules:
    """The rules for a budget and a product; `response_doubt` replaces RESPONSE where a shop knows better."""
    checks.one_of(TRUST, trust=trust)
    conversion = model.conversion
    if not 1e-6 <= conversion <= 1.0 - 1e-6:
        raise InvalidInput(f"conversion must lie between 0.000001 and 0.999999, got {conversion!r}")
    if drawn and trust in (LOCAL, SHUFFLE):
        model = replace(model, narrow=True)
    noise = calibrate(claimed, contexts=model.contexts, least=model.least, most=model.most, adjacency=adjacency)
    bits = _bits(trust, claimed, model, horizon) if drawn else None
    first, middle = _lengths(trust, noise, bits, model, risk) if drawn else (SHORTEST, SHORTEST)
    doubt = RESPONSE if response_doubt is None else response_doubt
    return CautiousRules(
        model=model,
        noise=noise,
        deviations=(LEVEL, ATTRIBUTES, doubt * model.response, PERSONAL * model.response),
        first=first,
        middle=middle,
        growth=_between(GROWTH, risk) if drawn else GROWTH[0],  # without noise nothing is gained by long batches
        risk=risk,
        horizon=horizon,
        holdout=holdout,
        drawn=drawn,
        prior=prior,
        trust=trust,
        bits=bits,
    )


def _bits(trust: str, claimed: EpsilonDelta, model: ShopModel, horizon: int) -> BitNoise | None:
    """What devices send, if they send bits."""
    if trust == LOCAL:
        return report_noise.local(claimed)
    if trust != SHUFFLE:
        return None
    first = min(FIRST * _uncertain(report_noise.typical(claimed, model), model), 0.5 * horizon)
    shortest = max(SHORTEST, math.ceil(report_noise.PRESENT * 0.5 * first))
    return report_noise.shuffled(claimed, shortest, max(shortest, horizon))


def _lengths(trust: str, noise: MomentNoise, bits: BitNoise | None, model: ShopModel, risk: float) -> tuple[int, int]:
    """Slots in the first batch, and in one before batches grow with what is known."""
    if trust == LOCAL and bits is not None:  # as without noise, with as many customers as tell as much
        each = bits.deviations(model, 0, 2)[0] ** 2
        tells = math.ceil(SHORTEST * (1.0 + _uncertain(0.5 * each, model)))
        return tells, tells
    variance = 2.0 * noise.scales(0)[0] ** 2 * (2.0 if trust == AGGREGATED else 1.0)
    if bits is not None:
        first = round(2.0 * bits.steps[0][0] / report_noise.PRESENT)
        variance = bits.deviations(model, 0, first)[0] ** 2
    uncertain = _uncertain(variance, model)
    return max(SHORTEST, math.ceil(FIRST * uncertain)), max(SHORTEST, math.ceil(_between(MIDDLE, risk) * uncertain))


def _uncertain(variance: float, model: ShopModel) -> float:
    """Customers whose purchases are as uncertain as noise of this variance on each of two sides."""
    return 2.0 * variance / (model.conversion * (1.0 - model.conversion))


def _between(ends: tuple[float, float], risk: float) -> float:
    return ends[0] + max(risk - 0.02, 0.0) / 0.98 * (ends[1] - ends[0])


def without_noise(rules: CautiousRules) -> CautiousRules:
    """These rules with no noise drawn: what privacy costs is the difference. Claims nothing."""
    return replace(rules, drawn=False, bits=None)
