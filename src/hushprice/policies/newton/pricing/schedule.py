"""When batches and their blocks end: functions of slot numbers alone, so that no record decides what it is summed with.

A batch that follows n records ends at the latest after GROWTH n records; probe.py makes some shorter. On the way there
it is looked at in blocks, about BLOCKS times the root of its length many, and may end after any of them where released
curvatures ask for it. So a direction that opens right after a release waits for a share of the batch that vanishes as
n grows.
"""

from __future__ import annotations

import math

from hushprice.numerics.jit import merged


@merged
def batch_end(records: int, first: int, growth: float) -> int:
    """The slot after which the batch that follows `records` records ends at the latest."""
    if records == 0:
        return first
    return max(records + 1, int(math.ceil(growth * records)))  # noqa: RUF046 (a GPU rounds up to a float)


@merged
def block_level(length: int, share: float, most: int) -> int:
    """The least l, up to `most`, with 2^l >= share sqrt(length): a batch of that length has 2^l blocks at most."""
    level = 0
    while level < most and (1 << level) < share * math.sqrt(length):
        level += 1
    return level


@merged
def block_length(length: int, level: int) -> int:
    """Records a block; the last one may be shorter."""
    return (length + (1 << level) - 1) >> level
