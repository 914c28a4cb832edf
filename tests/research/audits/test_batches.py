"""Batches of noisy-newton tell neighbours apart no better than is charged, and a bug in them would be seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.features import by_name
from hushprice.demand.protocol import Demand
from hushprice.policies.catalog import build
from hushprice.policies.newton.rules import NewtonRules, newton
from hushprice.policies.protocol import Policy
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.research.audits.batches import audit_batches, batch_of
from hushprice.research.audits.white_box import white_box
from hushprice.settings import PolicySettings

FAMILIES: list[Demand] = [Logistic(), Gaussian(noise=0.5, bound=3.0), Poisson(slope=1.0, bound=8.0)]


def rules(demand: Demand, d: int, adjacency: Adjacency) -> NewtonRules:
    features = by_name("main", d - 1)
    return newton(EpsilonDelta(1.0, 1e-6), demand=demand, features=features, adjacency=adjacency)


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("demand", FAMILIES, ids=lambda each: each.name)
def test_no_pair_is_told_apart_better_than_is_charged(demand: Demand, adjacency: Adjacency, live: bool) -> None:
    for d in (2, 3):
        made = rules(demand, d, adjacency)
        found = audit_batches(made.noise.event(d, live=live), demand, made.cap, adjacency)
        assert found.holds
        assert found.found > 0.8 * found.allowed  # and the charge is not far from what some pair needs


def test_less_noise_than_charged_would_be_seen() -> None:
    demand, adjacency = Logistic(), Adjacency.REPLACE_ONE
    made = rules(demand, 2, adjacency)
    event = made.noise.event(2, live=False)
    quieter = batch_of(replace(event, score_noise=0.8 * event.score_noise))
    assert not audit_batches(event, demand, made.cap, adjacency, build=quieter).holds


def test_a_score_published_without_noise_would_be_seen() -> None:
    demand, adjacency = Logistic(), Adjacency.REPLACE_ONE
    made = rules(demand, 2, adjacency)
    event = made.noise.event(2, live=False)

    def bare(source: Any) -> Any:
        batch = batch_of(event)(source)
        batch.score = lambda records: batch._score.copy()  # type: ignore[attr-defined, method-assign]
        return batch

    found = audit_batches(event, demand, made.cap, adjacency, build=bare)
    assert found.found == np.inf
    assert not found.holds


def policy(noise: bool) -> Policy:
    settings = PolicySettings(horizon=100, epsilon=1.0, delta=1e-6, noise=noise)
    return build(settings, Logistic(), by_name("main", 1))


def test_white_box_looks_into_noisy_newton() -> None:
    ideal, live = (white_box(policy(True), Logistic(), live=each) for each in (False, True))
    for (found,) in (ideal, live):
        assert found.holds
    for (found,) in (ideal, live):
        assert 0.999 * found.allowed < found.found <= found.allowed  # the worst pair is among those tried
    assert white_box(policy(False), Logistic()) == []
