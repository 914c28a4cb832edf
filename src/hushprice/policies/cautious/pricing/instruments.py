"""What a residual is multiplied by before it is added up: any function of customer, coin and price will do.

Sum of psi (h - y) is known in expectation whatever psi and h are (a moment equation), so both may be chosen for what
they cost. Customers are added up apart by their coin, and with x^ = x held to a ball of the 1-norm

    psi = [1; x^; 0; 0] where the coin shows the dearer price, [0; 0; 1; x^] where it shows the cheaper one.

The coin is the same whoever the customer is, so a record is in one half whatever it holds, and a purchase moves one
number by 1 (docs/proofs/moments.md).
"""

from __future__ import annotations

import functools

import numpy as np

from hushprice.types import FloatArray, IntArray

RADIUS = 0.5  # of the ball x^ lies in, times the number of entries: what most customers' contexts lie in

# A batch's public choice: what share of the budget goes to attributes. For the common price alone; for common and
# personal prices; mostly for personal ones; for conversion alone, coins not told apart, which is all there is to see
# where nothing is tried out.
SHARES = (0.0, 0.25, 0.5, 0.0)
WATCHING = 3


def held(contexts: FloatArray) -> FloatArray:
    """Rows x^ = x / max(|x|, radius): the sum of their sizes is at most 1."""
    radius = RADIUS * max(contexts.shape[1], 1)
    lengths = np.abs(contexts).sum(axis=1)
    return np.asarray(contexts / np.maximum(lengths, radius)[:, None])


def entries(contexts: int) -> int:
    """The length of psi."""
    return 2 * (contexts + 1)


@functools.lru_cache(maxsize=128)
def used_entries(contexts: int, choice: int) -> IntArray:
    """Which entries of psi are released by this choice; the others are left out."""
    if choice == WATCHING:
        return np.array([0], dtype=np.int64)
    if SHARES[choice] == 0.0 or contexts == 0:
        return np.array([0, contexts + 1], dtype=np.int64)
    return np.arange(entries(contexts), dtype=np.int64)


def is_common(contexts: int) -> FloatArray:
    """True for the entries that every customer adds to alike."""
    return np.arange(entries(contexts)) % (contexts + 1) == 0


def instruments(contexts: FloatArray, coins: FloatArray, choice: int) -> FloatArray:
    """Rows psi of customers with these contexts and coins of +1 and -1."""
    half = contexts.shape[1] + 1
    rows = np.zeros((len(contexts), 2, half))
    side = np.zeros(len(contexts), dtype=np.int64) if choice == WATCHING else np.where(coins > 0.0, 0, 1)
    each = np.arange(len(contexts))
    rows[each, side, 0] = 1.0
    if SHARES[choice] > 0.0:
        rows[each, side, 1:] = held(contexts)
    return rows.reshape(len(contexts), 2 * half)
