"""A product as an admin declares it: everything public, everything fixed before the first customer."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from hushprice.service.prices import PriceRules

Name = Annotated[str, msgspec.Meta(pattern="^[a-z0-9][a-z0-9_-]{0,63}$", description="a-z, 0-9, - and _; at most 64")]


class Product(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The body of POST /v1/products."""

    name: Name
    currency: Annotated[str, msgspec.Meta(pattern="^[A-Z]{3}$")]
    ceiling: float  # the highest price there can be: price = ceiling x p, p in [0, 1]
    schema: dict[str, Any] | None = None  # demand.schema.Schema.to_dict(); either this or contexts
    contexts: int | None = None  # numeric contexts in [-1, 1]^contexts
    decimals: int = 2  # of the currency
    unit_cost: float = 0.0  # in currency; the objective is (price - unit_cost) x demand
    reference_price: float | None = None  # in currency; quoted before anything is known. Default: half the ceiling
    epsilon: float = 1.0
    delta: float | str = "2/T^2"
    horizon: int = 1_000_000  # quotes learned from
    policy: Literal["noisy-newton", "fixed"] = "noisy-newton"
    features: Literal["main", "intercept", "interactions"] = "intercept"
    slope: float = 4.0  # of logistic demand
    quote_seconds: float = 900.0  # how long a price holds
    outcome_seconds: float = 3600.0  # the deadline for outcomes; at least quote_seconds
    holdout: float = 0.0  # share of quotes at the reference price, by a secret coin
    records_per_customer: int | None = None  # the cap m; then every quote needs a customer key
    rules: PriceRules = PriceRules()
