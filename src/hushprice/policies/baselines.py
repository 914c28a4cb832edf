"""What every result is shown beside: prices that learn nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from hushprice import checks
from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.policies.protocol import Policy
from hushprice.privacy.budget import EpsilonDelta
from hushprice.settings import PolicySettings

_NOTHING = EpsilonDelta(0.0, 0.0)  # reads no record, so reveals none
KERNEL = "paper"  # whose loop over customers they share
READS: dict[str, tuple[str, ...]] = {"random": (), "fixed": ("price",), "clairvoyant": ()}


@dataclass(frozen=True, kw_only=True, slots=True)
class Baseline(Policy):
    """A policy that reads no record. It may claim 0 and nothing else."""

    kernel: ClassVar[str | None] = KERNEL

    def __post_init__(self) -> None:
        super(Baseline, self).__post_init__()
        if self.claimed is not None and not self.claimed == self.proven == _NOTHING:
            raise InvalidInput(f"claimed must be 0, by a policy that reads no record, got {self.claimed}")


@dataclass(frozen=True, kw_only=True, slots=True)
class RandomPrices(Baseline):
    """A uniformly random price for everyone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FixedPrice(Baseline):
    """One price for everyone; None is the best one in hindsight."""

    price: float | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """The price, where one was given."""
        return {"price": self.price}


@dataclass(frozen=True, kw_only=True, slots=True)
class Clairvoyant(Baseline):
    """Prices that know theta*, and so claim nothing: theta* knows everybody."""

    def __post_init__(self) -> None:
        super(Clairvoyant, self).__post_init__()
        if self.claimed is not None:
            raise InvalidInput(f"claimed must be 0, by a policy that reads no record, got {self.claimed}")


def build(settings: PolicySettings, demand: Demand, features: FeatureMap) -> Policy:
    """The baseline that the settings ask for."""
    if settings.policy == "fixed":
        return fixed(settings.price)
    return random() if settings.policy == "random" else clairvoyant()


def random() -> RandomPrices:
    """A uniformly random price for everyone."""
    return RandomPrices(name="random", claimed=_NOTHING, proven=_NOTHING)


def fixed(price: float | None = None) -> FixedPrice:
    """One price for everyone; without a price, the best one in hindsight, found with theta* and all contexts known.

    The hindsight price is a yardstick that no shop could have used; its epsilon of 0 is that of quoting any one price.
    """
    if price is not None:
        checks.within(0.0, 1.0, price=price)
    return FixedPrice(name="fixed", price=price, claimed=_NOTHING, proven=_NOTHING)


def clairvoyant() -> Clairvoyant:
    """p*_t, which knows theta*. Its regret is zero, and its cost is that of the environment alone."""
    return Clairvoyant(name="clairvoyant")
