"""How likely a log's prices were: as the log kept it, or estimated by a simple model, and which is said.

- A few prices: a multinomial logistic regression of the price on the attributes.
- Many: a line in the attributes, and a histogram of what is left of the price around it.

Estimates are exact numbers from rows: for the operator alone.
"""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
from scipy.special import softmax

from hushprice.errors import InvalidInput
from hushprice.logs.log_reader import LogReader
from hushprice.logs.rows import LogRows
from hushprice.logs.survey import Survey, rounded
from hushprice.policies.cautious.pricing.shop_model import with_constant
from hushprice.types import FloatArray, IntArray

Kind = Literal["probability", "density"]
_RIDGE = 1.0
_STEPS = 25
_CLOSE = 1e-6
_BINS = 40
_SPARE = 0.5  # rows added to every bin, so that no density is 0


class Propensities(Protocol):
    """Of the price that a row was charged: its probability, or its density in relative prices."""

    label: str
    kind: Kind
    estimated: bool

    def of(self, rows: LogRows) -> FloatArray: ...


class LoggedPropensities:
    """The log's own. A density is in the shop's currency there."""

    estimated = False

    def __init__(self, kind: Kind, reach: float) -> None:
        self.kind = kind
        self.label = f"kept by the log ({kind})"
        self._scale = reach if kind == "density" else 1.0

    def of(self, rows: LogRows) -> FloatArray:
        kept = rows.propensities
        most = 1.0 + 1e-9 if self.kind == "probability" else np.inf
        if kept is None:
            raise InvalidInput(f"propensity is missing from row {rows.first + 1} on; estimate it instead")
        bad = np.flatnonzero(~((kept > 0.0) & (kept <= most) & np.isfinite(kept)))  # NaN fails
        if bad.size:
            wanted = "a probability above 0 and at most 1" if self.kind == "probability" else "a density above 0"
            row, got = rows.first + int(bad[0]) + 1, float(kept[bad[0]])
            raise InvalidInput(f"propensity in row {row} must be {wanted}, got {got!r}")
        return np.asarray(kept * self._scale)


class ChosenPropensities:
    """A few prices, by multinomial logistic regression on [1; x]."""

    kind: Kind = "probability"
    estimated = True

    def __init__(self, choices: tuple[float, ...], weights: FloatArray) -> None:
        self.label = f"estimated: multinomial logistic regression of {len(choices)} prices on the attributes"
        self.choices = np.array(choices)
        self.weights = weights  # (k + 1, prices), the first price's are 0

    def chances(self, contexts: FloatArray) -> FloatArray:
        """Of every price, a row a customer."""
        return np.asarray(softmax(with_constant(contexts) @ self.weights, axis=1))

    def of(self, rows: LogRows) -> FloatArray:
        return np.asarray(self.chances(rows.contexts)[np.arange(len(rows.prices)), self.numbers(rows.prices)])

    def numbers(self, prices: FloatArray) -> IntArray:
        """Which of the prices each is."""
        return np.searchsorted(self.choices, rounded(prices))


def fit_choices(found: Survey, reader: LogReader) -> ChosenPropensities:
    """Penalized maximum likelihood, by Newton steps, a pass over the log each."""
    entries, prices = found.mean_price.size, len(found.choices)
    size = entries * (prices - 1)
    made = ChosenPropensities(found.choices, np.zeros((entries, prices)))
    for _ in range(_STEPS if prices > 1 else 0):
        gradient, curvature = np.zeros((entries, prices - 1)), np.zeros((size, size))
        for rows in reader.rows():
            _add_choices(made, rows, gradient, curvature)
        penalty = np.full((entries, prices - 1), _RIDGE)
        penalty[0] = 1e-6  # how often a price is charged at all is not held back
        pull = (gradient - penalty * made.weights[:, 1:]).T.ravel()
        step = np.linalg.solve(curvature + np.diag(penalty.T.ravel()), pull)
        length = float(np.sqrt(step @ step))
        made.weights[:, 1:] += step.reshape(prices - 1, entries).T * min(1.0, 4.0 / max(length, 1e-300))
        if length < _CLOSE:
            break
    return made


def _add_choices(made: ChosenPropensities, rows: LogRows, gradient: FloatArray, curvature: FloatArray) -> None:
    customers, chances = with_constant(rows.contexts), made.chances(rows.contexts)[:, 1:]
    entries, others = gradient.shape
    charged = made.numbers(rows.prices)[:, None] == np.arange(1, others + 1)
    gradient += customers.T @ (charged - chances)
    for a in range(others):
        for b in range(a, others):
            both = chances[:, a] * ((a == b) - chances[:, b])
            block = (customers * both[:, None]).T @ customers
            curvature[a * entries : (a + 1) * entries, b * entries : (b + 1) * entries] += block
            if a != b:
                curvature[b * entries : (b + 1) * entries, a * entries : (a + 1) * entries] += block


class SpreadPropensities:
    """Many prices: a line in [1; x], and a histogram of what is left, one for everybody."""

    kind: Kind = "density"
    estimated = True
    label = "estimated: linear regression of price on the attributes, histogram of what is left"

    def __init__(self, line: FloatArray, edges: tuple[float, float], density: FloatArray) -> None:
        self._line, self._edges, self._density = line, edges, density

    def of(self, rows: LogRows) -> FloatArray:
        return self.at(rows.contexts, rows.prices)

    def at(self, contexts: FloatArray, prices: FloatArray) -> FloatArray:
        """The density of relative prices, of customers with these contexts."""
        left = prices - with_constant(contexts) @ self._line
        return np.asarray(self._density[_bins(left, self._edges)])


def fit_spread(found: Survey, reader: LogReader) -> SpreadPropensities:
    """Two more passes: how far prices are from the line, and how often how far."""
    low, high = np.inf, -np.inf
    for rows in reader.rows():
        left = rows.prices - with_constant(rows.contexts) @ found.mean_price
        low, high = min(low, float(left.min())), max(high, float(left.max()))
    edges = (low, max(high, low + 1e-9))
    counts = np.full(_BINS, _SPARE)
    for rows in reader.rows():
        left = rows.prices - with_constant(rows.contexts) @ found.mean_price
        counts += np.bincount(_bins(left, edges), minlength=_BINS)
    width = (edges[1] - edges[0]) / _BINS
    return SpreadPropensities(found.mean_price, edges, counts / (counts.sum() * width))


def _bins(left: FloatArray, edges: tuple[float, float]) -> IntArray:
    place = (left - edges[0]) / (edges[1] - edges[0]) * _BINS
    return np.clip(place, 0, _BINS - 1).astype(np.int64)
