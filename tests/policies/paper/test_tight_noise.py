"""The least noise that proves a budget: exact for the stream alone, and moving the right way with everything."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from hushprice.demand.families import Logistic
from hushprice.errors import InvalidInput
from hushprice.policies.paper import tight_noise, tolerance
from hushprice.policies.paper.noise import Noise, events
from hushprice.privacy import accountant, gaussian, streams
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta, split
from hushprice.privacy.events import FROBENIUS, CovarianceStream, grid_of
from hushprice.privacy.loss import loss_of
from hushprice.privacy.sensitivity import of_loss

LOSSES = of_loss(Logistic(slope=4.0))
CASE: dict[str, Any] = {
    "horizon": 10**5,
    "dimension": 2,
    "max_estimates": 34,
    "ridge": 10.0,
    "losses": LOSSES,
    "adjacency": Adjacency.REPLACE_ONE,
}
FIELDS = ("covariance_noise", "estimate_noise")


def stream_of(strategy: str, noise: float, live: bool) -> CovarianceStream:
    arrangement = streams.toeplitz(10**5) if strategy == "toeplitz" else streams.tree(10**5)
    return CovarianceStream(
        strategy=arrangement,
        steps=10**5 - 1,
        dimension=2,
        noise=noise,
        layout=FROBENIUS,
        grid=grid_of(noise) if live else 0.0,
    )


@pytest.mark.parametrize("strategy", ["tree", "toeplitz"])
@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-10), (0.01, 1e-60), (20.0, 1e-3)])
def test_the_stream_alone_costs_exactly_its_share(
    strategy: str, adjacency: Adjacency, epsilon: float, delta: float
) -> None:
    noise = tight_noise.covariance_noise(EpsilonDelta(epsilon, delta), 10**5, strategy=strategy, adjacency=adjacency)
    loss = loss_of(stream_of(strategy, noise, live=False), 1, adjacency)
    assert accountant.epsilon_of(loss, delta) == pytest.approx(epsilon, rel=1e-9)


def test_a_released_sum_at_the_papers_setting() -> None:
    """T = 1e5, epsilon_1 = 1, delta = 1/T^2, replace-one: below 41, where the printed noise is 27,240."""
    share = EpsilonDelta(1.0, 1e-10)
    toeplitz, tree = (
        tight_noise.covariance_noise(share, 10**5, strategy=name, adjacency=Adjacency.REPLACE_ONE)
        for name in ("toeplitz", "tree")
    )
    longest = streams.toeplitz(10**5).row_norm(10**5 - 1)
    assert 39.0 < toeplitz * longest <= 41.0
    assert tree == pytest.approx(34.2, abs=0.05)
    assert tree * streams.tree(10**5).row_norm(10**5 - 1) > 3.4 * toeplitz * longest
    live = 1.0001 * toeplitz
    assert live * longest <= 43.0
    loss = loss_of(stream_of("toeplitz", live, live=True), 1, Adjacency.REPLACE_ONE)
    assert loss.coordinates == 3 * (10**5 - 1)
    assert 0.999 < accountant.epsilon_of(loss, 1e-10) <= 1.0
    assert (
        accountant.epsilon_of(
            loss_of(stream_of("toeplitz", toeplitz / 1.41, live=True), 1, Adjacency.REPLACE_ONE), 1e-10
        )
        > 1.4
    )


@pytest.fixture(scope="module")
def usual() -> Noise:
    return tight_noise.calibrate(split(2.0, 2e-10), **CASE)


def test_everything_together_costs_exactly_the_budget(usual: Noise) -> None:
    proven = tight_noise.proven_epsilon(
        usual, horizon=10**5, dimension=2, losses=LOSSES, adjacency=Adjacency.REPLACE_ONE
    )
    assert 2.0 * (1.0 - 1e-6) < proven <= 2.0


def test_a_per_cent_less_noise_would_be_caught(usual: Noise) -> None:
    for field in (*FIELDS, "estimate_ridge"):
        less = dataclasses.replace(usual, **{field: 0.99 * getattr(usual, field)})
        assert tight_noise.proven_epsilon(
            less, horizon=10**5, dimension=2, losses=LOSSES, adjacency=Adjacency.REPLACE_ONE
        ) > 2.0 * (1.0 + 1e-4)


def test_a_joint_account_is_cheaper_than_two_shares(usual: Noise) -> None:
    alone = tight_noise.covariance_noise(
        EpsilonDelta(1.0, 1e-10), 10**5, strategy="toeplitz", adjacency=CASE["adjacency"]
    )
    assert usual.covariance_noise < alone
    assert usual.layout == FROBENIUS
    assert usual.floored
    assert usual.strategy == "toeplitz"


@pytest.mark.parametrize("field", FIELDS)
def test_more_epsilon_or_more_delta_is_less_noise(field: str) -> None:
    by_epsilon = [
        getattr(tight_noise.calibrate(split(epsilon, 2e-10), **CASE), field) for epsilon in (0.1, 1.0, 2.0, 8.0)
    ]
    by_delta = [
        getattr(tight_noise.calibrate(split(2.0, delta), **CASE), field) for delta in (1e-60, 1e-20, 2e-10, 1e-4)
    ]
    for values in (by_epsilon, by_delta):
        assert values == sorted(values, reverse=True)
        assert len(set(values)) == 4


@pytest.mark.parametrize(("field", "name"), [("horizon", "covariance_noise"), ("max_estimates", "estimate_noise")])
def test_more_releases_are_more_noise(field: str, name: str) -> None:
    values = [getattr(tight_noise.calibrate(split(2.0, 2e-10), **CASE | {field: n}), name) for n in (3, 30, 100)]
    assert values == sorted(values)
    assert len(set(values)) == 3


def test_zeroing_a_record_out_needs_less_than_replacing_it(usual: Noise) -> None:
    less = tight_noise.calibrate(split(2.0, 2e-10), **CASE | {"adjacency": Adjacency.ZERO_OUT})
    for field in FIELDS:
        assert getattr(less, field) < 0.75 * getattr(usual, field)
    replaced = tight_noise.proven_epsilon(
        less, horizon=10**5, dimension=2, losses=LOSSES, adjacency=Adjacency.REPLACE_ONE
    )
    assert replaced > 1.3 * 2.0  # noise for one adjacency is no proof for the other


def test_the_tree_can_be_asked_for(usual: Noise) -> None:
    tree = tight_noise.calibrate(split(2.0, 2e-10), **CASE, strategy="tree")
    assert tree.strategy == "tree"
    assert tight_noise.largest_deviation(tree, 10**5) > 3.0 * tight_noise.largest_deviation(usual, 10**5)
    assert tight_noise.largest_deviation(usual, 10**5) == pytest.approx(
        usual.covariance_noise * streams.toeplitz(10**5).row_norm(10**5 - 1)
    )


def test_a_large_ridge_is_left_alone() -> None:
    assert tight_noise.calibrate(split(2.0, 2e-10), **CASE | {"ridge": 1e6}).estimate_ridge == 1e6
    assert tight_noise.calibrate(split(2.0, 2e-10), **CASE | {"ridge": 0.01}).estimate_ridge > 0.01


def test_the_output_noise_hides_the_solvers_stop_at_its_share(usual: Noise) -> None:
    share = EpsilonDelta(1.0, 1e-10)
    assert tight_noise.output_noise(share, 34, 1e-7) == pytest.approx(
        2e-7 * math.sqrt(34) / (0.05 * gaussian.mu_of(1.0, 1e-10))
    )
    _, estimate = events(usual, horizon=10**5, dimension=2, losses=LOSSES, live=True)
    assert usual.output_noise == tight_noise.output_noise(share, 34, estimate.distance)
    assert estimate.distance == tolerance.distance(
        ridge=usual.estimate_ridge,
        grid=grid_of(usual.estimate_noise),
        steps=10**5 - 1,
        dimension=2,
        losses=LOSSES,
    )
    assert usual.output_noise < 1e-3


def test_without_output_noise_to_speak_of_the_budget_is_passed(usual: Noise) -> None:
    bare = dataclasses.replace(usual, output_noise=0.01 * usual.output_noise)
    proven = tight_noise.proven_epsilon(
        bare, horizon=10**5, dimension=2, losses=LOSSES, adjacency=Adjacency.REPLACE_ONE
    )
    assert proven > 4.0


@pytest.mark.parametrize("field", ["horizon", "dimension", "max_estimates", "ridge"])
@pytest.mark.parametrize("value", [0, -1, math.nan])
def test_fields_are_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=f"^{field} must"):
        tight_noise.calibrate(split(2.0, 2e-10), **CASE | {field: value})


def test_a_budget_below_what_discrete_noise_costs_is_refused() -> None:
    """A billion records in twenty dimensions: the grid alone costs more than 1e-6."""
    with pytest.raises(InvalidInput, match=r"^epsilon 1e-06 at delta 1e-60 is out of reach$"):
        tight_noise.calibrate(split(1e-6, 1e-60), **CASE | {"horizon": 10**9, "dimension": 20, "max_estimates": 1})


def test_a_share_out_of_reach_is_refused_by_name() -> None:
    """So many estimates at so little epsilon need noise beyond what is searched."""
    with pytest.raises(InvalidInput, match=r"^epsilon_estimate is out of reach for 1000000000 estimates"):
        tight_noise.calibrate(
            split(2e-7, 1e-200),
            horizon=100,
            dimension=2,
            max_estimates=10**9,
            ridge=1.0,
            losses=LOSSES,
            adjacency=Adjacency.REPLACE_ONE,
        )
