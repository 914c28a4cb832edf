"""The bodies of answers about privacy, history, prices and demand. The OpenAPI document is made from these types."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

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
