"""Public cells that a column's values are counted in: fixed before anybody looks at a table.

Numbers lie in sixteenths of octaves, from about 0.001 to 3e10 in either direction, with one cell around 0. Quantities
lie in cells of one up to 15, and in octaves beyond. Two more cells are for what is missing and for what is no number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hushprice.logs import fields
from hushprice.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import polars

PER_OCTAVE = 16
_OCTAVES = range(-10, 35)
_UP = np.array(
    [2.0**octave * (1.0 + part / PER_OCTAVE) for octave in _OCTAVES for part in range(PER_OCTAVE)] + [2.0**35]
)
EDGES: FloatArray = np.concatenate([-_UP[::-1], _UP])
QUANTITIES: FloatArray = np.array([*range(17), *(2.0**octave for octave in range(5, 17))])
_FAR = 2.0**36  # as far as the outermost cells are taken to reach
_SURE = 5.0  # deviations of noise, from which on a cell is taken to hold rows: noise alone in one column of thousands
_ENOUGH = 0.9  # of the numbers must be in such cells
LOWEST, HIGHEST = 0.01, 0.99  # the shares of rows below what is proposed as bounds


class Spread(NamedTuple):
    """Where most of a column's numbers are, by noisy counts."""

    low: float
    middle: float
    high: float


def cells_of(column: str, kind: Any, frame: polars.DataFrame, edges: FloatArray, *, truths: bool = False) -> IntArray:
    """How many rows of a frame are in each cell: below, between and above the edges, then missing, then no number."""
    values = frame.select(
        fields.number(column, kind, truths=truths).alias("value"), fields.empty(column, kind).alias("empty")
    )
    value = values["value"].fill_null(np.nan).to_numpy()
    empty = values["empty"].to_numpy()
    if kind.is_float():
        empty = empty | np.isnan(value)  # how a table of floats says that one is missing
    cell = np.searchsorted(edges, value, side="right")
    cell[~np.isfinite(value)] = edges.size + 2
    cell[empty] = edges.size + 1
    return np.bincount(cell, minlength=edges.size + 3)


def spread_of(noisy: FloatArray, noise: float, rows: float | None) -> Spread | None:
    """Bounds of most numbers and their middle, by the finest cells that noise leaves visible; None where none are.

    Neighbouring cells may be added up after the fact: it is a computation on what was published. `rows` is how many
    there are in all, where that is public.
    """
    missing, strange = noisy[-2:]
    for merged in (1, 2, 4, 8, PER_OCTAVE):
        lows, highs, counts = _merged(noisy[:-2], merged)
        numbers = counts.sum() if rows is None else rows - missing - strange
        if not numbers > _SURE * noise * np.sqrt(counts.size * merged if rows is None else 2.0):
            return None  # a column of texts has none, and a cell that noise alone filled would be all of them
        kept = np.where(counts > _SURE * noise * np.sqrt(merged), counts, 0.0)
        if kept.sum() > 0.0 and kept.sum() >= _ENOUGH * numbers:
            below = np.cumsum(kept) / kept.sum()
            first, half, last = (int(np.searchsorted(below, share)) for share in (LOWEST, 0.5, HIGHEST))
            return Spread(float(lows[first]), float(0.5 * (lows[half] + highs[half])), float(highs[last]))
    return None


def _merged(noisy: FloatArray, merged: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Low and high ends and counts of cells, `merged` of them taken together."""
    half = _UP.size - 1
    counts = [noisy[:1], noisy[1 : half + 1].reshape(-1, merged).sum(axis=1), noisy[half + 1 : half + 2]]
    counts += [noisy[half + 2 : -1].reshape(-1, merged).sum(axis=1), noisy[-1:]]
    up = _UP[::merged]
    lows = np.concatenate([[-_FAR], -up[:0:-1], [0.0], up])
    highs = np.concatenate([-up[::-1], [up[0]], up[1:], [_FAR]])
    return lows, highs, np.concatenate(counts)


class Quantity(NamedTuple):
    """What visitors buy, by noisy counts."""

    most: float  # but for one in a thousand
    mean: float | None  # None where noise hides it
    error: float  # of the mean, by the noise


def quantity_of(noisy: FloatArray, noise: float) -> Quantity | None:
    """The most that a visitor buys, and the mean; None where noise hides both."""
    counts = noisy[1:-2]
    kept = np.where(counts > _SURE * noise, counts, 0.0)
    if kept.sum() == 0.0:
        return None
    below = np.cumsum(kept) / kept.sum()
    most = max(float(QUANTITIES[int(np.searchsorted(below, 0.999))]), 1.0)
    # All cells up to the most, also those that hold too few to be seen: else few purchases would be none.
    inside = most >= QUANTITIES[: counts.size]
    bought, whole = QUANTITIES[: counts.size][inside], float(counts[inside].sum())
    mean = float(counts[inside] @ bought) / whole
    error = noise * float(np.linalg.norm(bought - mean)) / whole
    return Quantity(most, mean if mean > 2.0 * error else None, error)


def holds_rows(noisy: FloatArray, noise: float) -> BoolArray:
    """Which cells' noisy counts are such that noise alone hardly has them?"""
    return np.asarray(noisy > _SURE * noise)
