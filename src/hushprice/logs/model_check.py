"""Does a fit describe a log? Calibration, price response by segment, a richer model; exact or as a charged release."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincc

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.logs.buckets import BucketSums, buckets_of
from hushprice.logs.calibration import BINS, CELLS, EVERYBODY, Bin, Cells, Segment, names_of
from hushprice.logs.evaluation import EXACT
from hushprice.logs.log_reader import LogReader, Progress, silent
from hushprice.logs.price_policy import PricePolicy
from hushprice.logs.private_sums import Integers, SumPrice, noise_of, open_sums, release_sum
from hushprice.logs.richer_model import RicherTest, richer_test
from hushprice.logs.rows import Log, LogRows
from hushprice.noise import System
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.ledger import Ledger
from hushprice.product import Product
from hushprice.types import FloatArray

UNLIKELY = 0.01  # a chance below it is taken for a finding
_FEWEST = 30.0  # rows of a cell that is shown
_LARGE = 0.1  # of mean demand: a mean gap beyond it matters to prices


@dataclass(frozen=True, kw_only=True)
class ModelCheck:
    """What was found. Demand is a share of the largest quantity; chances are of as large a gap were the fit right."""

    bins: tuple[Bin, ...]
    segments: tuple[Segment, ...]
    gap: float  # mean distance of believed from observed demand over bins, as a share of observed demand
    calibration: float  # chance of the gaps in bins
    response: float  # chance of the largest gap in a segment's price response, however many there are
    richer: RicherTest | None  # None: a release does not ask
    verdict: str
    ledger: Ledger | None  # what it cost; None: exact
    label: str = EXACT


class _CellSums:
    """Counts, believed demand and residuals of cells, with variances of the residuals' sums."""

    def __init__(self, sums: FloatArray, variances: FloatArray, floor: float) -> None:
        self.rows, self.believed, self.residuals = sums  # (3, cells)
        self.variances = variances
        self.floor = floor

    def shown(self, cell: int) -> bool:
        return bool(self.rows[cell] > self.floor and self.variances[cell] > 0.0)


def check_model(log: Log, product: Product, fit: PricePolicy, *, progress: Progress = silent) -> ModelCheck:
    """The fit held against a log. Exact: for the operator alone."""
    reader, cells = LogReader(log, progress), Cells(fit, product.contexts)
    sums = BucketSums(3 * cells.count)
    for rows in reader.rows():
        sums.add(buckets_of(rows), _numbers(cells, rows, residual=True))
    by_cell = sums.sums.reshape(len(sums.sums), cells.count, 3)
    totals = by_cell.sum(axis=0).T
    if not totals[0].any():
        raise InvalidInput("the log has no row")
    apart = by_cell[:, :, 2] - by_cell[:, :, 0] * (totals[2] / np.maximum(totals[0], 1.0))
    found = _CellSums(totals, np.asarray((apart * apart).sum(axis=0)), _FEWEST)
    return _answer(cells, product, found, richer_test(fit.model, reader), label=EXACT)


def release_check(
    log: Log,
    product: Product,
    fit: PricePolicy,
    *,
    epsilon: float,
    delta: float = 1e-6,
    rows_per_customer: int = 1,
    source: Integers | None = None,
) -> ModelCheck:
    """The fit held against noisy sums of a log, for anybody; whether a richer model says more is not asked."""
    checks.whole(1, rows_per_customer=rows_per_customer)
    cells = Cells(fit, product.contexts)
    ledger = open_sums(EpsilonDelta(epsilon, delta), (SumPrice(3 * cells.count),), rows=rows_per_customer)
    adding = CellCounts(cells)
    sums, ledger = release_sum(log, adding, ledger, 0, source or System())
    noise = noise_of(ledger, 0) / adding.scale
    rows, believed, observed = (sums / adding.scale).reshape(cells.count, 3).T
    share = np.clip(believed / np.maximum(rows, 1.0), 0.0, 1.0)
    sampling = np.maximum(rows, 0.0) * share * (1.0 - share) * rows_per_customer
    found = _CellSums(np.stack([rows, believed, observed - believed]), sampling + 2.0 * noise**2, _FEWEST + 4.0 * noise)
    return _answer(cells, product, found, None, ledger=ledger, label="RELEASE: noise is added and charged, for anybody")


@dataclass(frozen=True, eq=False)
class CellCounts:
    """A row adds (1, believed, demand) to each of its cells, scaled to length 1 at most."""

    cells: Cells

    @property
    def scale(self) -> float:
        return 1.0 / math.sqrt(3.0 * (1 + self.cells.places))

    def __call__(self, rows: LogRows) -> FloatArray:
        return _numbers(self.cells, rows, residual=False) * self.scale


def _numbers(cells: Cells, rows: LogRows, *, residual: bool) -> FloatArray:
    """Columns 3 c to 3 c + 2 are those of cell c: count, believed demand, and demand or what it is above believed."""
    which, believed = cells.of(rows)
    third = rows.demands - believed if residual else rows.demands
    made = np.zeros((len(believed), cells.count, 3))
    at = np.arange(len(believed))
    for column in which.T:
        made[at, column] = np.stack([np.ones(len(believed)), believed, third], axis=1)
    return made.reshape(len(believed), -1)


def _answer(
    cells: Cells,
    product: Product,
    found: _CellSums,
    richer: RicherTest | None,
    *,
    label: str,
    ledger: Ledger | None = None,
) -> ModelCheck:
    bins, segments = _bins(cells, found), _segments(product, found)
    total = sum(each.rows * each.observed for each in bins)
    gap = sum(each.rows * abs(each.observed - each.believed) for each in bins) / total if total > 0.0 else math.inf
    squares = sum(((each.observed - each.believed) / each.error) ** 2 for each in bins)
    calibration = float(gammaincc(0.5 * len(bins), 0.5 * squares)) if bins else 1.0
    largest = max((abs(each.observed - each.believed) / each.error for each in segments), default=0.0)
    response = min(1.0, max(len(segments), 1) * math.erfc(largest / math.sqrt(2.0)))
    return ModelCheck(
        bins=bins,
        segments=segments,
        gap=gap,
        calibration=calibration,
        response=response,
        richer=richer,
        verdict=_verdict(bins, gap, calibration, response, richer),
        ledger=ledger,
        label=label,
    )


def _bins(cells: Cells, found: _CellSums) -> tuple[Bin, ...]:
    edges = [0.0, *cells.edges.tolist(), 1.0]
    return tuple(
        Bin(
            low=edges[cell],
            high=edges[cell + 1],
            rows=float(found.rows[cell]),
            believed=float(found.believed[cell] / found.rows[cell]),
            observed=float((found.believed[cell] + found.residuals[cell]) / found.rows[cell]),
            error=math.sqrt(float(found.variances[cell])) / float(found.rows[cell]),
        )
        for cell in range(BINS)
        if found.shown(cell)
    )


def _segments(product: Product, found: _CellSums) -> tuple[Segment, ...]:
    made = []
    for place, name in enumerate(names_of(product)):
        for half, word in enumerate((f"{name} up to 0", f"{name} above 0")):
            low, high = (BINS + CELLS * place + 2 * half + above for above in (0, 1))
            if found.shown(low) and found.shown(high):
                made.append(_segment(EVERYBODY if name == EVERYBODY else word, found, low, high))
    return tuple(made)


def _segment(name: str, found: _CellSums, low: int, high: int) -> Segment:
    believed = [float(found.believed[cell] / found.rows[cell]) for cell in (low, high)]
    residual = [float(found.residuals[cell] / found.rows[cell]) for cell in (low, high)]
    variance = sum(float(found.variances[cell] / found.rows[cell] ** 2) for cell in (low, high))
    fall = believed[0] - believed[1]
    return Segment(
        name=name,
        rows=float(found.rows[low] + found.rows[high]),
        believed=fall,
        observed=fall + residual[0] - residual[1],
        error=math.sqrt(variance),
    )


def _verdict(bins: tuple[Bin, ...], gap: float, calibration: float, response: float, richer: RicherTest | None) -> str:
    if not bins:
        return "This log cannot tell: no bin of believed demand has enough rows."
    wrong = []
    off = f"{gap:.0%} of demand" if math.isfinite(gap) else "all that is believed: nothing was bought"
    if calibration < UNLIKELY:
        wrong.append(f"believed demand is off by {off}, on average")
    if response < UNLIKELY:
        wrong.append("a segment reacts to prices otherwise than believed")
    if richer is not None and richer.chance < UNLIKELY:
        wrong.append("squares and products of price and attributes matter beyond the model")
    if not wrong:
        return "The model fits: what is bought differs from what is believed by no more than chance explains."
    size = "much" if gap > _LARGE else "little"
    return f"The model does not fit ({'; '.join(wrong)}). It is off by {size}: {off}."
