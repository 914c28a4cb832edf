"""The front door: what it opens by default, and what it refuses by name."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

from hushprice import Pricer, Product, open_pricer
from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.family import CUSTOM
from hushprice.demand.features import Affine, main_effects
from hushprice.demand.schema import Boolean, Schema
from hushprice.errors import InvalidInput
from hushprice.noise import Tape
from hushprice.policies import baselines
from hushprice.policies.paper.calibration import CALIBRATIONS
from hushprice.policies.paper.policy import input_perturbation, nonprivate, paper
from hushprice.policies.paper.rules import numerical, tune
from hushprice.privacy.budget import EpsilonDelta, split

SHOP = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.02, contexts=2)
SCHEMA = Schema(attributes=(Boolean(name="member"), Boolean(name="weekend")))
OWN = Affine(3, 4, lambda x: np.append(x, 0.0), lambda x: np.array([0.0, 0.0, 0.0, -1.0]), 2.0)


def test_the_defaults_are_the_numerical_sections() -> None:
    pricer = open_pricer(policy="paper", horizon=5000, contexts=2)
    assert pricer.policy.rules == numerical(5000, 3)
    assert (pricer.policy.name, pricer.policy.calibration) == ("paper", "tight")
    assert (pricer.demand, pricer.features) == (Logistic(slope=4.0), main_effects(2))
    assert pricer.ledger.claimed == EpsilonDelta(1.0, 2 / 5000**2)
    assert (pricer.slots.delay, pricer.slots.count, pricer.learning) == (0, 0, True)


@pytest.mark.parametrize("given", [{"product": SHOP}, {"contexts": 2}, {"contexts": 2, "policy": "paper"}], ids=str)
def test_a_ledger_allows_what_the_policy_says_it_may_release(given: dict[str, Any]) -> None:
    pricer = open_pricer(horizon=100, **given)
    allowed = pricer.policy.allowance(live=True)
    assert allowed
    assert allowed == pricer.ledger.allowance
    assert allowed != pricer.policy.allowance(live=False)  # the noise of simulations lies on no grid


def test_a_policy_that_claims_nothing_says_of_no_release_that_it_is_allowed() -> None:
    for policy in (nonprivate(rules=numerical(100, 3)), baselines.FixedPrice(name="mine", price=0.5)):
        assert policy.allowance(live=True) == ()


def test_the_budget_is_a_total_or_its_two_shares() -> None:
    shares = open_pricer(
        policy="paper", horizon=100, contexts=1, epsilon_covariance=0.3, epsilon_estimate=0.4
    ).ledger.claimed
    assert shares == split(None, 2e-4, epsilon_covariance=0.3, epsilon_estimate=0.4).total
    rest = open_pricer(policy="paper", horizon=100, contexts=1, epsilon_covariance=0.3).ledger.claimed
    assert rest == EpsilonDelta(1.0, 2e-4)


@pytest.mark.parametrize(
    ("given", "length"),
    [({"contexts": 2}, 2), ({"contexts": 0}, 0), ({"schema": SCHEMA}, 2), ({"features": OWN}, 3)],
)
def test_the_length_of_a_context_is_given_once(given: dict[str, Any], length: int) -> None:
    assert open_pricer(horizon=100, **given).quote([0.5] * length).version == 0


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"horizon": 0}, "horizon must be a whole number at or above 1, got 0"),
    ({"horizon": 10.5}, "horizon must be a whole number at or above 1, got 10.5"),
    ({"contexts": None}, "contexts .* got None"),
    ({"contexts": 2.5}, "contexts must be a whole number at or above 0, got 2.5"),
    ({"contexts": "2"}, "contexts must be a whole number at or above 0, got '2'"),
    ({"schema": SCHEMA}, "contexts .* or schema, one of them, got 1"),
    ({"features": "cubic"}, "features.map must be one of .* got 'cubic'"),
    ({"features": OWN}, "contexts must be 3, the length the features take, got 1"),
    ({"features": OWN, "contexts": None, "schema": SCHEMA}, "schema gives contexts of length 2, features take 3"),
    ({"epsilon": 0.0}, "epsilon must be a positive number, got 0.0"),
    ({"epsilon": float("nan")}, "epsilon must be a positive number, got nan"),
    ({"epsilon": 1.0, "epsilon_covariance": 2.0}, "epsilon_covariance must be below epsilon"),
    ({"delta": 0.0}, "delta must lie strictly between 0 and 1, got 0.0"),
    ({"delta": "T"}, "delta must be a number or a formula such as 2/T.2, got 'T'"),
    ({"policy": "best"}, "policy must be one of .* got 'best'"),
    ({"policy": "fixed"}, "policy must be one that learns .* got 'fixed'"),
    ({"policy": "clairvoyant"}, "policy must be one that learns .* got 'clairvoyant'"),
    ({"policy": "input-perturbation"}, "policy must be one that learns .* got 'input-perturbation'"),
    ({"calibration": "loose"}, "calibration must be one of .* got 'loose'"),
    ({"adjacency": "nobody"}, "adjacency must be one of replace-one, zero-out, got 'nobody'"),
    ({"exploration_periods": -1}, "exploration_periods must be a whole number at or above 0, got -1"),
    ({"ridge": 0.0}, "ridge must be a positive number, got 0.0"),
    ({"width": -1.0}, "width must be a number at or above 0, got -1.0"),
    ({"max_estimates": 0}, "max_estimates must be a whole number at or above 1, got 0"),
    ({"delay": -1}, "delay must be a whole number at or above 0, got -1"),
    ({"delay": 1.0}, "delay must be a whole number at or above 0, got 1.0"),
    ({"source": Tape(0, 0)}, "source 'tape .*' is refused outside simulation"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_bad_settings_are_refused_in_one_line_by_name_and_value(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^(give )?{message}") as refusal:
        open_pricer(**{"policy": "paper", "horizon": 100, "contexts": 1} | change)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize(
    "change", [{"epsilon": 1e-310}, {"epsilon": 1e-9}, {"epsilon": 1e300}, {"epsilon": 1e4, "max_estimates": 1}]
)
def test_a_budget_far_from_any_of_use_is_met_or_refused_as_bad_input(change: dict[str, Any], calibration: str) -> None:
    with contextlib.suppress(InvalidInput):
        proven = open_pricer(policy="paper", horizon=100, contexts=1, calibration=calibration, **change).ledger.proven
        assert proven is not None
        assert proven.epsilon <= change["epsilon"]


STEEP = [
    ("published", Gaussian(noise=0.3)),
    ("published", Poisson(slope=2.0)),
    ("published", Logistic(slope=16.0)),
    ("printed", Poisson(slope=3.0)),
]


@pytest.mark.parametrize(("calibration", "demand"), STEEP, ids=lambda each: str(each))
def test_a_calibration_that_proves_less_than_it_claims_is_refused_and_tight_is_not(
    calibration: str, demand: Any
) -> None:
    given: dict[str, Any] = {"horizon": 1000, "contexts": 1, "demand": demand}
    with pytest.raises(InvalidInput, match="is claimed, but the noise proves") as refusal:
        open_pricer(**{"policy": "paper", "calibration": calibration} | given)
    assert str(refusal.value).endswith(f"alone: calibration '{calibration}' does not fit this market")
    proven = open_pricer(**{"policy": "paper"} | given).ledger.proven
    assert proven is not None
    assert proven.epsilon == pytest.approx(1.0, rel=1e-6)
    assert proven.epsilon <= 1.0


def test_noise_calculated_for_another_market_is_refused() -> None:
    given: dict[str, Any] = {"horizon": 100, "demand": Logistic()}
    made = paper("printed", split(1.0, 1e-4), dimension=2, rules=tune(horizon=100, dimension=2), **given)
    Pricer(policy=made, features=main_effects(1), **given)
    with pytest.raises(InvalidInput, match="policy 'paper' has noise for horizon 100, got 101"):
        Pricer(policy=made, features=main_effects(1), **given | {"horizon": 101})
    for demand in (Logistic(slope=5.0), Logistic(bound=2.0), Poisson(), Gaussian()):
        with pytest.raises(
            InvalidInput, match=r"policy 'paper' has noise for a demand with Basis\(dimension=2, .*bound=1.0"
        ):
            Pricer(policy=made, features=main_effects(1), **given | {"demand": demand})
    with pytest.raises(
        InvalidInput, match=r"has noise for a demand with Basis\(dimension=2, .* got Basis\(dimension=3"
    ):
        Pricer(policy=made, features=main_effects(2), **given)


def test_only_policies_that_learn_from_true_contexts_are_priced_with() -> None:
    tuning = tune(horizon=100, dimension=2)
    market: dict[str, Any] = {"demand": Logistic(), "features": main_effects(1), "horizon": 100}
    Pricer(policy=nonprivate(rules=tuning), **market)
    for policy in (baselines.random(), input_perturbation(1.0, contexts=1, rules=tuning)):
        with pytest.raises(InvalidInput, match=f"got '{policy.name}'"):
            Pricer(policy=policy, **market)


def test_a_part_of_ones_own_is_used_even_when_it_counts_as_empty() -> None:
    class Empty(Logistic):
        family = CUSTOM

        def __len__(self) -> int:
            return 0

    demand = Empty(slope=2.0)
    assert open_pricer(policy="paper", horizon=10, contexts=1, demand=demand).demand is demand
