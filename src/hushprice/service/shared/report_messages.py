"""The bodies of answers about privacy, history, prices and demand. The OpenAPI document is made from these types."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hushprice.service.shared.product import Trust
from hushprice.service.store.values import ChangeKind, ReleaseKind, Status

Label = Annotated[
    Literal["public", "noised", "operator-only"],
    Meta(
        description="public: declared, or counted without reading what any customer is like or did. noised: computed "
        "from records, with noise that the budget has paid for. operator-only: raw"
    ),
]
LearningEnded = Annotated[
    Literal["horizon", "policy fixed", "retired"] | None,
    Meta(description="why nothing more is learned from new quotes; null while learning goes on"),
]
Certificate = dict[str, Any]


class Pair(msgspec.Struct, frozen=True):
    """(epsilon, delta)."""

    epsilon: float
    delta: float


class Left(msgspec.Struct, frozen=True):
    """What is not spent."""

    epsilon: float


class CustomerLevel(msgspec.Struct, frozen=True):
    """The promise for a whole customer with at most `records` records."""

    records: int
    epsilon: float
    delta: float
    mu: float


class Privacy(msgspec.Struct, frozen=True, kw_only=True):
    """What a product promises, and what of it is spent."""

    product: str
    policy: str
    trust: Annotated[
        Trust,
        Meta(description="local: epsilon is of each report. aggregated: where one of two aggregators is honest"),
    ]
    adjacency: str
    claimed: Pair | None
    proven: Pair | None
    spent: Pair | None
    left: Left | None
    customer: CustomerLevel | None
    horizon: int
    quotes: int
    learned: int
    learning: bool
    learning_ended: LearningEnded
    releases: int
    versions: int
    next_release_after_slot: int | None
    note: str
    labels: dict[str, Label]


class AllPrivacy(msgspec.Struct, frozen=True):
    """All products, and what they promise a customer of all of them together."""

    products: list[Privacy]
    customer: Annotated[
        CustomerLevel | None,
        Meta(description="over all products: root of the sum of squares of mu. null where some product has no cap"),
    ]
    label: Label


class Release(msgspec.Struct, frozen=True):
    """One release."""

    sequence: int
    version: int
    kind: ReleaseKind
    records: int
    at: str


class ChangeView(msgspec.Struct, frozen=True):
    """What somebody did by hand that moves prices."""

    at: str
    what: ChangeKind
    detail: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A product's history, public."""

    product: str
    status: Status
    learning: bool
    learning_ended: LearningEnded
    quotes: int
    learned: int
    versions: int
    releases: list[Release]
    reference_price: float
    changes: list[ChangeView]
    label: Label


class Axis(msgspec.Struct, frozen=True):
    """One side of a price map."""

    name: str
    values: list[float | bool | str]


class PriceMap(msgspec.Struct, frozen=True):
    """Prices over two attributes, the others in the middle; prices[row of y][column of x], without dispersion."""

    x: Axis
    y: Axis | None
    prices: list[list[float]]
    currency: str
    label: Label


class DemandCurve(msgspec.Struct, frozen=True):
    """Believed demand over price for one kind of customer, with a band of two deviations."""

    prices: list[float]
    demand: list[float]
    low: list[float]
    high: list[float]
    best_price: float
    label: Label


HealthStatus = Annotated[
    Literal["learning", "paying", "staying", "worse than its holdout", "frozen"],
    Meta(
        description="learning: prices are tried out around today's. paying: prices have moved, on evidence; "
        "whether they earn more, `gain` says. staying: everybody pays today's price. worse than its holdout: with 95 % "
        "confidence, over all looks. frozen: by the product itself, where it is worse by more than its risk (99 %), or "
        "by hand"
    ),
]


class Estimate(msgspec.Struct, frozen=True):
    """With the interval in which it lies 19 times in 20; noise and sampling are counted."""

    estimate: float
    low: float
    high: float


class Fit(msgspec.Struct, frozen=True):
    """What was believed when customers were priced, and what was observed, a customer; the holdout apart."""

    believed: float
    observed: Estimate
    customers: int


class Earnings(msgspec.Struct, frozen=True):
    """In currency a visit, unit cost taken off; `difference` compares customers of the same batch."""

    personal: Estimate
    holdout: Estimate
    difference: Estimate


class PricesNow(msgspec.Struct, frozen=True):
    """What prices do until the next release, in currency."""

    low: Annotated[float, Meta(description="of customers of all kinds, without the coin")]
    high: float
    spread: Annotated[float, Meta(description="a fair coin adds it or takes it off")]
    until_slot: int


class ProductHealth(msgspec.Struct, frozen=True, kw_only=True):
    """Does the model fit, and do prices pay? From releases alone."""

    product: str
    status: HealthStatus
    words: Annotated[str, Meta(description="what prices do now")]
    batches: int
    recent_batches: Annotated[int, Meta(description="the last batches, those of recent_conversion")]
    conversion: Fit | None
    recent_conversion: Fit | None
    at_dearer_price: Annotated[Fit | None, Meta(description="of two prices tried out: is the response believed right?")]
    at_cheaper_price: Fit | None
    by_believed_demand: Annotated[
        Fit | None,
        Meta(
            description="how much more is bought by customers one standard deviation likelier to buy than others: "
            "observed below believed says that differences between customers are overrated"
        ),
    ]
    misfit: Annotated[
        bool,
        Meta(
            description="did visitors of the last batches buy otherwise than believed, by five deviations or more: in "
            "all, at the cheaper of two prices against the dearer, or who is likelier to buy? words says which"
        ),
    ]
    gain: Annotated[
        Estimate | None, Meta(description="what personal prices earn more than the holdout, as a share of that")
    ]
    earnings: Annotated[Earnings | None, Meta(description="for an admin key alone: it tells the unit cost")]
    not_known: Annotated[list[str], Meta(description="what no release has told: fields above that are null")]
    demand_changes: Annotated[int, Meta(description="times that demand was found to have changed")]
    alarms: Annotated[int, Meta(description="times that prices were found to earn too little: the product froze")]
    alarm_after_slot: int | None
    prices: PricesNow
    label: Label
