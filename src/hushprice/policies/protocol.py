"""What a policy is: a built-in one is numbers for the compiled steps, one of your own is two methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hushprice import checks
from hushprice.accounting.budget import EpsilonDelta, PrivacyBudget
from hushprice.accounting.calibration import Constants, Noise
from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.policies.tuning import Tuning
from hushprice.types import FloatArray

# How a period's price is found: the switch of the simulator's loop.
RANDOM = 0
FIXED = 1
CLAIRVOYANT = 2
LEARNING = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """A built-in policy with every choice made."""

    name: str
    code: int
    calibration: str | None = None
    tuning: Tuning | None = None  # LEARNING only
    noise: Noise | None = None  # LEARNING only
    horizon: int | None = None  # with `constants`, what the noise was calculated for; None where nothing was
    constants: Constants | None = None
    price: float | None = None  # FIXED only; None is the best fixed price in hindsight
    input_noise: float = 0.0  # scale of the Laplace noise on every context entry the policy sees
    claimed: EpsilonDelta | None = None  # None: NOT PRIVATE
    proven: EpsilonDelta | None = None

    def __post_init__(self) -> None:
        checks.non_negative(input_noise=self.input_noise)
        for part in ("tuning", "noise"):
            if (getattr(self, part) is not None) != (self.code == LEARNING):
                raise InvalidInput(f"{part} is for policies that learn, got {getattr(self, part)!r} for {self.name!r}")
        if self.noise is not None and self.claimed != self.noise.claimed:
            raise InvalidInput(
                f"claimed must be what the noise was bought with, {self.noise.claimed}, got {self.claimed}"
            )
        # The claim is divided among a number of estimates, so `tuning` may not ask for another number. Its other
        # entries are free: PrivateMLE fits with noise.estimate_ridge, and tuning.ridge, which is Lambda's, the width
        # and the exploration periods act on nothing but releases.
        if self.noise is not None and self.tuning is not None:
            if self.noise.max_estimates not in (None, self.tuning.max_estimates):
                raise InvalidInput(
                    f"max_estimates must be what the noise was calculated for, {self.noise.max_estimates}, "
                    f"got {self.tuning.max_estimates}"
                )
        if self.proven is not None and not (self.claimed is not None and _covers(self.claimed, self.proven)):
            raise InvalidInput(f"claimed must cover what is proven, {self.proven}, got {self.claimed}")

    @property
    def private(self) -> bool:
        """Does anything bound what its prices reveal?"""
        return self.claimed is not None

    def check_fits(self, *, horizon: int, demand: Demand) -> None:
        """Refuse a horizon or a demand other than those the noise was calculated for: the claim would be empty."""
        if self.horizon not in (None, horizon):
            raise InvalidInput(f"policy {self.name!r} has noise for horizon {self.horizon}, got {horizon!r}")
        given = constants_of(demand)
        if self.constants not in (None, given):
            raise InvalidInput(f"policy {self.name!r} has noise for a demand with {self.constants}, got {given}")


def constants_of(demand: Demand) -> Constants:
    """What a calibration reads of a demand family: the constants the paper states for it."""
    return Constants(bound=demand.bound, scale=demand.scale, curvature=demand.paper_curvature)


def _covers(claimed: EpsilonDelta, proven: EpsilonDelta) -> bool:
    return proven.epsilon <= claimed.epsilon and proven.delta <= claimed.delta


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """What a policy may know before the first customer: public quantities, and a seed for its own randomness."""

    horizon: int
    demand: Demand
    features: FeatureMap
    budget: PrivacyBudget
    seed: int
    trial: int


class PlainPolicy(Protocol):
    """A policy in plain Python, for `--policy module:Class`: constructed with a Setting, then asked period by period.

    It sees raw customers, so nothing is claimed about its privacy unless it carries `claimed` (an EpsilonDelta).
    """

    def price(self, context: FloatArray) -> float:
        """The price in [0, 1] for the arriving customer."""
        ...

    def learn(self, context: FloatArray, price: float, demand: float) -> None:
        """What came of it."""
        ...
