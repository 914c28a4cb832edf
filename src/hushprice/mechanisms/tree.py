"""Continual sums by a binary tree (alg:private-cov, lines 4-9).

A node of level l covers 2^l consecutive records; a record enters at most one node of each level, and every node gets
its own noise once, when it closes. The release after record n is the sum of the closed nodes that make up n.

The state is two arrays the caller owns. `exact` holds the closed nodes' sums and is sensitive: it never leaves
releasers/. `running[l]` is the sum of the noisy nodes at level l and above, so `running[0]` is the release; keeping
suffix sums instead of nodes makes a period cost O(1) additions on average instead of O(log T).
"""

from __future__ import annotations

import numpy as np

from hushprice.numerics.jit import inlined, step
from hushprice.types import FloatArray

_1 = np.uint64(1)


@inlined
def absorb(exact: FloatArray, running: FloatArray, count: int, summand: FloatArray, noise: FloatArray) -> None:
    """Close the node that record number `count` (1, 2, ...) completes: its exact sum, its noise, the new release.

    exact is (levels, size), running is (levels + 1, size) with a zero last row, summand and noise are (size,). A record
    past the tree's 2^levels - 1 has no node and changes nothing: alg:private-cov releases nothing after T - 1.
    """
    if count >> exact.shape[0] != 0:
        return
    # Unsigned: nobody asks whether an index is negative.
    level, size = np.uint64(_level(count)), np.uint64(summand.size)
    for k in range(size):
        exact[level, k] = summand[k]
    for below in range(level):  # all entries of a node together: a GPU has its levels' loops once, not once an entry
        for k in range(size):
            exact[level, k] += exact[below, k]
            exact[below, k] = 0.0
    for k in range(size):
        running[level, k] = running[level + _1, k] + (exact[level, k] + noise[k])
    for at in range(level):
        for k in range(size):
            running[at, k] = running[level, k]


@step
def absorb_many(
    exact: FloatArray,
    running: FloatArray,
    first: int,
    count: int,
    summands: FloatArray,
    noise: FloatArray,
    scales: FloatArray,
    released: FloatArray,
) -> None:
    """`absorb` records first .. first + count - 1, one column each, and note in `released` what was known before each.

    Entry by entry of the sums rather than record by record: entries never meet, and one entry's nodes stay at hand.
    """
    for k in range(summands.shape[0]):
        for i in range(count):
            record = first + i
            released[k, i] = running[0, k]
            if record >> exact.shape[0] == 0:
                _close(exact, running, k, _level(record), summands[k, i], scales[k] * noise[k, i])


@inlined
def _level(count: int) -> int:
    """The least significant bit of n."""
    level = 0
    while (count >> level) & 1 == 0:
        level += 1
    return level


@inlined
def _close(exact: FloatArray, running: FloatArray, k: int, level: int, summand: float, noise: float) -> None:
    """Entry k of the node at `level`: its exact sum, its noise, the new release."""
    node = summand
    for below in range(level):
        node += exact[below, k]
        exact[below, k] = 0.0
    exact[level, k] = node
    release = running[level + 1, k] + (node + noise)
    for at in range(level + 1):
        running[at, k] = release
