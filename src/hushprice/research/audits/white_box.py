"""Everything that can be measured inside a policy's two releasers, on the neighbours most likely to be told apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hushprice.demand.protocol import Demand, lowest
from hushprice.errors import InvalidInput
from hushprice.policies.newton.policy import NewtonPolicy
from hushprice.policies.paper.noise import events
from hushprice.policies.paper.policy import PaperPolicy
from hushprice.policies.protocol import Policy
from hushprice.policies.rival_parts.rival_policy import RivalPolicy
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import CovarianceStream, PerturbedEstimate
from hushprice.research.audits.batches import audit_batches, batch_with
from hushprice.research.audits.finding import Measurement
from hushprice.research.audits.linear_gaussian import audit_stream
from hushprice.research.audits.objective_density import (
    NeighbouringDatabases,
    audit_estimate,
    geometry,
    log_density,
    multipliers,
    releaser_of,
    sample,
)
from hushprice.research.audits.rivals import audit_rival
from hushprice.research.audits.worst_records import first_belief, worst_for_newton


def stress_pairs(
    event: PerturbedEstimate, demand: Demand, adjacency: Adjacency, *, seed: int = 0
) -> list[NeighbouringDatabases]:
    """Few records and many, pairs near the largest difference of gradients, opposite outcomes, and random ones."""
    random, d = np.random.default_rng(seed), event.dimension
    least, most = lowest(demand), demand.bound
    pairs = []
    for size in (1, 400):
        base = np.zeros((d, size))
        base[0] = 1.0  # enough of them pull theta towards the first coordinate, where gradients differ most
        if size == 1:
            base[:, 0] = 0.0
        for angle in (0.4, 1.1, math.pi / 2):
            left, right = np.zeros(d), np.zeros(d)
            left[0] = right[0] = math.cos(angle)
            left[-1], right[-1] = math.sin(angle), -math.sin(angle)
            pairs.append((base, left, least, right, least))
        pairs.append((base, np.eye(d)[0], least, np.eye(d)[0], most))
        wild = random.normal(size=(2, d))
        pairs.append((base, wild[0], most, wild[1], float(random.uniform(least, most))))
    neighbours = []
    for base, phi, bought, other, other_bought in pairs:
        if adjacency is Adjacency.ZERO_OUT:
            other = np.zeros(d)
        demands = np.append(np.full(base.shape[1], most), bought)
        neighbours.append(NeighbouringDatabases(np.column_stack([base, phi]), demands, other, other_bought))
    return neighbours


def worst_pair(
    event: PerturbedEstimate,
    demand: Demand,
    start: NeighbouringDatabases,
    adjacency: Adjacency,
    *,
    tries: int = 30,
    draws: int = 100,
    seed: int = 0,
) -> NeighbouringDatabases:
    """Climb from a pair to one that is told apart better: random changes of the two records, kept where they help.

    Better means a larger privacy loss at the upper hundredth of the draws, with the same noise for every pair.
    """
    random = np.random.default_rng(seed)
    rows = random.normal(size=(draws, event.dimension))

    def high_loss(pair: NeighbouringDatabases) -> float:
        drawn = sample(releaser_of(event, demand), event, demand, pair.worlds[0], rows)
        own, other = (geometry(demand, world, drawn.thetas) for world in pair.worlds)
        k = multipliers(event, drawn, own)
        densities = (log_density(event, drawn.noise, drawn.thetas, k, at) for at in (own, other))
        return float(np.quantile(np.subtract(*densities), 0.99))

    best, most = start, high_loss(start)
    for _ in range(tries):
        features, demands = best.features.copy(), best.demands.copy()
        features[:, -1] += 0.3 * random.normal(size=event.dimension)
        demands[-1] = random.choice([demands[-1], lowest(demand), demand.bound])
        other, other_demand = best.other + 0.3 * random.normal(size=event.dimension), best.other_demand
        if adjacency is Adjacency.ZERO_OUT:
            other = best.other
        tried = NeighbouringDatabases(
            features, demands, other, float(random.choice([other_demand, lowest(demand), demand.bound]))
        )
        reached = high_loss(tried)
        if reached > most:
            best, most = tried, reached
    return best


def white_box(
    policy: Policy, demand: Demand, *, steps: int = 31, draws: int = 200, live: bool = True, seed: int = 0
) -> list[Measurement]:
    """Everything batches.py, linear_gaussian.py and objective_density.py measure for a policy that claims something.

    Streams of `steps` records are audited, with the policy's noise: the work grows with the square of their length.
    """
    measure = _MEASURES.get(type(policy))
    if not policy.private or (measure is None and policy.basis is None):  # the latter reads no record
        return []
    if measure is None:
        raise InvalidInput(f"policy {policy.name!r} has releasers that no audit here knows")
    return measure(policy, demand, steps=steps, draws=draws, live=live, seed=seed)


def _of_rival(policy: RivalPolicy, demand: Demand, *, steps: int, live: bool, seed: int, **_: Any) -> list[Measurement]:
    return audit_rival(policy.live_form() if live else policy, steps=steps, seed=seed)


def _of_newton(policy: NewtonPolicy, demand: Demand, *, live: bool, seed: int, **_: Any) -> list[Measurement]:
    worst = batch_with(*worst_for_newton(policy, demand), *first_belief(policy))
    event = policy.event(live=live)
    return [audit_batches(event, demand, policy.rules.cap, policy.adjacency, worst=worst, seed=seed)]


def _of_paper(
    policy: PaperPolicy, demand: Demand, *, steps: int, draws: int, live: bool, seed: int
) -> list[Measurement]:
    assert policy.horizon is not None  # a policy that claims something has them
    assert policy.basis is not None
    stream, estimate = events(
        policy.noise,
        horizon=min(steps + 1, policy.horizon),
        dimension=policy.basis.dimension,
        losses=policy.basis.losses,
        live=live,
    )
    assert isinstance(stream, CovarianceStream)
    assert isinstance(estimate, PerturbedEstimate)
    pairs = stress_pairs(estimate, demand, policy.adjacency, seed=seed)
    pairs.append(worst_pair(estimate, demand, pairs[-1], policy.adjacency, seed=seed))
    return [
        audit_stream(stream, policy.adjacency, seed=seed),
        *audit_estimate(estimate, demand, pairs, policy.adjacency, draws=draws, seed=seed),
    ]


_MEASURES: dict[type, Callable[..., list[Measurement]]] = {
    NewtonPolicy: _of_newton,
    PaperPolicy: _of_paper,
    RivalPolicy: _of_rival,
}
