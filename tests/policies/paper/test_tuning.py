"""Oracles: the formulas a second time, written from the lemmas behind the theorems, and the paper's own numbers."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from hushprice.errors import InvalidInput
from hushprice.policies.paper import rules

CURVATURE = (1 + math.e**2) ** 2 / math.e**2  # K of the paper's logistic example
LOGISTIC = {"bound": 1.0, "subgaussian": 1.0, "curvature": CURVATURE, "scale": 1.0}
SPLIT = {"epsilon_covariance": 1.0, "epsilon_estimate": 1.0, "delta_estimate": 1e-10}
PAPER: dict[str, Any] = {"horizon": 10**5, "dimension": 2, **SPLIT, **LOGISTIC}
GRID = [
    PAPER,
    {**PAPER, "horizon": 2, "dimension": 1},
    {**PAPER, "horizon": 10**6, "dimension": 3, "epsilon_covariance": 0.02, "epsilon_estimate": 0.5},
    {**PAPER, "scale": 4.0, "delta_estimate": 1e-60},  # the estimates' noise decides rho
    {**PAPER, "scale": 4.0, "curvature": 746.0, "bound": 2.5, "subgaussian": 0.5},
    {**PAPER, "curvature": 746.0, "epsilon_covariance": 5.0, "epsilon_estimate": 5.0},  # the demand family decides rho
]
THEOREMS = [rules.adversarial, rules.stochastic]


def noise_from_the_algorithms(case: dict[str, Any]) -> float:
    """alg:framework line 3, then alg:private-mle line 2, in variances as the paper prints them."""
    most = np.ceil(case["dimension"] * np.emath.logn(1.5, case["horizon"]))
    delta = case["delta_estimate"] / most / 2
    epsilon = np.sqrt(case["epsilon_estimate"] ** 2 / (8 * most * np.log(1 / delta)))
    slope = case["scale"] * case["bound"] + case["scale"]
    return float(np.sqrt(slope**2 * (8 * np.log(2 / delta) + 4 * epsilon) / epsilon**2))


def ridge_candidates(case: dict[str, Any], power_of_scale: int) -> list[float]:
    """The three terms of rho: for cor:cov-multiplicative-approx, and two for lem:mle-utility-3."""
    d, log = np.float64(case["dimension"]), np.log(case["horizon"])
    family = case["subgaussian"] ** 2 * case["scale"] ** power_of_scale * case["curvature"]
    return [
        d * np.sqrt(d) * log**5 / case["epsilon_covariance"],
        np.sqrt(125 * d * log) * noise_from_the_algorithms(case),
        2 + 48 * d * log * family,
    ]


def error_radius(case: dict[str, Any], ridge: float) -> float:
    """The right side of eq:MLE_upper_1, before the square."""
    d, log = case["dimension"], np.log(case["horizon"])
    sampling = case["subgaussian"] * case["curvature"] * np.sqrt(3 * d * log)
    private = case["scale"] * noise_from_the_algorithms(case) * np.sqrt(5 * d * log)
    return float(sampling + (2 * case["scale"] + 3) * np.sqrt(ridge) + private)


def elliptical_regret(case: dict[str, Any], width: float) -> float:
    d, horizon = case["dimension"], case["horizon"]
    return float(np.sqrt(4 * width**2 * 4.6 * d * horizon * np.log(horizon)))


@pytest.mark.parametrize("case", GRID)
def test_adversarial_agrees_with_a_second_transcription(case: dict[str, Any]) -> None:
    ridge = max(ridge_candidates(case, power_of_scale=2))
    width = case["curvature"] * error_radius(case, ridge)
    theorem = rules.adversarial(rules.TheoremCase(**case))
    assert theorem.rules.exploration_periods == 0
    assert theorem.rules.max_estimates == np.ceil(case["dimension"] * np.emath.logn(1.5, case["horizon"]))
    assert theorem.rules.ridge == pytest.approx(ridge, rel=1e-12)
    assert theorem.rules.width == pytest.approx(width, rel=1e-12)
    assert theorem.estimate_noise == pytest.approx(noise_from_the_algorithms(case), rel=1e-12)
    assert theorem.regret_bound == pytest.approx(elliptical_regret(case, width), rel=1e-12)


@pytest.mark.parametrize("case", GRID)
def test_stochastic_agrees_with_a_second_transcription(case: dict[str, Any]) -> None:
    d, horizon, scale = case["dimension"], case["horizon"], case["scale"]
    noise = noise_from_the_algorithms(case)
    ridge = max(ridge_candidates(case, power_of_scale=1))
    smallest_eigenvalue = np.square((2 * scale + 3) * ridge / np.sqrt(5 * d * np.log(horizon)) + noise * scale)
    exploration = 32 * smallest_eigenvalue * np.log(d * horizon) ** 2
    width = case["curvature"] * 4 * case["subgaussian"] * case["curvature"] * np.sqrt(d * np.log(horizon))
    theorem = rules.stochastic(rules.TheoremCase(**case))
    assert type(theorem.rules.exploration_periods) is int
    assert theorem.rules.exploration_periods == pytest.approx(exploration, rel=1e-12, abs=1)
    assert theorem.rules.max_estimates == rules.adversarial(rules.TheoremCase(**case)).rules.max_estimates
    assert theorem.rules.ridge == pytest.approx(ridge, rel=1e-12)
    assert theorem.rules.width == pytest.approx(width, rel=1e-12)
    assert theorem.estimate_noise == pytest.approx(noise, rel=1e-12)
    bound = np.ceil(exploration) + elliptical_regret(case, width)
    assert theorem.regret_bound == pytest.approx(bound, rel=1e-12)


def test_each_term_of_the_ridge_decides_somewhere() -> None:
    assert {int(np.argmax(ridge_candidates(case, power_of_scale=2))) for case in GRID} == {0, 1, 2}


def test_exploration_is_rounded_up() -> None:
    case = {**PAPER, "horizon": 2, "dimension": 1, "epsilon_covariance": 1e6, "epsilon_estimate": 1e6}
    ridge = max(ridge_candidates(case, power_of_scale=1))
    root = 5 * ridge / np.sqrt(5 * np.log(2)) + noise_from_the_algorithms(case)
    exact = 32 * root**2 * np.log(2) ** 2
    assert exact < rules.stochastic(rules.TheoremCase(**case)).rules.exploration_periods < exact + 1


def test_stochastic_reads_scale_without_the_square() -> None:
    """The two theorems differ in rho by the factor G where the family's term decides it."""
    case = {**PAPER, "scale": 3.0, "curvature": 1e6}
    squared, plain = (
        rules.adversarial(rules.TheoremCase(**case)).rules.ridge - 2,
        rules.stochastic(rules.TheoremCase(**case)).rules.ridge - 2,
    )
    assert squared / plain == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("horizon", "dimension", "calls"), [(10**5, 2, 34), (10**5, 3, 50), (10**6, 2, 40), (10**6, 3, 60), (2**20, 3, 60)]
)
def test_numerical_section(horizon: int, dimension: int, calls: int) -> None:
    """sec:numerical; D_inf is the least whole n with 2^n >= T^d, decided here in whole numbers."""
    assert calls == (horizon**dimension - 1).bit_length()
    expected = rules.PaperRules(exploration_periods=10, ridge=10, width=1, max_estimates=calls)
    assert rules.numerical(horizon, dimension) == expected


@pytest.mark.parametrize(("horizon", "dimension"), [(2, 1), (17, 2), (10**5, 2), (10**5, 3), (10**6, 3)])
def test_theorems_cap_the_estimates_at_the_power_of_three_halves(horizon: int, dimension: int) -> None:
    """D_inf is the least whole n with 1.5^n >= T^d, decided in whole numbers: 3^n >= 2^n T^d."""
    calls = rules.adversarial(
        rules.TheoremCase(**{**PAPER, "horizon": horizon, "dimension": dimension})
    ).rules.max_estimates
    target = horizon**dimension
    assert 3**calls >= 2**calls * target
    assert 3 ** (calls - 1) < 2 ** (calls - 1) * target


@pytest.mark.parametrize("horizon", [10**5, 10**6])
@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("epsilon", [0.1, 0.2, 0.5, 1.0])
def test_at_the_papers_own_sizes_both_bounds_are_vacuous(horizon: int, dimension: int, epsilon: float) -> None:
    """The starting bonus gamma/sqrt(rho) is in the hundreds or thousands, where a sale brings at most 1."""
    size = {"horizon": horizon, "dimension": dimension, "delta_estimate": horizon**-2.0}
    case = {**PAPER, **size, "epsilon_covariance": epsilon, "epsilon_estimate": epsilon}
    general, spread = rules.adversarial(rules.TheoremCase(**case)), rules.stochastic(rules.TheoremCase(**case))
    assert 100 < general.rules.width / math.sqrt(general.rules.ridge) < 10_000
    assert general.regret_bound > horizon
    assert spread.rules.exploration_periods > 1e14
    assert spread.regret_bound > horizon


@pytest.mark.parametrize("theorem", THEOREMS)
@pytest.mark.parametrize(
    ("field", "values", "falls"),
    [
        ("epsilon_covariance", [0.01, 0.1, 1.0, 5.0], True),
        ("epsilon_estimate", [0.01, 0.1, 1.0, 5.0], True),
        ("delta_estimate", [1e-60, 1e-12, 1e-10, 1e-5], True),
        ("dimension", [1, 2, 3, 10], False),
        ("horizon", [2, 100, 10**5, 10**6], False),
        ("curvature", [1.0, 9.5, 746.0], False),
        ("scale", [1.0, 2.0, 4.0], False),
        ("bound", [0.5, 1.0, 3.0], False),
        ("subgaussian", [0.5, 1.0, 2.0], False),
    ],
)
def test_bound_moves_the_way_it_should(theorem: Any, field: str, values: list[float], falls: bool) -> None:
    bounds = [theorem(rules.TheoremCase(**{**PAPER, field: value})).regret_bound for value in values]
    assert bounds == sorted(bounds, reverse=falls)
    assert bounds[0] != bounds[-1]


@pytest.mark.parametrize("theorem", THEOREMS)
@pytest.mark.parametrize("field", sorted(PAPER))
@pytest.mark.parametrize("value", [math.nan, math.inf, 0, -1])
def test_theorems_refuse_and_name_the_field(theorem: Any, field: str, value: float) -> None:
    with pytest.raises(InvalidInput, match=f"^{field} must .* got {value}$"):
        theorem(rules.TheoremCase(**{**PAPER, field: value}))


@pytest.mark.parametrize("theorem", THEOREMS)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("horizon", 1),
        ("horizon", 2.5),
        ("dimension", True),
        ("delta_estimate", 1.0),
        ("curvature", 0.5),
        ("scale", 0.5),
    ],
)
def test_theorems_refuse_what_lies_outside_their_conditions(theorem: Any, field: str, value: float) -> None:
    with pytest.raises(InvalidInput, match=f"^{field} must"):
        theorem(rules.TheoremCase(**{**PAPER, field: value}))


@pytest.mark.parametrize(
    ("theorem", "change", "name"),
    [
        (rules.stochastic, {"epsilon_estimate": 1e-200}, "exploration_periods"),
        (rules.adversarial, {"epsilon_covariance": 1e-320}, "ridge"),
        (rules.adversarial, {"epsilon_estimate": 5e-324}, "epsilon_per_estimate"),
        (rules.adversarial, {"delta_estimate": 5e-324}, "delta_per_estimate"),
    ],
)
def test_what_floats_cannot_hold_is_refused(theorem: Any, change: dict[str, float], name: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{name} must"):
        theorem(rules.TheoremCase(**{**PAPER, **change}))


@pytest.mark.parametrize(
    ("horizon", "dimension", "field"), [(0, 2, "horizon"), (math.nan, 2, "horizon"), (9, 0, "dimension")]
)
def test_numerical_refuses_and_names_the_field(horizon: Any, dimension: Any, field: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{field} must"):
        rules.numerical(horizon, dimension)


@pytest.mark.parametrize("field", ["exploration_periods", "ridge", "width", "max_estimates"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -1, True])
def test_tuning_refuses_and_names_the_field(field: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=f"^{field} must .* got {value}$"):
        dataclasses.replace(rules.numerical(100, 2), **{field: value})


@pytest.mark.parametrize("field", ["ridge", "max_estimates"])
def test_tuning_refuses_zero(field: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{field} must"):
        dataclasses.replace(rules.numerical(100, 2), **{field: 0})


@pytest.mark.parametrize("field", ["exploration_periods", "width"])
def test_no_exploration_and_no_bonus_are_allowed(field: str) -> None:
    assert getattr(dataclasses.replace(rules.numerical(100, 2), **{field: 0}), field) == 0


def test_one_customer_still_has_an_estimate_to_divide_the_budget_by() -> None:
    assert rules.numerical(1, 2).max_estimates == 1


@pytest.mark.parametrize("field", ["regret_bound", "estimate_noise"])
@pytest.mark.parametrize("value", [math.nan, math.inf, 0.0, -1.0])
def test_theorem_refuses_and_names_the_field(field: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=f"^{field} must"):
        dataclasses.replace(rules.adversarial(rules.TheoremCase(**PAPER)), **{field: value})


def test_values_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        rules.numerical(100, 2).ridge = 1.0  # type: ignore[misc]


@pytest.mark.parametrize("dimension", [2, 3])
def test_kappa_threshold_on_the_papers_instance(dimension: int) -> None:
    """E[phi phi'] = I/(3d) there, so the stochastic theorem starts at T = e^(9 d^2), far beyond the paper's runs."""
    generator = np.random.default_rng(5)
    features = np.hstack([generator.uniform(-1, 1, (400_000, dimension - 1)), -generator.uniform(0, 1, (400_000, 1))])
    features /= math.sqrt(dimension)
    kappa = np.linalg.eigvalsh(features.T @ features / len(features))[0]
    assert kappa == pytest.approx(1 / (3 * dimension), rel=0.01)
    assert math.log(rules.kappa_threshold(1 / (3 * dimension))) == pytest.approx(9 * dimension**2)
    assert rules.kappa_threshold(1 / (3 * dimension)) > 10**6


def test_kappa_threshold_is_infinite_where_it_overflows() -> None:
    assert rules.kappa_threshold(1.0) == pytest.approx(math.e)
    assert rules.kappa_threshold(0.01) == math.inf
    assert rules.kappa_threshold(1e-200) == math.inf


@pytest.mark.parametrize("value", [math.nan, 0.0, -0.1, 1.1, math.inf])
def test_kappa_threshold_refuses(value: float) -> None:
    with pytest.raises(InvalidInput, match=f"^kappa must .* got {value}$"):
        rules.kappa_threshold(value)
