"""What a product must be before it is accepted: everything is refused by the field and its value."""

from __future__ import annotations

import re
from typing import get_args

from hushprice import checks
from hushprice.demand.features import MAPS
from hushprice.demand.schema import Category
from hushprice.errors import InvalidInput
from hushprice.policies.cautious.policy import CautiousPolicy
from hushprice.policies.cautious.pricing.question import grids_of_choice
from hushprice.privacy.certificates.batch_facts import MOST_RECORDS
from hushprice.privacy.events import AggregatedBatches
from hushprice.product import MOST_UNITS
from hushprice.service.shared.product import (
    AGGREGATED,
    CURRENCY,
    LOCAL,
    MOST_SUMMED,
    NAME,
    AggregatorAddress,
    PolicyName,
    Product,
    Trust,
    check_reference,
    declared_shop_product,
    delta_of,
    demand_of,
    features_of,
    policy_of,
    reference_price_of,
    schema_of,
    shop_product_of,
    tariff_of,
)
from hushprice.service.shared.tariff import HIGHEST, MOST_DECIMALS, check_rules, units
from hushprice.settings import PRODUCT_POLICY
from hushprice.trust.shares import is_safe

MOST_FEATURES = 32  # a release has half their square numbers; a quote reads all of them
LONGEST = 366 * 86400.0  # seconds that a quote or its outcome may take
MOST_QUOTES = 10**12  # of a horizon
LONGEST_NAME = 100  # characters of an attribute or a level: errors and pages show it
MOST_DAYS = 36_500  # of a quote's retention


def check(product: Product) -> None:
    """Refuse what cannot be sold, learned or promised, by the field and its value.

    What the library refuses comes first, so that a product is refused in the same words at every entrance.
    """
    _check_words(product)
    _check_trust(product)
    if product.in_shop_words:
        declared_shop_product(product)
    checks.whole(0, decimals=product.decimals)
    checks.within(0, MOST_DECIMALS, decimals=product.decimals)
    checks.positive(ceiling=product.ceiling)
    checks.within(0.0, HIGHEST, ceiling=product.ceiling)
    units(product.ceiling, product.decimals, "ceiling")
    checks.non_negative(unit_cost=product.unit_cost)
    if not product.unit_cost < product.ceiling:
        raise InvalidInput(f"unit_cost must be below ceiling, {product.ceiling!r}, got {product.unit_cost!r}")
    if product.reference_price is not None:
        check_reference(product, product.reference_price)
    _check_times(product)
    checks.within(0.0, 0.5, holdout=product.holdout)
    if product.records_per_customer is not None:
        checks.whole(1, records_per_customer=product.records_per_customer)
        checks.within(1, MOST_RECORDS, records_per_customer=product.records_per_customer)
    checks.whole(1, retention_days=product.retention_days)
    checks.within(1, MOST_DAYS, retention_days=product.retention_days)
    check_rules(product.rules, product, reference_price_of(product))
    _check_contexts(product)
    _check_shop(product)
    if product.bound is not None:
        checks.within(1.0, MOST_UNITS, bound=product.bound)
    demand_of(product)
    checks.positive(epsilon=product.epsilon)
    delta_of(product)
    policy = policy_of(product)  # refuses a budget that no noise can keep
    if product.trust == AGGREGATED and isinstance(policy, CautiousPolicy):
        _check_grids(product, policy)


def _check_words(product: Product) -> None:
    for field, pattern in (("name", NAME), ("currency", CURRENCY)):
        value = getattr(product, field)
        if not isinstance(value, str) or re.fullmatch(pattern.rstrip("$"), value) is None:
            raise InvalidInput(f"{field} must match {pattern}, got {checks.shown(value)}")
    choices = {
        "policy": get_args(PolicyName),
        "trust": get_args(Trust),
        "features": tuple(MAPS),
        "family": ("logistic", "poisson"),
    }
    for field, allowed in choices.items():
        value = getattr(product, field)
        if value not in allowed:
            raise InvalidInput(f"{field} must be one of {', '.join(allowed)}, got {checks.shown(value)}")


def _check_shop(product: Product) -> None:
    """What a shop knows is for policy cautious, which needs it; a family of demand is for the others."""
    if not product.in_shop_words:
        usual = {"most": 1.0, "ending": 0.0}
        for field in ("conversion", "floor", "elasticity", "most", "step", "ending", "prior"):
            if getattr(product, field) not in (None, usual.get(field)):
                given = f"got {checks.shown(getattr(product, field))} for policy {product.policy!r}"
                raise InvalidInput(f"{field} is for policy {PRODUCT_POLICY!r}, {given}")
        return
    for field, unset in (("slope", None), ("bound", None), ("family", "logistic")):
        if getattr(product, field) != unset:
            given = f"got {getattr(product, field)!r} for policy {product.policy!r}"
            raise InvalidInput(f"{field} is for policy 'noisy-newton', {given}")
    if product.floor is not None:
        units(product.floor, product.decimals, "floor")
    if product.step is not None:
        units(product.step, product.decimals, "step")
        units(product.ending, product.decimals, "ending")
        if product.rules.ladder is not None:
            raise InvalidInput(f"step or rules.ladder may be given, one of them, got {product.step!r} beside it")
    shop_product_of(product)
    tariff_of(product)


def _check_trust(product: Product) -> None:
    """Of the trust models, what there are parties for that do not tell each other what they see."""
    trust = product.trust
    if trust == "shuffle":
        raise InvalidInput(f"trust must be central, local or aggregated: this service is no shuffler, got {trust!r}")
    if (product.aggregators is not None) != (trust == AGGREGATED):
        raise InvalidInput(f"aggregators are given where trust is 'aggregated', and nowhere else, got {trust!r}")
    if trust not in (LOCAL, AGGREGATED):
        return
    if not product.in_shop_words:
        raise InvalidInput(f"trust is for policy {PRODUCT_POLICY!r}, got {trust!r} for policy {product.policy!r}")
    if product.holdout > 0.0:
        raise InvalidInput(
            f"holdout must be 0 where trust is {trust!r}: devices are not told of it, got {product.holdout}"
        )
    if product.aggregators is not None:
        _check_aggregators(product, *product.aggregators)


def _check_aggregators(product: Product, first: AggregatorAddress, second: AggregatorAddress) -> None:
    if first.url.rstrip("/") == second.url.rstrip("/") or first.key == second.key:
        raise InvalidInput("aggregators must be two different ones: who has both shares has the record")
    for each in (first, second):
        if len(each.key) != 64:  # a pattern's $ lets a line break through: one key, written in two ways
            raise InvalidInput("aggregators must have keys of 64 hexadecimal digits")
        if not is_safe(each.url):
            raise InvalidInput(f"aggregators must be at https://..., or on this machine, got {checks.shown(each.url)}")
    if product.horizon > MOST_SUMMED:
        raise InvalidInput(f"horizon must be at most {MOST_SUMMED} where shares are added up, got {product.horizon}")


def _check_grids(product: Product, policy: CautiousPolicy) -> None:
    event = policy.rules.event(live=True)
    assert isinstance(event, AggregatedBatches)
    try:
        for choice in range(len(event.scales)):
            grids_of_choice(event, choice)
    except InvalidInput:
        fits = f"so small that sums of numbers as fine as its noise fit into 64 bits, got {product.epsilon!r}"
        raise InvalidInput(f"epsilon must be {fits}") from None


def _check_times(product: Product) -> None:
    checks.whole(1, horizon=product.horizon)
    checks.within(1, MOST_QUOTES, horizon=product.horizon)
    for field in ("quote_seconds", "outcome_seconds"):
        checks.positive(**{field: getattr(product, field)})
        checks.within(0.0, LONGEST, **{field: getattr(product, field)})
    if product.outcome_seconds < product.quote_seconds:
        least, given = product.quote_seconds, product.outcome_seconds
        raise InvalidInput(f"outcome_seconds must be at least quote_seconds, {least!r}, got {given!r}")


def _check_contexts(product: Product) -> None:
    neither = product.schema is None and product.contexts is None
    both = product.schema is not None and product.contexts is not None
    if both or (neither and not product.in_shop_words):  # one price for all needs no description
        raise InvalidInput(f"schema or contexts must be given, one of them, got {'both' if both else 'neither'}")
    if product.contexts is not None:
        checks.whole(0, contexts=product.contexts)
        checks.within(0, MOST_FEATURES, contexts=product.contexts)  # before any array is made
    schema = schema_of(product)
    for each in () if schema is None else schema.attributes:
        for name in (each.name, *(each.levels if isinstance(each, Category) else ())):
            if len(name) > LONGEST_NAME:
                raise InvalidInput(
                    f"schema must have names of at most {LONGEST_NAME} characters, got {checks.shown(name)}"
                )
    dimension = features_of(product).dimension
    if dimension > MOST_FEATURES and not product.in_shop_words:
        field = "contexts" if product.schema is None else "schema"
        raise InvalidInput(f"{field} must give at most {MOST_FEATURES} features, got {dimension}")
