"""The policy: its claim is checked against its noise when it is made."""

from __future__ import annotations

from dataclasses import dataclass

from tests.policies.one_price.noise import calibrate
from tests.policies.one_price.rules import OnePriceRules

from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.policies.protocol import BatchPolicy, basis_of, check_claim
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import Batches
from hushprice.settings import PolicySettings

NAME = "few-prices"
READS: dict[str, tuple[str, ...]] = {NAME: ()}  # of the settings, besides the budget
PRICES = (0.2, 0.35, 0.5, 0.65, 0.8)


@dataclass(frozen=True, kw_only=True, slots=True)
class OnePrice(BatchPolicy):
    """One price for everybody, the best of a few that were tried. It has no kernel: engine `python` runs its trials."""

    rules: OnePriceRules

    def __post_init__(self) -> None:
        super(OnePrice, self).__post_init__()
        noise = self.rules.noise
        accounted = noise.proven_epsilon(len(self.rules.prices), self.adjacency)
        check_claim(self, noise.claimed, EpsilonDelta(accounted, noise.claimed.delta))

    def event(self, *, live: bool) -> Batches:
        """All that is ever released: one batch."""
        return self.rules.noise.event(len(self.rules.prices), live=live)


def build(settings: PolicySettings, demand: Demand, features: FeatureMap) -> OnePrice:
    """The policy that the settings ask for: a tenth of the customers see prices that are tried."""
    claimed, adjacency = settings.budget.total, settings.neighbours
    noise = calibrate(claimed, prices=len(PRICES), adjacency=adjacency)
    rounds = max(1, settings.horizon // (10 * len(PRICES)))
    return OnePrice(
        name=NAME,
        rules=OnePriceRules(prices=PRICES, rounds=rounds, noise=noise),
        basis=basis_of(demand, features.dimension),
        adjacency=adjacency,
        claimed=claimed,
        proven=EpsilonDelta(noise.proven_epsilon(len(PRICES), adjacency), claimed.delta),
    )
