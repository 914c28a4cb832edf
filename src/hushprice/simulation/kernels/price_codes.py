"""How a period's price is found: the switch of the loops that alg:framework and the baselines share."""

from __future__ import annotations

RANDOM = 0
FIXED = 1
CLAIRVOYANT = 2
LEARNING = 3  # alg:framework
