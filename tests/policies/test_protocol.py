"""What no policy may be: one that claims more than its noise bought, or is used where its noise was not calculated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hushprice.accounting.budget import EpsilonDelta, split
from hushprice.accounting.calibration import Constants, without_noise
from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.errors import InvalidInput
from hushprice.policies import baselines
from hushprice.policies.paper import nonprivate, paper
from hushprice.policies.protocol import FIXED, LEARNING, RANDOM, Policy, constants_of
from hushprice.policies.tuning import numerical

TUNING = numerical(100, 2)
PAPER = paper("printed", split(1.0, 1e-4), horizon=100, demand=Logistic(), tuning=TUNING)
SMALL, LARGE = EpsilonDelta(0.5, 1e-5), EpsilonDelta(2.0, 1e-4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"claimed": SMALL}, "claimed must be what the noise was bought with, .*epsilon=1.0.* got .*epsilon=0.5"),
        ({"claimed": None}, "claimed must be what the noise was bought with, .* got None"),
        ({"proven": LARGE}, "claimed must cover what is proven, .*epsilon=2.0.* got .*epsilon=1.0"),
        ({"proven": EpsilonDelta(0.5, 1e-3)}, "claimed must cover what is proven, .*delta=0.001"),
        ({"noise": None}, "noise is for policies that learn, got None for 'paper'"),
        ({"tuning": None}, "tuning is for policies that learn, got None for 'paper'"),
        ({"code": RANDOM}, "tuning is for policies that learn, got Tuning"),
        (
            {"tuning": replace(TUNING, max_estimates=5000)},
            f"^max_estimates must be what the noise was calculated for, {TUNING.max_estimates}, got 5000$",
        ),
        ({"tuning": replace(TUNING, max_estimates=1)}, "^max_estimates must be what the noise was calculated for"),
        ({"input_noise": -1.0}, "input_noise must be a number at or above 0, got -1.0"),
        ({"input_noise": float("inf")}, "input_noise must be a number at or above 0, got inf"),
    ],
)
def test_a_policy_that_contradicts_itself_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        replace(PAPER, **change)


def test_what_acts_on_releases_alone_may_change_under_the_same_noise() -> None:
    other = replace(TUNING, ridge=1e-9, width=0.0, exploration_periods=0)
    assert replace(PAPER, tuning=other).noise == PAPER.noise
    assert replace(nonprivate(tuning=TUNING), tuning=replace(TUNING, max_estimates=5000)).claimed is None


def test_what_is_proven_may_be_less_than_what_is_claimed_and_never_without_a_claim() -> None:
    assert replace(PAPER, proven=SMALL).proven == SMALL
    with pytest.raises(InvalidInput, match=r"claimed must cover what is proven, .* got None"):
        replace(nonprivate(tuning=TUNING), proven=SMALL)


def test_a_policy_is_private_when_it_claims_something() -> None:
    assert PAPER.private
    assert baselines.random().private
    assert not nonprivate(tuning=TUNING).private
    assert not baselines.clairvoyant().private


def test_noise_is_for_the_horizon_and_the_demand_it_was_calculated_for() -> None:
    PAPER.check_fits(horizon=100, demand=Logistic(slope=4))
    with pytest.raises(InvalidInput, match="policy 'paper' has noise for horizon 100, got 10000"):
        PAPER.check_fits(horizon=10_000, demand=Logistic())
    for other in (Logistic(slope=3.0), Logistic(bound=2.0), Poisson(), Gaussian()):
        with pytest.raises(InvalidInput, match=r"has noise for a demand with .* got "):
            PAPER.check_fits(horizon=100, demand=other)


def test_a_policy_without_noise_fits_everywhere() -> None:
    for demand in (Logistic(), Poisson(), Gaussian()):
        nonprivate(tuning=TUNING).check_fits(horizon=7, demand=demand)


def test_the_constants_of_a_demand_are_the_papers() -> None:
    assert constants_of(Logistic(slope=4.0)) == Constants(bound=1.0, scale=4.0, curvature=Logistic.paper_curvature)


def test_one_fixed_price_needs_no_tuning() -> None:
    assert Policy(name="mine", code=FIXED, price=0.5).claimed is None
    with pytest.raises(InvalidInput, match="noise is for policies that learn"):
        Policy(name="mine", code=FIXED, noise=without_noise(1.0))
    with pytest.raises(InvalidInput, match="tuning is for policies that learn, got None"):
        Policy(name="mine", code=LEARNING)
