"""noisy-newton as a policy: its rules, what they claim, and what the accountant proves for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.policies.newton.rules import NewtonRules, newton
from hushprice.policies.protocol import BatchPolicy, basis_of, check_claim
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import Batches
from hushprice.settings import PolicySettings

NAME = "noisy-newton"
KERNEL = "newton"
READS = {NAME: ("reference_price", "trigger", "bonus", "noise", "unit_cost")}


@dataclass(frozen=True, kw_only=True, slots=True)
class NewtonPolicy(BatchPolicy):
    """Policy noisy-newton. Without noise it claims nothing."""

    kernel: ClassVar[str | None] = KERNEL
    tells_start: ClassVar[bool] = True

    rules: NewtonRules

    def __post_init__(self) -> None:
        super(NewtonPolicy, self).__post_init__()
        if not isinstance(self.rules, NewtonRules):
            raise InvalidInput(f"rules must be those of noisy-newton, got {self.rules!r} for {self.name!r}")
        noise = self.rules.noise
        if self.claimed is not None and self.basis is None:
            raise InvalidInput("basis must be given where something is claimed")
        accounted = None
        if self.basis is not None and self.claimed == noise.claimed:
            accounted = EpsilonDelta(noise.proven_epsilon(self.basis.dimension, self.adjacency), noise.claimed.delta)
        check_claim(self, noise.claimed if self.rules.drawn else None, accounted)

    def event(self, *, live: bool) -> Batches:
        """All that is ever released, as one event."""
        return self.rules.noise.event(len(self.rules.center), live=live)

    @property
    def settings(self) -> dict[str, Any]:
        """What can be set, as it was resolved."""
        rules = self.rules
        return {
            "reference_price": rules.reference_price,
            "trigger": rules.trigger > 0.0,
            "bonus": rules.width > 0.0,
            "noise": rules.drawn,
            "unit_cost": rules.unit_cost,
        }


def build(settings: PolicySettings, demand: Demand, features: FeatureMap) -> NewtonPolicy:
    """The policy that the settings ask for."""
    rules = newton(
        settings.budget.total,
        demand=demand,
        features=features,
        adjacency=settings.neighbours,
        reference_price=settings.reference_price,
        width=None if settings.bonus else 0.0,
        trigger=settings.trigger,
        drawn=settings.noise,
        unit_cost=settings.unit_cost,
    )
    return noisy_newton(rules, demand=demand, dimension=features.dimension, adjacency=settings.neighbours)


def noisy_newton(
    rules: NewtonRules, *, demand: Demand, dimension: int, adjacency: Adjacency = Adjacency.REPLACE_ONE
) -> NewtonPolicy:
    """The policy with these rules. Its guarantee holds for any number of customers, so it is bound to no horizon."""
    noise = rules.noise
    proven = EpsilonDelta(noise.proven_epsilon(dimension, adjacency), noise.claimed.delta)
    return NewtonPolicy(
        name=NAME,
        rules=rules,
        basis=basis_of(demand, dimension),
        adjacency=adjacency,
        claimed=noise.claimed if rules.drawn else None,
        proven=proven if rules.drawn else None,
    )
