"""Continual sums by a binary tree (alg:private-cov, lines 4-9).

Node l covers the last 2^l records of a dyadic block; each record's summand enters one node per level, and every node
gets its own noise once, when it closes. The release after record n is the sum of the closed nodes that make up n.

The state is two arrays the caller owns. `exact` holds the closed nodes' sums and is sensitive: it never leaves
releasers/. `running[l]` is the sum of the noisy nodes at level l and above, so `running[0]` is the release; keeping
suffix sums instead of nodes makes a period cost O(1) additions on average instead of O(log T).
"""

from __future__ import annotations

from hushprice.numerics.jit import step
from hushprice.types import FloatArray


def levels(horizon: int) -> int:
    """m = ceil(log2 T), the number of levels that cover the T - 1 records a horizon ever sums.

    >>> levels(100_000), levels(2), levels(1)
    (17, 1, 1)
    """
    return max(1, (horizon - 1).bit_length())


@step
def absorb(exact: FloatArray, running: FloatArray, count: int, summand: FloatArray, noise: FloatArray) -> None:
    """Close the node that record number `count` (1, 2, ...) completes: its exact sum, its noise, the new release.

    exact is (levels, size), running is (levels + 1, size) with a zero last row, summand and noise are (size,).
    """
    level = 0
    while (count >> level) & 1 == 0:  # least significant bit of n
        level += 1
    for k in range(summand.size):
        node = summand[k]
        for below in range(level):
            node += exact[below, k]
            exact[below, k] = 0.0
        exact[level, k] = node
        release = running[level + 1, k] + (node + noise[k])
        for at in range(level + 1):
            running[at, k] = release
