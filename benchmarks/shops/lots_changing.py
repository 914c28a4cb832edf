"""Twenty-four worlds that change, drawn by lot as those of `drawn.py` are, first run after the last change of cautious.

Eight each that jump, drift, and have seasons.
"""

from __future__ import annotations

from shops import drawn
from shops.designed import Case

FIRST, COUNT = 2000, 64  # of the lots, of which those that change are taken
CHANGING = ("jump", "drift", "season")


def cases(horizon: int) -> dict[str, Case]:
    """All of them; they change at half the horizon, or evenly over it."""
    numbers = [n for n in range(FIRST, FIRST + COUNT) if drawn.KINDS[n % len(drawn.KINDS)] in CHANGING]
    return dict(drawn._case(number, horizon) for number in numbers)
