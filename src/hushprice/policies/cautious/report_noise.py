"""How much noise bits from devices have, where the shop is not trusted: the trust models `local` and `shuffle`.

With noise of its own on every report, the noise of a batch grows with the root of its customers: no length of a batch
makes it small beside what purchases leave to chance, as for one sum's noise. With a shuffler fewer bits are turned over
the more there are, and the noise of a batch stays what it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.policies.cautious.pricing import instruments
from hushprice.policies.cautious.pricing.shop_model import ShopModel
from hushprice.privacy import shuffle
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import BitReports, ShuffledBits
from hushprice.trust import bits
from hushprice.types import FloatArray

_MANY = 10_000
_MARGIN = 1e-7  # of epsilon: more than the accountant adds where it searches
_SPARE = 1e-6  # of delta, which other events may need
_FINER = 1.4  # from one number of reports to the next for which bits are turned over less often
PRESENT = 0.9  # of the reports a side is expected to have; where coins fall otherwise, the shuffler adds bits


@dataclass(frozen=True, kw_only=True, slots=True)
class BitNoise:
    """Bits are kept with probabilities that a batch's length decides: pairs (among, keep), in order."""

    steps: tuple[tuple[int, float], ...]
    delta: float | None = None  # what a shuffler's promise is stated at; None: there is none

    def event(self) -> BitReports | ShuffledBits:
        """All reports there will ever be, as one event."""
        if self.delta is None:
            return BitReports(keep=self.steps[0][1])
        return ShuffledBits(steps=self.steps, delta=self.delta)

    def step(self, slots: int, choice: int) -> tuple[int, float]:
        """The pair for a batch of so many slots: most reports that a side is expected to have."""
        present = int(PRESENT * _side(slots, choice))
        return max((each for each in self.steps if each[0] <= present), default=self.steps[0])

    def deviations(self, model: ShopModel, choice: int, slots: int) -> FloatArray:
        """Of the entries of a score of a batch of so many slots, of which reports are all that is known."""
        among, keep = self.step(slots, choice)
        side, share = _side(slots, choice), asked_share(model, choice)
        padded = max(0.0, among - side) if self.delta is not None else 0.0
        common, personal = weights(model, choice, keep)
        low, high = common_bounds(model)
        bought, middle = model.conversion, 0.5 * (low + high)
        # What purchases leave to chance is not noise: it is counted where scores are expected.
        chance = bought * (bought - 1.0 - middle) ** 2 + (1.0 - bought) * (bought - middle) ** 2
        of_common = side * ((1.0 - share) * common**2 - chance) + padded * (1.0 - share) * common**2
        of_personal = (side + padded) * share * personal**2 / max(model.contexts, 1)
        variances = np.where(instruments.is_common(model.contexts), of_common, of_personal)
        deviations, used = np.zeros(variances.size), instruments.used_entries(model.contexts, choice)
        deviations[used] = np.sqrt(variances[used])
        return deviations


def common_bounds(model: ShopModel) -> tuple[float, float]:
    """Between which a residual lies, up to what is public: without attributes the chance to buy is."""
    if model.contexts == 0:
        return model.conversion - 1.0, model.conversion
    return model.least - 1.0, model.most


def asked_share(model: ShopModel, choice: int) -> float:
    """How many of the devices are asked about an attribute."""
    return instruments.SHARES[choice] if model.contexts > 0 else 0.0


def weights(model: ShopModel, choice: int, keep: float) -> tuple[float, float]:
    """What a bit counts for: about a residual, and about one times an attribute; infinite where none is asked about."""
    share, told = asked_share(model, choice), 2.0 * keep - 1.0
    low, high = common_bounds(model)
    common = 0.5 * (high - low) / (told * (1.0 - share))
    if share == 0.0:
        return common, 0.0
    largest = max(1.0 - model.least, model.most)
    return common, largest * model.contexts / (told * share * bits.scale(model.contexts))


def local(claimed: EpsilonDelta) -> BitNoise:
    """Each report keeps the claim by itself. Delta is not needed."""
    return BitNoise(steps=((1, bits.keep_of(claimed.epsilon * (1.0 - _MARGIN))),))


def shuffled(claimed: EpsilonDelta, shortest: int, longest: int) -> BitNoise:
    """Reports keep the claim among those of their side, so many of them at least, and for so many."""
    checks.whole(1, shortest=shortest)
    checks.whole(shortest, longest=longest)
    epsilon, delta = claimed.epsilon * (1.0 - _MARGIN), claimed.delta * (1.0 - _SPARE)
    if not epsilon >= 1e-4:
        raise InvalidInput(f"epsilon {claimed.epsilon!r} is too small for shuffled bits")
    steps = range(1 + math.floor(math.log(longest / shortest) / math.log(_FINER)))
    sizes = sorted({min(math.ceil(shortest * _FINER**step), shuffle.MOST) for step in steps})
    return BitNoise(steps=tuple((size, shuffle.keep_of(epsilon, delta, size)) for size in sizes), delta=delta)


def typical(claimed: EpsilonDelta, model: ShopModel) -> float:
    """The variance of the noise of a side that is shuffled: nearly the same for any number of reports."""
    keep = shuffle.keep_of(claimed.epsilon, claimed.delta, _MANY)
    low, high = common_bounds(model)
    return _MANY * keep * (1.0 - keep) * ((high - low) / (2.0 * keep - 1.0)) ** 2


def _side(slots: int, choice: int) -> float:
    return float(slots) if choice == instruments.WATCHING else 0.5 * slots
