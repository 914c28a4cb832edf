"""Noise for batches: the closed form, nothing to spare, and no horizon anywhere."""

from __future__ import annotations

import inspect
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice.errors import InvalidInput
from hushprice.policies.newton import noise as batch_noise
from hushprice.policies.newton.noise import CURVATURE_SHARE, BatchNoise, calibrate
from hushprice.privacy import accountant, gaussian
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.loss import loss_of

property_test = settings(deadline=None, derandomize=True, max_examples=40)
budgets = st.builds(EpsilonDelta, st.floats(0.01, 20.0), st.floats(1e-14, 1e-3))
adjacencies = st.sampled_from(list(Adjacency))
CLAIM = EpsilonDelta(1.0, 2e-10)
CHANGES = {Adjacency.REPLACE_ONE: (2.0, math.sqrt(2.0)), Adjacency.ZERO_OUT: (1.0, 1.0)}
# Of what the two changes would cost apart. Where scores move by 2 curvatures move by 1, which is half the square of
# sqrt(2); at this share no other pair of records needs more.
TOGETHER = {Adjacency.REPLACE_ONE: 1.0 - CURVATURE_SHARE / 2.0, Adjacency.ZERO_OUT: 1.0}


def bought(claimed: EpsilonDelta = CLAIM, **changes: Any) -> BatchNoise:
    given: dict[str, Any] = {"dimension": 2, "levels": 12, "adjacency": Adjacency.REPLACE_ONE}
    return calibrate(claimed, **given | changes)


@property_test
@given(budgets, st.integers(1, 20), st.integers(0, 12), adjacencies)
def test_noise_is_the_closed_form_to_three_digits(
    claimed: EpsilonDelta, dimension: int, levels: int, adjacency: Adjacency
) -> None:
    """mu of the claim; of what both would cost apart, a quarter for curvatures; grids cost less than a thousandth."""
    noise = calibrate(claimed, dimension=dimension, levels=levels, adjacency=adjacency)
    mu = gaussian.mu_of(claimed.epsilon, claimed.delta) / math.sqrt(TOGETHER[adjacency])
    scores, curvatures = CHANGES[adjacency]
    assert noise.score == pytest.approx(scores / (mu * math.sqrt(1.0 - CURVATURE_SHARE)), rel=1e-3)
    assert noise.curvature == pytest.approx(curvatures / (mu * math.sqrt(CURVATURE_SHARE)), rel=1e-3)
    assert noise.score > scores / (mu * math.sqrt(1.0 - CURVATURE_SHARE))  # and never less


@property_test
@given(budgets, st.integers(1, 20), st.integers(0, 12), adjacencies)
def test_proven_is_claimed_and_not_above(
    claimed: EpsilonDelta, dimension: int, levels: int, adjacency: Adjacency
) -> None:
    noise = calibrate(claimed, dimension=dimension, levels=levels, adjacency=adjacency)
    proven = noise.proven_epsilon(dimension, adjacency)
    assert proven <= claimed.epsilon
    assert proven == pytest.approx(claimed.epsilon, rel=1e-6)
    ideal = accountant.epsilon_of(loss_of(noise.event(dimension, live=False), 1, adjacency), claimed.delta)
    assert ideal <= proven
    assert ideal == pytest.approx(claimed.epsilon, rel=1e-3)


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_ideal_noise_costs_what_the_gaussian_formula_says(adjacency: Adjacency) -> None:
    noise = bought(adjacency=adjacency)
    scores, curvatures = (2.0, 1.0) if adjacency is Adjacency.REPLACE_ONE else (1.0, 1.0)
    mu = math.hypot(scores / noise.score, curvatures / noise.curvature)
    found = accountant.epsilon_of(loss_of(noise.event(2, live=False), 1, adjacency), CLAIM.delta)
    assert found == pytest.approx(gaussian.epsilon_of(CLAIM.delta, mu), rel=1e-8)


def test_two_runs_with_the_same_record_cost_more_than_one() -> None:
    event = bought().event(2, live=True)
    once, twice = (loss_of(event, count, Adjacency.REPLACE_ONE) for count in (1, 2))
    assert twice.mu_squared == pytest.approx(2.0 * once.mu_squared)
    assert twice.coordinates == 2 * once.coordinates
    one, two = (accountant.epsilon_of(loss, CLAIM.delta) for loss in (once, twice))
    assert 1.3 * one < two < 2.0 * one


def test_no_number_of_customers_or_batches_is_asked_for() -> None:
    assert set(inspect.signature(calibrate).parameters) == {"claimed", "dimension", "levels", "adjacency"}
    assert set(BatchNoise.__dataclass_fields__) == {"score", "curvature", "levels", "claimed"}


def test_a_zeroed_record_needs_about_half_the_noise_of_a_replaced_one() -> None:
    replaced, zeroed = bought(), bought(adjacency=Adjacency.ZERO_OUT)
    less = math.sqrt(TOGETHER[Adjacency.REPLACE_ONE])
    assert replaced.score == pytest.approx(less * 2.0 * zeroed.score, rel=1e-5)
    assert replaced.curvature == pytest.approx(less * math.sqrt(2.0) * zeroed.curvature, rel=1e-5)
    assert zeroed.proven_epsilon(2, Adjacency.REPLACE_ONE) > 1.5 * CLAIM.epsilon
    assert replaced.proven_epsilon(2, Adjacency.ZERO_OUT) < 0.75 * CLAIM.epsilon


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_the_share_fixes_the_ratio_of_the_noises(adjacency: Adjacency) -> None:
    scores, curvatures = CHANGES[adjacency]
    noise = bought(adjacency=adjacency)
    apart = (scores / noise.score) ** 2, (curvatures / noise.curvature) ** 2
    assert apart[1] / sum(apart) == pytest.approx(CURVATURE_SHARE)


def test_more_blocks_and_more_features_cost_a_little_and_never_nothing() -> None:
    few, many = bought(levels=0), bought(levels=12)
    assert few.score < many.score < few.score * 1.001
    assert bought(dimension=1).score < bought(dimension=20).score < bought(dimension=1).score * 1.001


@pytest.mark.parametrize(("claimed", "name"), [((0.0, 2e-10), "epsilon"), ((1.0, 0.0), "delta")])
def test_no_noise_for_a_budget_that_is_none(claimed: tuple[float, float], name: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{name} must"):
        bought(EpsilonDelta(*claimed))


@pytest.mark.parametrize(
    ("epsilon", "why"), [(1e-9, "too small to learn anything from a million customers"), (1e5, "out of reach")]
)
def test_a_budget_that_buys_nothing_of_use_is_refused(epsilon: float, why: str) -> None:
    with pytest.raises(InvalidInput, match=rf"^epsilon .* at delta 1e-12 is {why}$"):
        bought(EpsilonDelta(epsilon, 1e-12))


@pytest.mark.parametrize(
    "change", [{"score": 0.0}, {"curvature": math.nan}, {"score": math.inf}, {"levels": -1}, {"levels": 1.5}]
)
def test_malformed_noise_is_refused(change: dict[str, Any]) -> None:
    ((name, _),) = change.items()
    with pytest.raises(InvalidInput, match=f"^{name} must"):
        replace(bought(), **change)


def test_neighbours_of_no_known_kind_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^adjacency must be an Adjacency, got 'replace-one'$"):
        bought(adjacency="replace-one")


def test_an_error_of_the_search_falls_on_the_private_side(monkeypatch: pytest.MonkeyPatch) -> None:
    calibrate.cache_clear()
    monkeypatch.setattr(batch_noise, "brentq", lambda *given, **named: _passed(*given, **named) + 3e-9)
    assert bought().proven_epsilon(2, Adjacency.REPLACE_ONE) <= CLAIM.epsilon
    calibrate.cache_clear()


_passed = batch_noise.brentq
