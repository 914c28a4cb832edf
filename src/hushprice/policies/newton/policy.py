"""noisy-newton as a policy: its rules, what they claim, and what the accountant proves for them."""

from __future__ import annotations

from hushprice.demand.protocol import Demand
from hushprice.policies.newton.rules import Newton
from hushprice.policies.protocol import NEWTON, Policy, basis_of
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta


def noisy_newton(
    rules: Newton, *, demand: Demand, dimension: int, adjacency: Adjacency = Adjacency.REPLACE_ONE
) -> Policy:
    """The policy with these rules. Its guarantee holds for any number of customers, so it is bound to no horizon."""
    noise = rules.noise
    proven = EpsilonDelta(noise.proven_epsilon(dimension, adjacency), noise.claimed.delta)
    return Policy(
        name="noisy-newton",
        code=NEWTON,
        newton=rules,
        basis=basis_of(demand, dimension),
        adjacency=adjacency,
        claimed=noise.claimed if rules.drawn else None,
        proven=proven if rules.drawn else None,
    )
