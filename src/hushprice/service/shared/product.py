"""A product as an admin declares it: everything public, everything fixed before the first customer.

What a shop knows of it has the names, meanings and defaults of `hushprice.Product`, which is made from it; besides, a
service needs a name, a currency, deadlines and rules. What a product is made of (demand, features, policy, a quoter) is
built here, the same for quoters and the learner.
Nothing in this module can reach a record.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Annotated, Any, Literal, NamedTuple, cast

import msgspec
from msgspec import Meta

from hushprice import checks
from hushprice.demand.families import Logistic, Poisson
from hushprice.demand.features import FeatureMap, by_name
from hushprice.demand.schema import Schema
from hushprice.errors import InvalidInput
from hushprice.policies.catalog import build
from hushprice.policies.cautious.policy import DEMAND, CautiousPolicy
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.policies.newton.policy import NewtonPolicy
from hushprice.policies.newton.pricing.quoter import NewtonQuoter
from hushprice.policies.protocol import Policy, part
from hushprice.prior import prior_of
from hushprice.privacy.delta import parse_delta
from hushprice.product import Product as ShopProduct
from hushprice.service.shared.contexts import ContextReader
from hushprice.service.shared.tariff import PriceRules, Tariff, lowest_units, units
from hushprice.service.store.decisions import DEFAULT_BOUND
from hushprice.settings import PRODUCT_HORIZON, PRODUCT_POLICY, PolicySettings, Settings
from hushprice.types import FloatArray

NAME, CURRENCY = "^[a-z0-9][a-z0-9_-]{0,63}$", "^[A-Z]{3}$"

_KEPT = 8192  # products whose parts are kept
_SHOP: dict[str, Any] = {field.name: field.default for field in fields(ShopProduct)}  # the library's defaults

PolicyName = Literal["cautious", "noisy-newton", "fixed"]
Trust = Literal["central", "local", "shuffle", "aggregated"]
LOCAL, AGGREGATED = "local", "aggregated"
MOST_SUMMED = 1 << 22  # of a horizon, where devices send shares: sums of a batch then stay within 64 bits


class AggregatorAddress(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of the two whom devices send shares to."""

    url: Annotated[str, Meta(pattern="^https?://", max_length=500)]
    key: Annotated[str, Meta(pattern="^[0-9a-f]{64}$", description="what it signs its totals with: the public half")]


Name = Annotated[str, Meta(pattern=NAME, description="a-z, 0-9, - and _; at most 64")]


class Product(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The body of POST /v1/products."""

    name: Name
    currency: Annotated[str, Meta(pattern=CURRENCY, description="three letters")]
    conversion: Annotated[
        float | None,
        Meta(
            description="the share of visitors expected to buy at the reference price; where one may buy several, how "
            "many a visitor is expected to buy. Given, the policy is cautious unless another is named"
        ),
    ] = None
    floor: Annotated[float | None, Meta(description="cautious: no price is ever below, in currency")] = None
    elasticity: Annotated[
        float | tuple[float, float] | None,
        Meta(
            description="cautious: by how many percent demand is expected to fall where the reference price rises by "
            "1 %, as a positive number; or a range of two. Default: as if the reference price were the best one"
        ),
    ] = None
    risk: Annotated[
        float,
        Meta(
            description="cautious: the largest share of what staying at the reference price would have earned that "
            "learning may cost"
        ),
    ] = _SHOP["risk"]
    most: Annotated[float | None, Meta(description="cautious: the largest quantity that one visitor can buy")] = _SHOP[
        "most"
    ]
    step: Annotated[
        float | None,
        Meta(description="cautious: prices are this far apart. Default: as far as decimals and the ladder say"),
    ] = _SHOP["step"]
    ending: Annotated[float, Meta(description="cautious: one of these prices, where there is a step")] = _SHOP["ending"]
    ceiling: Annotated[float, Meta(description="the highest price there can be: price = ceiling x p, p in [0, 1]")]
    schema: Annotated[
        dict[str, Any] | None,
        Meta(description="the attributes of a customer, with their bounds and levels; either this or contexts"),
    ] = None
    contexts: Annotated[int | None, Meta(description="how many numbers in [-1, 1] describe a customer")] = None
    decimals: Annotated[int, Meta(description="of the currency")] = 2
    unit_cost: Annotated[
        float, Meta(description="in currency; (price - unit_cost) x demand is maximized, and no price is below it")
    ] = _SHOP["unit_cost"]
    reference_price: Annotated[
        float | None,
        Meta(
            description="in currency; prices lie around it before anything is known, and the holdout pays it. "
            "Default: half way from the unit cost to the ceiling"
        ),
    ] = None
    epsilon: Annotated[float, Meta(description="promised to a record, over the product's whole life")] = _SHOP[
        "epsilon"
    ]
    delta: Annotated[float | str, Meta(description="the same; a formula may name the horizon T")] = _SHOP["delta"]
    horizon: Annotated[int, Meta(description="quotes learned from")] = PRODUCT_HORIZON
    policy: Annotated[
        PolicyName,
        Meta(
            description="cautious: prices leave the reference price only on evidence. fixed: everybody pays the "
            "reference price. Default: cautious where a conversion is given, otherwise noisy-newton"
        ),
    ] = cast(PolicyName, None)
    features: Annotated[
        Literal["main", "intercept", "interactions"],
        Meta(description="how attributes and price act on demand: main effects; with an intercept; also together"),
    ] = "main"
    family: Annotated[Literal["logistic", "poisson"], Meta(description="one unit or none is bought; or a quantity")] = (
        "logistic"
    )
    slope: Annotated[float | None, Meta(description="of demand. Default: 4 for logistic demand, 1 for poisson")] = None
    bound: Annotated[
        float | None, Meta(description="poisson only: the largest quantity that can be told. Default: 10")
    ] = None
    quote_seconds: Annotated[float, Meta(description="how long a price holds")] = 900.0
    outcome_seconds: Annotated[float, Meta(description="the deadline for outcomes; at least quote_seconds")] = 3600.0
    holdout: Annotated[float, Meta(description="share of quotes at the reference price, by a secret coin")] = _SHOP[
        "holdout"
    ]
    records_per_customer: Annotated[
        int | None, Meta(description="how many records of a customer count; then every quote needs a customer key")
    ] = None
    trust: Annotated[
        Trust,
        Meta(
            description="cautious: who may see a customer's record. local: only their own device, which takes its "
            "price from GET /v1/products/{name}/belief and sends one bit, as private by itself as epsilon says. "
            "aggregated: only their own device, which sends a share to each of two aggregators. shuffle needs a party "
            "that this service is not"
        ),
    ] = "central"
    aggregators: Annotated[
        tuple[AggregatorAddress, AggregatorAddress] | None,
        Meta(description="trust aggregated: the two, run by people who do not tell each other what they see"),
    ] = None
    retention_days: Annotated[
        int, Meta(description="how long price, outcome and digests of a learned quote are kept; then they are erased")
    ] = 400
    rules: Annotated[PriceRules, Meta(description="what is done to a price before it is charged")] = PriceRules()
    prior: Annotated[
        dict[str, Any] | None,
        Meta(
            description="cautious: what a private fit of a log says, the content of the file that `hushprice fit` "
            "wrote; prices start from it. Beside it, same_people says whether who is in the log may be a customer "
            "(default: true); then the budgets of both add up"
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.prior is not None:  # of a fit's file, what prices start from is kept, with the file's digest
            msgspec.structs.force_setattr(self, "prior", prior_of(self.prior).to_dict())
        if self.policy is None:
            named = "noisy-newton" if self.conversion is None else PRODUCT_POLICY
            msgspec.structs.force_setattr(self, "policy", named)

    @property
    def in_shop_words(self) -> bool:
        """Does it say what a shop knows (conversion, floor, ...), which its policy prices by?"""
        return self.policy == PRODUCT_POLICY

    @property
    def learns(self) -> bool:
        """Does anything come of its records? Where it does not, everybody pays the reference price."""
        return self.policy != "fixed"


def check_reference(product: Product, price: float) -> None:
    """Refuse a reference price (in currency) that cannot be charged."""
    checks.positive(reference_price=price)
    units(price, product.decimals, "reference_price")
    floor = product.unit_cost if product.floor is None else product.floor
    sides = {"ceiling": price <= product.ceiling, "unit_cost": price >= product.unit_cost, "floor": price >= floor}
    for bound, fits in sides.items():
        if not fits:
            side = "below" if bound == "ceiling" else "above"
            raise InvalidInput(
                f"reference_price must be at or {side} {bound}, {getattr(product, bound)!r}, got {price!r}"
            )


def schema_of(product: Product) -> Schema | None:
    """The attributes; None where contexts are numbers.

    For policy cautious they are those of the library's product: levels that nobody declared, and values that are
    missing, have a price unless the declaration refuses them.
    """
    if product.in_shop_words and product.schema is not None:
        return shop_product_of(product).schema
    return _declared(product)


def _declared(product: Product) -> Schema | None:
    return None if product.schema is None else Schema.from_dict(product.schema)


def declared_shop_product(product: Product) -> ShopProduct:
    """The library's product of the very same fields. Refuses what it refuses, in its words."""
    if product.conversion is None or product.floor is None or product.reference_price is None:
        missing = next(name for name in ("conversion", "floor", "reference_price") if getattr(product, name) is None)
        raise InvalidInput(f"{missing} must be given for policy 'cautious'")
    same = {name: getattr(product, name) for name in _SHOP}
    same |= {"contexts": product.contexts or _SHOP["contexts"], "schema": _declared(product)}
    same["most"] = _SHOP["most"] if product.most is None else product.most
    same["prior"] = None if product.prior is None else prior_of(product.prior)
    return ShopProduct(**same)


def shop_product_of(product: Product) -> ShopProduct:
    """The same product as the library knows it: what may be charged by the rules it was declared with.

    Rules that an admin sets later move prices as they do; what is learned is the price that was charged.
    """
    shop, rules = declared_shop_product(product), product.rules
    move = math.inf if rules.largest_step is None else rules.largest_step
    step, ending = (10.0**-product.decimals, 0.0) if rules.ladder is None else (1.0, rules.ladder)
    try:
        return replace(
            shop,
            floor=max(shop.floor, rules.floor or 0.0, shop.reference_price - move, shop.unit_cost),
            ceiling=min(
                shop.ceiling, math.inf if rules.ceiling is None else rules.ceiling, shop.reference_price + move
            ),
            step=step if shop.step is None else shop.step,
            ending=ending if shop.step is None else shop.ending,
        )
    except InvalidInput as problem:  # what was declared is sound: what it comes to here is not
        said = "decimals" if rules == PriceRules() else "rules"
        raise InvalidInput(f"{said} must leave prices on both sides of reference_price: {problem}") from None


def demand_of(product: Product) -> Logistic | Poisson:
    """The demand family."""
    if product.in_shop_words:
        return DEMAND
    if product.family == "poisson":
        slope, bound = (
            1.0 if product.slope is None else product.slope,
            DEFAULT_BOUND if product.bound is None else product.bound,
        )
        return Poisson(slope=slope, bound=bound)
    if product.bound is not None:
        raise InvalidInput(f"bound is for family 'poisson', got {checks.shown(product.bound)}")
    return Logistic(slope=4.0 if product.slope is None else product.slope)


def features_of(product: Product) -> FeatureMap:
    """The feature map."""
    schema = schema_of(product)
    name = "main" if product.in_shop_words else product.features
    return by_name(name, schema.dimension if schema is not None else product.contexts or 0)


def delta_of(product: Product) -> float:
    """delta as a number."""
    return parse_delta(product.delta, product.horizon)


def reference_price_of(product: Product) -> float:
    """The reference price in currency: as declared, or the middle of what may be charged, rounded up to a price."""
    if product.reference_price is not None:
        return product.reference_price
    one: int = 10**product.decimals
    twice = units(product.ceiling, product.decimals) + lowest_units(product)
    return (twice + 1) // 2 / one


class _Built(NamedTuple):
    policy: Policy
    features: FeatureMap
    demand: Logistic | Poisson


@functools.lru_cache(maxsize=_KEPT)
def _built(spec: bytes) -> _Built:
    product = msgspec.json.decode(spec, type=Product)
    demand, features = demand_of(product), features_of(product)
    reference = reference_price_of(product) / product.ceiling
    options: Settings = {"epsilon": product.epsilon, "delta": product.delta}
    shop = None
    if not product.learns:
        options["price"] = reference
    elif product.in_shop_words:
        shop = shop_product_of(product)
    else:
        options |= {"reference_price": reference, "unit_cost": product.unit_cost / product.ceiling}
    if product.trust != "central":
        options["trust"] = product.trust
    settings = PolicySettings(policy=product.policy, horizon=product.horizon, product=shop, **options)
    return _Built(build(settings, demand, features), features, demand)


def policy_of(product: Product) -> Policy:
    """The policy with its noise. Built once for each product."""
    return _built(msgspec.json.encode(product)).policy


def learning_policy_of(product: Product) -> NewtonPolicy | CautiousPolicy | None:
    """The policy of a product that learns; None where everybody pays the reference price."""
    policy = policy_of(product)
    return cast(NewtonPolicy | CautiousPolicy, policy) if policy.learns else None


def quoter_of(
    product: Product, reference_price: float | None = None, belief: bytes | None = None
) -> NewtonQuoter | CautiousQuoter:
    """A quoter, by the belief after a release where one is given. `reference_price`, in currency, was set later.

    It moves prices before anything is known and nothing else: the first belief stays that of the product as declared,
    which the learner has. Policy cautious starts from the price as declared, whatever is set later.
    """
    policy = learning_policy_of(product)
    if policy is None:
        raise InvalidInput(f"policy {product.policy!r} has no quoter: every price is the reference price")
    if reference_price is not None:
        check_reference(product, reference_price)
    share = None if reference_price is None else reference_price / product.ceiling
    built, stored = _built(msgspec.json.encode(product)), part(policy, "pricing.stored_belief")
    told = None if belief is None else stored.decode(belief)
    made: NewtonQuoter | CautiousQuoter
    if told is not None and isinstance(policy, CautiousPolicy):
        made = CautiousQuoter(policy.rules, told.rule)  # its first rule, which takes long to find, is over
    else:
        made = stored.new_quoter(policy.rules, built.demand, built.features, share)
    return made if told is None else stored.set_belief(made, told)


def tariff_of(product: Product, rules: PriceRules | None = None, reference_price: float | None = None) -> Tariff:
    """How p becomes a price charged; rules and reference price are those of the product unless set later."""
    reference = reference_price_of(product) if reference_price is None else reference_price
    rules = product.rules if rules is None else rules
    if product.floor is not None:  # no price is below cost: the tariff sees to that, in its decimals
        floor = max(product.floor, rules.floor or 0.0)
        rules = msgspec.structs.replace(rules, floor=floor if floor >= product.unit_cost else None)
    return Tariff(product, rules, reference)


@functools.lru_cache(maxsize=_KEPT)
def _reader(spec: bytes) -> ContextReader:
    product = msgspec.json.decode(spec, type=Product)
    return ContextReader(schema_of(product), features_of(product).contexts)


def reader_of(product: Product) -> ContextReader:
    """What reads a customer's context. Who quotes often keeps it."""
    return _reader(msgspec.json.encode(product))


def context_of(
    product: Product, attributes: Mapping[str, object] | None = None, context: Sequence[float] | None = None
) -> FloatArray:
    """A customer's context, from attributes by name or a numeric context, as the product says."""
    return reader_of(product).read(attributes, context).context
