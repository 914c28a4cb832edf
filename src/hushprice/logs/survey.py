"""A first look at a log: its rows, its prices, how they move with attributes. Exact, for the operator alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hushprice.errors import InvalidInput
from hushprice.logs.log_reader import LogReader
from hushprice.policies.cautious.pricing.shop_model import with_constant
from hushprice.types import FloatArray

MOST_CHOICES = 16  # different prices that count as a finite set
_TILTED = 4.0  # times what chance explains: more is a price that moves with attributes
_DIGITS = 9  # relative prices that agree in them are one


@dataclass(frozen=True, kw_only=True, eq=False)
class Survey:
    """What the first pass found."""

    rows: int
    low: float  # relative prices charged
    high: float
    choices: tuple[float, ...]  # the prices, where there are at most MOST_CHOICES; else none
    kept: bool  # has every row a propensity?
    mean_price: FloatArray  # b of the regression price = b'[1; x]
    deviation: float  # of prices around it

    def __repr__(self) -> str:
        return "Survey(<sensitive>)"


def survey(reader: LogReader, contexts: int) -> Survey:
    """The first pass; a log without a row, or with one price throughout, can still be asked about that price."""
    size, count, kept = contexts + 1, 0, True
    low, high, seen = np.inf, -np.inf, np.array([])
    squares, products, total = np.zeros((size, size)), np.zeros(size), 0.0
    for rows in reader.rows():
        customers = with_constant(rows.contexts)
        count += len(rows.prices)
        low, high = min(low, float(rows.prices.min())), max(high, float(rows.prices.max()))
        if seen.size <= MOST_CHOICES:
            seen = np.unique(np.concatenate([seen, rounded(rows.prices)]))
        kept = kept and rows.propensities is not None
        squares += customers.T @ customers
        products += customers.T @ rows.prices
        total += float(rows.prices @ rows.prices)
    if count == 0:
        raise InvalidInput("the log has no row")
    line, left = _line(squares, products, total)
    return Survey(
        rows=count,
        low=low,
        high=high,
        choices=tuple(seen.tolist()) if seen.size <= MOST_CHOICES else (),
        kept=kept,
        mean_price=line,
        deviation=float(np.sqrt(left / count)),
    )


def _line(squares: FloatArray, products: FloatArray, total: float) -> tuple[FloatArray, float]:
    """The regression of price on [1; x] and the squares it leaves; a level line where attributes explain nothing.

    A line that is tilted by chance alone blurs the ends of the range, where densities then come out too low.
    """
    count, size = float(squares[0, 0]), len(products)
    flat = np.zeros(size)
    flat[0] = products[0] / count
    apart = max(total - flat[0] * float(products[0]), 0.0)
    line = np.linalg.lstsq(squares + 1e-9 * count * np.eye(size), products, rcond=None)[0]
    left = max(total - 2.0 * float(line @ products) + float(line @ squares @ line), 0.0)
    if apart - left <= _TILTED * (size - 1) * apart / count:
        return flat, apart
    return np.asarray(line), left


def rounded(prices: FloatArray) -> FloatArray:
    """Relative prices without a float's last digits; never -0.0."""
    return np.asarray(np.round(prices, _DIGITS) + 0.0)
