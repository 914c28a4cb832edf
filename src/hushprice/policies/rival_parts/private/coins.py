"""The coins by which devices say something else than the truth; live they fall exactly as often as they should."""

from __future__ import annotations

from hushprice.noise import System
from hushprice.policies.rival_parts.private.arithmetic import Source
from hushprice.trust import bits
from hushprice.types import BoolArray

_MARGIN = 1e-9  # of epsilon: above what loss.py adds for rounding


def keep_of(epsilon: float) -> float:
    """How often a device may tell the truth: a little less than epsilon allows, and never more than e^30 to 1."""
    return bits.keep_of(epsilon * (1.0 - _MARGIN))


def truths(keep: float, count: int, source: Source) -> BoolArray:
    """Which of so many devices tell the truth. A generator's numbers are multiples of 2^-53 too, but no secret."""
    return source.truths(keep, count) if isinstance(source, System) else source.random(count) < keep
