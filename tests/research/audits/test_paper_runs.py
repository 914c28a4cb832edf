"""Estimates of policy paper, watched by their density: what noise leaves of them is seen, and no more."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.numerics.jit import COMPILED
from hushprice.policies.paper.policy import PaperPolicy
from hushprice.privacy.loss import loss_of
from hushprice.research.audits.finding import AuditFinding
from hushprice.research.audits.objective_density import RADIUS, geometry, log_density
from hushprice.research.audits.paper_runs import ESTIMATES, EstimateDensity, PaperWatch
from hushprice.research.audits.release_runs import judge_releases
from hushprice.research.audits.trade_off import estimate_of
from hushprice.simulation.run import prepare

RECORD = np.array([0.6, -0.7]), 1.0


def density(demand: Any = Logistic(slope=4.0), *, noise: float = 30.0, ridge: float = 20.0) -> EstimateDensity:  # noqa: B008
    policy = prepare("paper", horizon=60).policy
    assert isinstance(policy, PaperPolicy)
    return EstimateDensity(event=replace(estimate_of(policy), noise=noise, ridge=ridge), demand=demand)


@pytest.mark.parametrize("demand", [Logistic(slope=4.0), Gaussian(bound=2.0), Poisson(bound=3.0)])
def test_the_ratio_is_that_of_densities(demand: Any) -> None:
    """The slow twin: inside as objective_density.py has it, on the sphere that summed over the multiplier."""
    made = density(demand)
    worlds = (RECORD[0][:, None], np.array([RECORD[1]])), (np.zeros((2, 1)), np.zeros(1))

    def logs(world: Any, thetas: Any, k: float) -> float:
        at = geometry(demand, world, thetas)
        return float(log_density(made.event, made.event.noise, thetas, np.array([k]), at)[0])

    inside = np.array([[0.5, 1.2]])
    expected = logs(worlds[0], inside, 0.0) - logs(worlds[1], inside, 0.0)
    assert made.log_ratio(inside, RECORD)[0] == pytest.approx(expected, rel=1e-9)
    for angle in (0.3, 2.0, 4.0):
        edge = RADIUS * np.array([[math.cos(angle), math.sin(angle)]])
        base = logs(worlds[1], edge, 0.0)  # keeps numbers near 1

        def height(k: float, world: Any, edge: Any = edge, base: float = base) -> float:
            return math.exp(logs(world, edge, k) - base)

        first, second = (quad(height, 1e-9, 150.0, args=(world,))[0] for world in worlds)
        assert made.log_ratio(edge, RECORD)[0] == pytest.approx(math.log(first / second), rel=1e-6)


def test_ratios_add_up_to_one_where_there_is_no_record() -> None:
    """Their mean over what is released without the record, inside and on the sphere; of a wrong ridge it is not."""
    made, random = density(), np.random.default_rng(4)
    thetas = made.without_record(random, 200_000)
    on_sphere = np.linalg.norm(thetas, axis=1) > RADIUS - 1e-9
    assert 0.2 < on_sphere.mean() < 0.8
    ratios = np.exp(made.log_ratio(thetas, RECORD))
    assert abs(ratios.mean() - 1.0) < 4.0 * ratios.std() / math.sqrt(ratios.size)
    wrong = np.exp(density(ridge=25.0).log_ratio(thetas, RECORD))
    assert abs(wrong.mean() - 1.0) > 6.0 * wrong.std() / math.sqrt(wrong.size)
    assert not made.log_ratio(thetas, None).any()


def test_two_gaussian_laws_are_as_far_apart_as_known() -> None:
    """Without estimates what is left is N(mu, 1) beside N(0, 1): right and wrong are 2 Phi(mu/2) - 1 apart."""
    watch = made(epsilon=4.0, part="")
    mu, watch.__dict__["_worst"] = math.sqrt(watch.loss.mu_squared), (None, None)
    assert watch.mu == pytest.approx(mu, rel=1e-9)


def made(*, epsilon: float, runs: int = 8, part: str = ESTIMATES, **setting: Any) -> PaperWatch:
    job = prepare("paper", epsilon=epsilon, **{"horizon": 60, "delta": "1e-6"} | setting)
    assert isinstance(job.policy, PaperPolicy)
    return PaperWatch(policy=job.policy, demand=job.market.demand, horizon=60, seed=2, runs=runs, part=part)


def judged(watch: PaperWatch) -> AuditFinding:
    return judge_releases(watch, *watch.run(), confidence=0.99, audits=1)


@pytest.mark.skipif(not COMPILED, reason="thousands of fits")
@pytest.mark.parametrize("adjacency", ["replace-one", "zero-out"])
def test_what_noise_leaves_of_estimates_is_seen(adjacency: str) -> None:
    watch = made(epsilon=20.0, runs=4000, adjacency=adjacency)
    found = judged(watch)
    assert (found.part, found.refuted) == ("estimates", False)
    assert found.proven_mu is not None
    assert 0.8 * found.proven_mu < found.seen.low <= found.proven_mu
    # Of the shift that is charged for, all of it in every estimate, this pair has more than half.
    policy = watch.policy
    (radial,) = loss_of(estimate_of(policy), 1, policy.adjacency).radials
    assert 0.5 < found.proven_mu / (radial.scale * math.sqrt(policy.rules.max_estimates)) < 1.0


@pytest.mark.parametrize("calibration", ["published", "printed"])
def test_more_noise_leaves_less(calibration: str) -> None:
    assert made(epsilon=4.0, calibration=calibration, dimension=4).mu < 0.6 * made(epsilon=4.0, dimension=4).mu
