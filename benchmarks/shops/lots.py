"""Thirty-two worlds drawn by lot as those of `drawn.py` are, but other ones: constants may be chosen on these."""

from __future__ import annotations

from shops import drawn
from shops.designed import Case

FIRST, COUNT = 100, 32  # of the lots; `drawn.py` has those from 0


def cases(horizon: int) -> dict[str, Case]:
    """All of them; those that change do so at half the horizon, or evenly over it."""
    return dict(drawn._case(number, horizon) for number in range(FIRST, FIRST + COUNT))
