"""An exact audit of the sums that answers about a log are made of: how far one person moves them, and what is charged.

Noise is left out, so no chance is involved: two logs that differ in one person's rows, at corners and far out of
bounds, with more rows than count; the distance of their sums, in units of the noise, against the mu that is charged.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hushprice.logs import model_check, release_values
from hushprice.logs.calibration import Cells
from hushprice.logs.price_policy import PricePolicy
from hushprice.logs.private_sums import Contribution, SumPrice, noise_of, open_sums, release_sum
from hushprice.logs.propensities import LoggedPropensities
from hushprice.logs.rows import LogRows
from hushprice.logs.weighting import Weighting
from hushprice.policies.cautious.pricing.shop_model import model_of
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.loss import loss_of
from hushprice.product import Product

ROWS = 2  # of a person that count
_FAR = (-3.0, 0.0, 0.5, 1.0, 3.0)


@dataclass(frozen=True, slots=True)
class LogAudit:
    """One sum, and the pair of logs that moved it most."""

    name: str
    moved: float  # in units of the noise
    charged: float  # mu

    @property
    def holds(self) -> bool:
        return self.moved <= self.charged


class MemoryLog:
    """Rows in memory. Sensitive."""

    partitions = 1

    def __init__(self, *blocks: LogRows) -> None:
        self._blocks = blocks
        self.rows = sum(len(each.prices) for each in blocks)

    def blocks(self, partition: int) -> Iterator[LogRows]:
        yield from self._blocks

    def __repr__(self) -> str:
        return "MemoryLog(<sensitive>)"


class NoNoise:
    """A source without any: what is left is what a record moves."""

    def integers(self, scale: float, count: int) -> list[int]:
        return [0] * count


def audit_log_sums(epsilon: float = 1.0, delta: float = 1e-6) -> list[LogAudit]:
    """Values by a few prices and by many, counts of prices, and the cells of a check."""
    product = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.3, contexts=2)
    fit = PricePolicy(label="fit", model=model_of(product), theta=np.array([0.1, 0.5, -0.4, 0.2, 0.6, 0.3]))
    few, ends = (-1.0, 0.0, 1.0), (product.lowest, product.highest)
    exact = Weighting(
        way="exact",
        propensities=LoggedPropensities("probability", product.reach),
        ends=ends,
        choices=few,
        positive=True,
    )
    kernel = Weighting(
        way="kernel", propensities=LoggedPropensities("density", product.reach), ends=ends, bandwidth=0.2, positive=True
    )
    cells = Cells(fit, product.contexts)
    asked: list[tuple[str, int, Contribution]] = [
        ("few prices", 9, release_values.WeighedVisits(product, fit.among(few), exact, 4.0)),
        ("many prices", 9, release_values.WeighedVisits(product, fit, kernel, 4.0)),
        ("counts of prices", 3, release_values.PriceCounts(np.array(few), "probability")),
        ("cells of a check", 3 * cells.count, model_check.CellCounts(cells)),
    ]
    claimed = EpsilonDelta(epsilon, delta)
    return [_worst(name, entries, add, claimed) for name, entries, add in asked]


def _worst(name: str, entries: int, add: Contribution, claimed: EpsilonDelta) -> LogAudit:
    ledger = open_sums(claimed, (SumPrice(entries),), rows=ROWS)
    ((event, _),) = [(each.event, each.count) for each in ledger.allowance or ()]
    sums = []
    for person in _people():
        made, _ = release_sum(_log(person), add, ledger, 0, NoNoise())
        sums.append(made)
    apart = np.array(sums)[:, None] - np.array(sums)[None]
    moved = float(np.sqrt((apart * apart).sum(axis=2)).max()) / noise_of(ledger, 0)
    return LogAudit(name, moved, loss_of(event, 1, ledger.adjacency).mu)


def _people() -> Iterator[list[tuple[float, ...]]]:
    """The rows of the person in question: none, or four of one kind: (x1, x2, price, demand, propensity)."""
    yield []
    corners = itertools.product((-1.0, 1.0), (-1.0, 1.0), (-1.0, 0.0, 1.0), (0.0, 1.0), (0.1, 1.0))
    far = ((0.3, -0.2, 0.5, each, 0.05) for each in (*_FAR, float("nan")))
    for row in itertools.chain(corners, far):
        yield [row] * (2 * ROWS)


def _log(person: list[tuple[float, ...]]) -> MemoryLog:
    """Three others' rows, the same in every world, and the person's."""
    others = [(0.5, -0.5, 0.0, 1.0, 0.5), (-0.5, 0.25, 1.0, 0.0, 0.25), (0.0, 1.0, -1.0, 1.0, 0.25)]
    table = np.array([*others, *person])
    whose = np.array([11, 12, 13, *[7] * len(person)], dtype=np.int64)
    columns: dict[str, Any] = {"contexts": np.ascontiguousarray(table[:, :2]), "customers": whose, "first": 0}
    return MemoryLog(LogRows(prices=table[:, 2], demands=table[:, 3], propensities=table[:, 4], **columns))
