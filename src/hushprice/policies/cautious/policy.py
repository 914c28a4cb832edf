"""cautious as a policy: a product, the rules that follow from it, what they claim, and what the accountant proves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hushprice.demand.families import Logistic
from hushprice.demand.features import FeatureMap, main_effects
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.policies.cautious.pricing.shop_model import model_of
from hushprice.policies.cautious.rules import CautiousRules, cautious
from hushprice.policies.protocol import BatchPolicy, check_claim
from hushprice.privacy.events import BitReports, LaplaceBatches, ShuffledBits
from hushprice.product import Product
from hushprice.settings import PolicySettings

NAME = "cautious"
KERNEL = None
READS = {NAME: ("product", "noise", "trust")}
DEMAND = Logistic(slope=1.0)  # what its model is: log-odds as they are


@dataclass(frozen=True, kw_only=True, slots=True)
class CautiousPolicy(BatchPolicy):
    """Policy cautious. Without noise it claims nothing."""

    product: Product
    rules: CautiousRules

    def __post_init__(self) -> None:
        super(CautiousPolicy, self).__post_init__()
        if not isinstance(self.rules, CautiousRules):
            raise InvalidInput(f"rules must be those of cautious, got {self.rules!r} for {self.name!r}")
        rules, noise = self.rules, self.rules.noise
        if replace(rules.model, narrow=False) != model_of(self.product) or rules.holdout != self.product.holdout:
            raise InvalidInput(f"rules must be those of the product, {self.product}")
        if noise.adjacency is not self.adjacency:
            raise InvalidInput(f"adjacency must be the noise's, {noise.adjacency.value}, got {self.adjacency.value}")
        if rules.paid != (None if self.product.prior is None else self.product.prior.paid):
            raise InvalidInput(f"rules must count what the product's prior cost, {self.product.prior}")
        accounted = rules.proven if self.claimed == rules.claimed else None
        check_claim(self, rules.claimed if rules.drawn else None, accounted)

    def event(self, *, live: bool) -> LaplaceBatches | BitReports | ShuffledBits:
        """All that is ever released, as one event."""
        return self.rules.event(live=live)

    @property
    def settings(self) -> dict[str, Any]:
        """What can be set, as it was resolved."""
        return {"product": self.product, "noise": self.rules.drawn, "trust": self.rules.trust}

    def check_fits(self, *, horizon: int, demand: Demand, dimension: int) -> None:
        """Refuse what is not the product's. Its noise is calculated for any number of customers."""
        if demand != DEMAND:
            raise InvalidInput(f"demand must be {DEMAND} for policy 'cautious', got {demand}")
        features = main_effects(self.product.contexts)
        if dimension != features.dimension:
            raise InvalidInput(f"features must be {features.dimension} for this product, got {dimension!r}")

    def in_currency(self, price: float) -> float:
        """A share of the ceiling as a price."""
        return self.product.price_of(self.product.relative_of(price * self.product.ceiling))


def build(settings: PolicySettings, demand: Demand, features: FeatureMap) -> CautiousPolicy:
    """The policy that the settings ask for."""
    product = settings.product
    if product is None:
        raise InvalidInput("product is missing: policy 'cautious' prices a Product")
    rules = cautious(
        settings.budget.total,
        model=model_of(product),
        risk=product.risk,
        horizon=settings.horizon,
        adjacency=settings.neighbours,
        holdout=product.holdout,
        drawn=settings.noise,
        response_doubt=product.response_doubt,
        prior=product.prior_here,
        trust=settings.trust,
    )
    return cautious_policy(product, rules)


def cautious_policy(product: Product, rules: CautiousRules) -> CautiousPolicy:
    """The policy with these rules. Its guarantee holds for any number of customers, so it is bound to no horizon."""
    return CautiousPolicy(
        name=NAME,
        product=product,
        rules=rules,
        adjacency=rules.noise.adjacency,
        claimed=rules.claimed if rules.drawn else None,
        proven=rules.proven if rules.drawn else None,
    )
