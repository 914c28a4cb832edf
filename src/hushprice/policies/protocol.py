"""What a policy is: a built-in one is numbers for the compiled steps, one of your own is two methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hushprice.accounting.budget import EpsilonDelta, PrivacyBudget
from hushprice.accounting.calibration import Noise
from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
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
    price: float | None = None  # FIXED only; None is the best fixed price in hindsight
    input_noise: float = 0.0  # scale of the Laplace noise on every context entry the policy sees
    claimed: EpsilonDelta | None = None  # None: NOT PRIVATE
    proven: EpsilonDelta | None = None

    @property
    def private(self) -> bool:
        """Does anything bound what its prices reveal?"""
        return self.claimed is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """What a policy may know before the first customer: public quantities, and a source of uniforms for its own use."""

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
