"""The bodies of requests and answers. The OpenAPI document is made from these types, so it says what is checked."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from hushprice.product import MOST_CONTEXTS
from hushprice.service.shared.product_view import ProductView
from hushprice.service.shared.rate_limits import LARGEST_BATCH

QuoteId = Annotated[
    str,
    Meta(
        pattern="^[0-9a-f]{32}$",
        description="80 random bits, 16 of the clock, and a mark",
        examples=["9f86d081884c7d65" * 2],
    ),
]
Attributes = Annotated[
    dict[str, float | bool | str | None],
    Meta(
        description="every attribute that the product's schema declares; null: not known",
        examples=[{"age": 41, "member": True}],
    ),
]
Context = Annotated[list[float], Meta(max_length=1000, description="numbers in [-1, 1]", examples=[[0.5, -0.25]])]
CustomerKey = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description="the shop's own key for a customer; stored as a keyed digest, never as it is",
        examples=["customer-1017"],
    ),
]
Price = Annotated[float, Meta(description="in currency", examples=[12.99])]


class QuoteRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A customer asks for a price: named attributes where the product has a schema, otherwise a context."""

    product: Annotated[str, Meta(examples=["umbrella"])]
    attributes: Attributes | None = None
    context: Context | None = None
    customer: CustomerKey | None = None

    def __repr__(self) -> str:
        return "QuoteRequest(<sensitive>)"


class Quote(msgspec.Struct, frozen=True):
    """A price for one customer."""

    id: QuoteId
    product: str
    price: Price
    currency: str
    expires_at: Annotated[str, Meta(description="UTC, RFC 3339", examples=["2026-05-01T12:00:00Z"])]
    version: Annotated[int, Meta(ge=0, description="of the belief that made the price")]
    recorded: Annotated[
        bool, Meta(description="false: the store is away. The price stands; the quote is stored when the store is back")
    ]
    propensity: (
        Annotated[
            float,
            Meta(
                gt=0, le=1, description="the probability that this customer would be charged this price; for your log"
            ),
        ]
        | None
    ) = None
    coin: (
        Annotated[
            Literal[-1, 1],
            Meta(description="a device makes its price of it and of the belief, and shows that instead"),
        ]
        | UnsetType
    ) = UNSET
    belief: (
        Annotated[str, Meta(description="the mark of the belief to make it of. Another: show `price`")] | UnsetType
    ) = UNSET


class ReportRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A device's report, once for each quote: `hushprice.client.Device` makes it."""

    about: Annotated[int, Meta(ge=0, le=MOST_CONTEXTS, description="0: the residual; j: times entry j of the context")]
    up: Annotated[bool, Meta(description="the bit, turned over by chance")]

    def __repr__(self) -> str:
        return "ReportRequest(<sensitive>)"


class BatchRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Many quotes at once; each is checked on its own, and answered in its place."""

    quotes: Annotated[list[QuoteRequest], Meta(min_length=1, max_length=LARGEST_BATCH)]


class RawBatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A BatchRequest as it is read first, so that one bad item does not spoil the others."""

    quotes: Annotated[list[msgspec.Raw], Meta(min_length=1, max_length=LARGEST_BATCH)]


_EITHER = {"anyOf": [{"$ref": "#/components/schemas/Quote"}, {"$ref": "#/components/schemas/ErrorBody"}]}


class Batch(msgspec.Struct, frozen=True):
    """Answers in the order asked: a quote, or {"error": ...}."""

    quotes: Annotated[list[Any], Meta(extra_json_schema={"items": _EITHER})]


class OutcomeRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What became of a quote: `purchased`, or `quantity` where several can be bought."""

    purchased: bool | None = None
    quantity: Annotated[float, Meta(ge=0, le=1e6, description="at most the product's bound")] | None = None

    def __repr__(self) -> str:
        return "OutcomeRequest(<sensitive>)"


class Outcome(msgspec.Struct, frozen=True):
    """That an outcome or a report was noted. late: it came after the deadline, is logged, and is not learned from."""

    quote: QuoteId
    status: Literal["recorded", "late"]
    repeat: Annotated[bool, Meta(description="true: the same was told before")]


class ProductList(msgspec.Struct, frozen=True):
    """All products, by name."""

    products: list[ProductView]


class ReferencePrice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A new reference price."""

    price: Annotated[float, Meta(ge=0, description="in currency", examples=[12.5])]


class ForgetRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which customer to forget."""

    customer: CustomerKey

    def __repr__(self) -> str:
        return "ForgetRequest(<sensitive>)"


class Forgotten(msgspec.Struct, frozen=True):
    """That a customer's records are erased, and what remains where. The same whether there were any."""

    forgotten: bool
    remains: list[str]


class Health(msgspec.Struct, frozen=True):
    """The process is up."""

    status: Literal["ok"]


LearnerWord = Annotated[
    Literal["up", "away", "behind", "unreadable", "stopped"],
    Meta(
        description="away: nobody learns. behind: slots are due and not learned, or products are set aside. "
        "unreadable: its part of the store is damaged. stopped: it died too often, and waits for the operator"
    ),
]


class Readiness(msgspec.Struct, frozen=True):
    """Are quotes answered and kept? That does not need a learner."""

    ready: bool
    store: Literal["up", "away"]
    learner: LearnerWord
    products: int


class LearningReadiness(msgspec.Struct, frozen=True):
    """Is what is due learned? Seconds are in tens: how long a fit takes is not for everybody."""

    ready: bool
    learner: LearnerWord
    behind: Annotated[int, Meta(description="products with slots due for more than a minute")]
    set_aside: Annotated[int, Meta(description="products that the learner failed at")]
    overdue_seconds: Annotated[float, Meta(description="for how long the oldest slot not learned has been due")]
    since_look_seconds: Annotated[float, Meta(description="since the learner had looked at all products")]
