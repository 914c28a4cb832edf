"""What every result is shown beside."""

from __future__ import annotations

from dataclasses import replace

from hushprice import checks
from hushprice.policies.paper.policy import nonprivate
from hushprice.policies.paper.rules import Tuning
from hushprice.policies.protocol import CLAIRVOYANT, FIXED, RANDOM, Policy
from hushprice.privacy.budget import EpsilonDelta

_NOTHING = EpsilonDelta(0.0, 0.0)  # reads no record, so reveals none


def random() -> Policy:
    """A uniformly random price for everyone."""
    return Policy(name="random", code=RANDOM, claimed=_NOTHING, proven=_NOTHING)


def fixed(price: float | None = None) -> Policy:
    """One price for everyone; without a price, the best one in hindsight, found with theta* and all contexts known.

    The hindsight price is a yardstick that no shop could have used; its epsilon of 0 is that of quoting any one price.
    """
    if price is not None:
        checks.within(0.0, 1.0, price=price)
    return Policy(name="fixed", code=FIXED, price=price, claimed=_NOTHING, proven=_NOTHING)


def clairvoyant() -> Policy:
    """p*_t, which knows theta*. Its regret is zero, and its cost is that of the environment alone."""
    return Policy(name="clairvoyant", code=CLAIRVOYANT)


def input_perturbation(epsilon: float, *, contexts: int, tuning: Tuning) -> Policy:
    """subsec:input-perturbation: the non-private algorithm on x + Laplace noise, per entry, unclipped.

    Reading: the paper gives no noise law. Contexts in [-1, 1]^k have l1 sensitivity 2k, so the scale is 2k/epsilon. It
    protects x alone and not y, so nothing is claimed.
    """
    checks.positive(epsilon=epsilon)
    checks.whole(0, contexts=contexts)
    return replace(nonprivate(tuning=tuning), name="input-perturbation", input_noise=2.0 * contexts / epsilon)
