"""What a trial adds up."""

from __future__ import annotations

TOTALS = 8  # FAILED is 1 when an estimate missed its certified tolerance
# START is the regret before the first price that was learned; only noisy-newton tells it apart.
REGRET, REVENUE, SURPLUS, ESTIMATES, INDEFINITE, CLIPPED, FAILED, START = range(TOTALS)
