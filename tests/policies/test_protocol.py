"""What no policy may be: one that claims more than its noise bought, or is used where its noise was not calculated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.features import main_effects
from hushprice.errors import InvalidInput
from hushprice.policies import baselines
from hushprice.policies.baselines import Clairvoyant, FixedPrice
from hushprice.policies.newton.policy import noisy_newton
from hushprice.policies.newton.rules import newton
from hushprice.policies.newton.rules import without_noise as without_newton_noise
from hushprice.policies.paper.noise import without_noise
from hushprice.policies.paper.policy import nonprivate, paper, proven
from hushprice.policies.paper.rules import numerical
from hushprice.policies.protocol import Basis, Constants, basis_of
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta, split
from hushprice.privacy.sensitivity import of_loss

TUNING = numerical(100, 2)
PAPER = paper("printed", split(1.0, 1e-4), horizon=100, dimension=2, demand=Logistic(), rules=TUNING)
assert PAPER.noise is not None
assert PAPER.proven is not None
SMALL = EpsilonDelta(0.5, 1e-5)
STEEP = basis_of(Logistic(slope=300.0), 2)
THIN = replace(PAPER.noise, estimate_noise=1.0, covariance_noise=1.0)  # as if a budget had bought less
FOUND = proven(THIN, horizon=100, basis=basis_of(Logistic(), 2), adjacency=Adjacency.REPLACE_ONE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"claimed": SMALL}, "claimed must be what the noise was bought with, .*epsilon=1.0.* got .*epsilon=0.5"),
        ({"claimed": None}, "claimed and proven must be given together, got None"),
        ({"claimed": None, "proven": None}, "claimed must be what the noise was bought with, .* got None"),
        ({"proven": EpsilonDelta(2.0, 1e-4)}, "proven must be what the accountant gets for the noise, .*epsilon=2.0"),
        (
            {"proven": EpsilonDelta(1e-9, 1e-4)},
            "proven must be what the accountant gets for the noise, .*epsilon=1e-09",
        ),
        (
            {"proven": EpsilonDelta(PAPER.proven.epsilon, 1e-5)},
            "proven must be what the accountant gets for the noise, .*delta=1e-05",
        ),
        ({"proven": None}, "claimed and proven must be given together, got Eps.* and None"),
        ({"input_noise": 50.0}, "input_noise is for policies that claim nothing, got 50.0"),
        ({"noise": THIN}, "proven must be what the accountant gets for the noise"),
        (
            {"noise": THIN, "proven": FOUND},
            r"epsilon=1.0, .* is claimed, but the noise proves .* alone: calibration 'pr",
        ),
        ({"noise": THIN, "proven": FOUND, "calibration": None}, r"is claimed, but the noise proves .*\) alone$"),
        ({"basis": STEEP}, "proven must be what the accountant gets for the noise"),
        ({"adjacency": Adjacency.ZERO_OUT}, "proven must be what the accountant gets for the noise"),
        ({"horizon": 10_000}, "proven must be what the accountant gets for the noise"),
        ({"horizon": None}, "horizon and basis must be given where something is claimed"),
        ({"basis": None}, "horizon and basis must be given where something is claimed"),
        ({"noise": None}, "noise must be given by a policy that learns, got None"),
        ({"rules": None}, "rules must be given by a policy that learns, got None"),
        (
            {"rules": replace(TUNING, max_estimates=5000)},
            f"^max_estimates must be what the noise was calculated for, {TUNING.max_estimates}, got 5000$",
        ),
        ({"rules": replace(TUNING, max_estimates=1)}, "^max_estimates must be what the noise was calculated for"),
        ({"input_noise": -1.0}, "input_noise must be a number at or above 0, got -1.0"),
        ({"input_noise": float("inf")}, "input_noise must be a number at or above 0, got inf"),
    ],
)
def test_a_policy_that_contradicts_itself_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        replace(PAPER, **change)


RULES = newton(EpsilonDelta(1.0, 1e-6), demand=Logistic(), features=main_effects(1))
NOISY = noisy_newton(RULES, demand=Logistic(), dimension=2)
assert NOISY.proven is not None
THIN_NEWTON = replace(RULES, noise=replace(RULES.noise, score=1.0))
FOUND_NEWTON = EpsilonDelta(THIN_NEWTON.noise.proven_epsilon(2, Adjacency.REPLACE_ONE), 1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rules": None}, "rules must be those of noisy-newton, got None for 'noisy-newton'"),
        ({"claimed": SMALL}, "claimed must be what the noise was bought with, .* got .*epsilon=0.5"),
        ({"claimed": None, "proven": None}, "claimed must be what the noise was bought with, .* got None"),
        ({"rules": without_newton_noise(RULES)}, "claimed must be what the noise was bought with, None, got Eps"),
        ({"basis": None}, "basis must be given where something is claimed"),
        ({"basis": basis_of(Logistic(), 3)}, "proven must be what the accountant gets for the noise"),
        ({"adjacency": Adjacency.ZERO_OUT}, "proven must be what the accountant gets for the noise"),
        ({"proven": EpsilonDelta(0.5, 1e-6)}, "proven must be what the accountant gets for the noise"),
        ({"rules": THIN_NEWTON}, "proven must be what the accountant gets for the noise"),
        ({"rules": THIN_NEWTON, "proven": FOUND_NEWTON}, "is claimed, but the noise proves"),
    ],
)
def test_a_noisy_newton_that_contradicts_itself_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        replace(NOISY, **change)


def test_noisy_newton_is_bound_to_its_features_and_to_no_horizon() -> None:
    for horizon in (1, 100, 10**12):
        NOISY.check_fits(horizon=horizon, demand=Logistic(), dimension=2)
    with pytest.raises(InvalidInput, match=r"has noise for a demand with Basis\(dimension=2.* got Basis\(dimension=3"):
        NOISY.check_fits(horizon=100, demand=Logistic(), dimension=3)
    assert not noisy_newton(without_newton_noise(RULES), demand=Logistic(), dimension=2).private


def test_what_acts_on_releases_alone_may_change_under_the_same_noise() -> None:
    other = replace(TUNING, ridge=1e-9, width=0.0, exploration_periods=0)
    assert replace(PAPER, rules=other).noise == PAPER.noise
    assert replace(nonprivate(rules=TUNING), rules=replace(TUNING, max_estimates=5000)).claimed is None


def test_what_is_proven_is_less_than_what_is_claimed_and_never_without_a_claim() -> None:
    assert 0.0 < PAPER.proven.epsilon < 0.1  # the paper's composition steps are loose
    last_digits = replace(PAPER.proven, epsilon=PAPER.proven.epsilon * (1.0 + 1e-12))
    assert replace(PAPER, proven=last_digits).proven == last_digits  # two machines may differ in them
    with pytest.raises(InvalidInput, match=r"claimed and proven must be given together, got None and Eps"):
        replace(nonprivate(rules=TUNING), proven=SMALL)
    with pytest.raises(InvalidInput, match=r"claimed and proven must be given together, got Eps.* and None"):
        FixedPrice(name="mine", price=0.5, claimed=SMALL)
    for stated in (SMALL, EpsilonDelta(0.0, 0.0)):
        with pytest.raises(InvalidInput, match=r"claimed must be 0, by a policy that reads no record, got Eps"):
            FixedPrice(name="mine", price=0.5, claimed=SMALL, proven=stated)
    nothing = EpsilonDelta(0.0, 0.0)
    with pytest.raises(InvalidInput, match=r"claimed must be 0, by a policy that reads no record"):
        Clairvoyant(name="mine", claimed=nothing, proven=nothing)  # it knows everybody
    hair = EpsilonDelta(PAPER.proven.epsilon * (1.0 - 5e-10), PAPER.proven.delta)
    with pytest.raises(InvalidInput, match=r"is claimed, but the noise proves"):
        replace(PAPER, claimed=hair, proven=hair, noise=replace(PAPER.noise, claimed=hair))


def test_without_a_claim_nothing_is_proven() -> None:
    found = proven(without_noise(1.0), horizon=10, basis=basis_of(Logistic(), 2), adjacency=Adjacency.REPLACE_ONE)
    assert found is None


def test_a_policy_is_private_when_it_claims_something() -> None:
    assert PAPER.private
    assert baselines.random().private
    assert not nonprivate(rules=TUNING).private
    assert not baselines.clairvoyant().private


def test_noise_is_for_the_horizon_and_the_demand_it_was_calculated_for() -> None:
    PAPER.check_fits(horizon=100, demand=Logistic(slope=4), dimension=2)
    with pytest.raises(InvalidInput, match="policy 'paper' has noise for horizon 100, got 10000"):
        PAPER.check_fits(horizon=10_000, demand=Logistic(), dimension=2)
    with pytest.raises(InvalidInput, match=r"has noise for a demand with Basis\(dimension=2.* got Basis\(dimension=3"):
        PAPER.check_fits(horizon=100, demand=Logistic(), dimension=3)
    for other in (Logistic(slope=3.0), Logistic(bound=2.0), Poisson(), Gaussian()):
        with pytest.raises(InvalidInput, match=r"has noise for a demand with .* got "):
            PAPER.check_fits(horizon=100, demand=other, dimension=2)


def test_a_policy_without_noise_fits_everywhere() -> None:
    for demand in (Logistic(), Poisson(), Gaussian()):
        nonprivate(rules=TUNING).check_fits(horizon=7, demand=demand, dimension=5)


def test_the_basis_of_a_demand_has_the_papers_constants_and_the_true_ones() -> None:
    demand = Logistic(slope=4.0)
    constants = Constants(bound=1.0, scale=4.0, curvature=Logistic.paper_curvature)
    assert basis_of(demand, 3) == Basis(dimension=3, constants=constants, losses=of_loss(demand))


def test_one_fixed_price_needs_no_tuning() -> None:
    assert FixedPrice(name="mine", price=0.5).claimed is None


def test_a_demand_of_ones_own_may_not_pass_for_a_built_in_one() -> None:
    class Flatter(Logistic):
        steepest = 1e-3

    with pytest.raises(InvalidInput, match=r"^demand 'logistic' must have family CUSTOM"):
        basis_of(Flatter(), 2)
