"""How a period's price is found: the switch of the loop that alg:framework and the baselines share."""

from __future__ import annotations

from hushprice.policies.baselines import Clairvoyant, FixedPrice, RandomPrices
from hushprice.policies.paper.policy import PaperPolicy
from hushprice.policies.protocol import Policy

RANDOM = 0
FIXED = 1
CLAIRVOYANT = 2
LEARNING = 3  # alg:framework

_CODES: dict[type[Policy], int] = {
    RandomPrices: RANDOM,
    FixedPrice: FIXED,
    Clairvoyant: CLAIRVOYANT,
    PaperPolicy: LEARNING,
}


def code_of(policy: Policy) -> int:
    """The code of a policy that this loop runs."""
    return _CODES[type(policy)]
