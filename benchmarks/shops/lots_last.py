"""Twelve more worlds drawn by lot as those of `drawn.py` are, first run, once, after the last change of cautious."""

from __future__ import annotations

from shops import drawn
from shops.designed import Case

FIRST, COUNT = 904, 12  # of the lots


def cases(horizon: int) -> dict[str, Case]:
    """All of them; those that change do so at half the horizon, or evenly over it."""
    return dict(drawn._case(number, horizon) for number in range(FIRST, FIRST + COUNT))
