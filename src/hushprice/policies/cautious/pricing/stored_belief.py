"""What a quoter prices a product of policy cautious by: belief and plan after the last release, public and small."""

from __future__ import annotations

import msgspec
import numpy as np

from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.policies.belief_numbers import numbers_of
from hushprice.policies.cautious.pricing.belief import Belief, Rule
from hushprice.policies.cautious.pricing.health import Health as PricingHealth
from hushprice.policies.cautious.pricing.instruments import SHARES
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter, first_rule
from hushprice.policies.cautious.rules import CautiousRules


class StoredBelief(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The belief N(theta, covariance), the rule of the batch at hand, and where that is."""

    theta: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    rule: Rule
    version: int
    batch: int  # the slot the batch at hand follows
    changed: int  # times that demand was found to have changed
    earned: tuple[float, float]  # noisy, by the holdout and by the others, in units of the largest
    health: PricingHealth = PricingHealth()


def new_quoter(
    rules: CautiousRules, demand: Demand, features: FeatureMap, reference_price: float | None = None
) -> CautiousQuoter:
    """A quoter that holds no release yet: of the rules' product, whatever reference price was set later."""
    return CautiousQuoter(rules, first_rule(rules))


decode = msgspec.json.Decoder(StoredBelief).decode


def belief_of(quoter: CautiousQuoter) -> StoredBelief:
    """The belief of a quoter, to be handed to others."""
    return StoredBelief(
        theta=tuple(quoter.belief.theta.tolist()),
        covariance=tuple(tuple(row) for row in quoter.belief.covariance.tolist()),
        rule=quoter.rule,
        version=quoter.version,
        batch=quoter.batch,
        changed=quoter.changed,
        earned=(float(quoter.earned[0]), float(quoter.earned[1])),
        health=quoter.health,
    )


def set_belief(quoter: CautiousQuoter, belief: StoredBelief) -> CautiousQuoter:
    """The quoter, which then prices by this belief; one of another product is refused, and nothing changes.

    It cannot learn: what it was fitted to stays with the learner.
    """
    size, rule = quoter.model.size, belief.rule
    theta, covariance = (
        numbers_of("theta", belief.theta, (size,)),
        numbers_of("covariance", belief.covariance, (size, size)),
    )
    sound = {
        "rule": rule.count >= 1 and 0.0 <= rule.move <= 1.0 and 0 <= rule.choice < len(SHARES),
        "rule.offset": -1.0 <= rule.offset <= 1.0,
        "rule.spread": 0.0 <= rule.spread <= quoter.model.widest,
        "version": belief.version >= 0,
        "batch": belief.batch >= 0,
        "health": belief.health.sound,
    }
    for field, fits in sound.items():
        if not fits:
            raise InvalidInput(f"belief.{field} must fit a batch of this product")
    quoter.belief, quoter.rule = Belief(theta, covariance), rule
    quoter.version, quoter.batch, quoter.changed = belief.version, belief.batch, belief.changed
    quoter.earned, quoter.health = np.array(belief.earned), belief.health
    return quoter
