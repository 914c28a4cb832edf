"""The paper's noise from a budget: its numbers, every formula a second time, and the direction each one moves in."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice.demand.families import Logistic
from hushprice.errors import InvalidInput
from hushprice.policies.paper import calibration, published_noise
from hushprice.policies.paper.noise import Noise
from hushprice.policies.protocol import Constants
from hushprice.privacy.budget import EpsilonDelta, PrivacyBudget, split
from hushprice.privacy.sensitivity import LossBounds, of_loss

property_test = settings(deadline=None, derandomize=True)
K = (1 + math.e**2) ** 2 / math.e**2  # the paper's logistic example
MARKET: dict[str, Any] = {"bound": 1.0, "scale": 4.0, "curvature": K}  # zeta = 4 in sec:numerical
PAPER: dict[str, Any] = {"horizon": 10**5, "dimension": 2, "max_estimates": 34, "ridge": 10.0, **MARKET}
LOSSES = of_loss(Logistic(slope=4.0))
BUDGET = split(2.0, 2e-10)  # epsilon_1 = epsilon_2 = 1, delta_1 = delta_2 = 1/T^2
NAMES = ["printed", "published"]


def calibrate(name: str, budget: PrivacyBudget, *, losses: LossBounds = LOSSES, **case: Any) -> Noise:
    """By name, with the paper's constants among the other numbers."""
    constants = Constants(**{field: case.pop(field) for field in MARKET})
    return calibration.calibrate(name, budget, constants=constants, losses=losses, **case)


budgets = st.builds(
    lambda e1, e2, d1, d2: PrivacyBudget(covariance=EpsilonDelta(e1, d1), estimates=EpsilonDelta(e2, d2)),
    *2 * [st.floats(1e-3, 10.0)],
    *2 * [st.floats(1e-60, 1e-3)],
)
sizes = st.fixed_dictionaries(
    {
        "horizon": st.integers(1, 10**9),
        "dimension": st.integers(1, 20),
        "max_estimates": st.integers(1, 500),
        "ridge": st.floats(1e-3, 1e3),
        "bound": st.floats(0.1, 10.0),
        "scale": st.floats(1.0, 10.0),
        "curvature": st.floats(1.0, 1e3),
    }
)


def transcribed(name: str, budget: PrivacyBudget, case: dict[str, Any]) -> tuple[float, float, float]:
    """sigma, nu and rho from alg:private-cov line 2, alg:framework line 3, alg:private-mle line 2, in variances."""
    printed = name == "printed"
    m = max(1.0, np.ceil(np.log2(case["horizon"])))
    delta = budget.covariance.delta / m / 2
    shrink = m * np.log(1 / delta) if printed else np.sqrt(2 * m * np.log(1 / delta))
    variance = 2 * np.log(1.25 / delta) * (2 * shrink / budget.covariance.epsilon) ** 2
    calls = case["max_estimates"]
    delta = budget.estimates.delta / calls / 2
    epsilon = budget.estimates.epsilon / np.sqrt(2 * calls * np.log(1 / delta)) / (2 if printed else 1)
    g = case["scale"] if printed else 1
    b1, b2 = case["bound"] * g + g, case["curvature"] * g
    tilt = b1**2 * (8 * np.log(2 / delta) + 4 * epsilon) / epsilon**2
    return float(np.sqrt(variance)), float(np.sqrt(tilt)), float(max(case["ridge"], 2 * b2 / epsilon))


@property_test
@given(st.sampled_from(NAMES), budgets, sizes)
def test_both_calibrations_agree_with_a_second_transcription(
    name: str, budget: PrivacyBudget, case: dict[str, Any]
) -> None:
    noise = calibrate(name, budget, **case)
    found = (noise.covariance_noise, noise.estimate_noise, noise.estimate_ridge)
    assert found == pytest.approx(transcribed(name, budget, case), rel=1e-9)
    assert noise.claimed == budget.total
    assert noise.floored is (name == "printed")
    assert (noise.strategy, noise.layout) == ("tree", "triangle")
    assert noise.max_estimates == case["max_estimates"]


@property_test
@given(st.sampled_from(NAMES), budgets, sizes)
def test_the_true_bounds_of_the_demand_decide_the_output_noise_only(
    name: str, budget: PrivacyBudget, case: dict[str, Any]
) -> None:
    larger = LossBounds(gradient=400.0, difference=800.0, curvature=400.0)
    noise, other = calibrate(name, budget, **case), calibrate(name, budget, losses=larger, **case)
    assert dataclasses.replace(noise, output_noise=other.output_noise) == other
    assert other.output_noise > noise.output_noise > 0.0


def test_the_printed_sigma_is_6606() -> None:
    """T = 1e5, epsilon_1 = 1, delta_1 = 1/T^2; the square root saves sqrt(m ln(1/delta') / 2), here a factor 15."""
    printed, published = (calibrate(name, BUDGET, **PAPER).covariance_noise for name in NAMES)
    assert round(printed) == 6606
    assert printed / published == pytest.approx(math.sqrt(17 * math.log(34e10) / 2))
    assert 15 < printed / published < 16


@pytest.mark.parametrize(("name", "b1", "b2"), [("printed", 8.0, 38.0), ("published", 2.0, 9.5)])
def test_the_constants_behind_the_noise(name: str, b1: float, b2: float) -> None:
    """docs/lab/readings.md: what is left of nu and of rho once the per-call epsilon and delta are taken out."""
    call = published_noise.per_estimate(BUDGET.estimates, 34, halved=name == "printed")
    noise = calibrate(name, BUDGET, **PAPER)
    unit = math.sqrt(8 * math.log(2 / call.delta) + 4 * call.epsilon) / call.epsilon
    assert noise.estimate_noise / unit == pytest.approx(b1)
    assert noise.estimate_ridge * call.epsilon / 2 == pytest.approx(b2, abs=0.1)


def test_a_call_costs_twice_as_much_without_the_printed_factor() -> None:
    share = EpsilonDelta(1.0, 1e-10)
    printed, corollary = (published_noise.per_estimate(share, 34, halved=halved) for halved in (True, False))
    assert corollary.epsilon == 2 * printed.epsilon
    assert corollary.delta == printed.delta == 1e-10 / 68


def test_the_callers_ridge_is_only_ever_raised() -> None:
    assert calibrate("printed", BUDGET, **{**PAPER, "ridge": 1e9}).estimate_ridge == 1e9
    assert calibrate("printed", BUDGET, **PAPER).estimate_ridge > PAPER["ridge"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("covariance_noise", lambda x: {"covariance": EpsilonDelta(1.0 / x, 1e-10)}),
        ("covariance_noise", lambda x: {"covariance": EpsilonDelta(1.0, 1e-10**x)}),
        ("covariance_noise", lambda x: {"horizon": 10 ** (2 + int(2 * x))}),
        ("estimate_noise", lambda x: {"estimates": EpsilonDelta(1.0 / x, 1e-10)}),
        ("estimate_noise", lambda x: {"estimates": EpsilonDelta(1.0, 1e-10**x)}),
        ("estimate_noise", lambda x: {"max_estimates": int(10 * x)}),
        ("estimate_noise", lambda x: {"bound": x}),
        ("estimate_ridge", lambda x: {"curvature": 10 * x}),
        ("estimate_ridge", lambda x: {"max_estimates": int(10 * x)}),
    ],
)
def test_more_privacy_or_more_releases_mean_more_noise(name: str, field: str, change: Any) -> None:
    values = []
    for x in (0.5, 1.0, 2.0, 5.0):
        case = {**PAPER, "covariance": BUDGET.covariance, "estimates": BUDGET.estimates, **change(x)}
        budget = PrivacyBudget(covariance=case.pop("covariance"), estimates=case.pop("estimates"))
        values.append(getattr(calibrate(name, budget, **case), field))
    assert values == sorted(values)
    assert len(set(values)) == 4


@property_test
@given(budgets, sizes)
def test_printed_never_has_less_noise_than_published(budget: PrivacyBudget, case: dict[str, Any]) -> None:
    printed, published = (calibrate(name, budget, **case) for name in NAMES)
    assert printed.covariance_noise >= published.covariance_noise
    assert printed.estimate_noise >= published.estimate_noise
    assert printed.estimate_ridge >= published.estimate_ridge


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("field", sorted(PAPER))
@pytest.mark.parametrize("value", [math.nan, math.inf, 0, -1])
def test_calibrate_refuses_and_names_the_field(name: str, field: str, value: float) -> None:
    with pytest.raises(InvalidInput, match=f"^{field} must"):
        calibrate(name, BUDGET, **{**PAPER, field: value})


@pytest.mark.parametrize(
    ("share", "name"),
    [
        ({"covariance": EpsilonDelta(1.0, 5e-324)}, "delta_per_node"),
        ({"covariance": EpsilonDelta(5e-324, 1e-10)}, "epsilon_per_node"),
        ({"covariance": EpsilonDelta(1e-310, 1e-10)}, "covariance_noise"),
        ({"estimates": EpsilonDelta(1.0, 5e-324)}, "delta_per_estimate"),
        ({"estimates": EpsilonDelta(5e-324, 1e-10)}, "epsilon_per_estimate"),
        ({"estimates": EpsilonDelta(1e-310, 1e-10)}, "estimate_noise"),
    ],
)
def test_what_floats_cannot_hold_is_refused(share: dict[str, EpsilonDelta], name: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{name} must"):
        calibrate("printed", dataclasses.replace(BUDGET, **share), **PAPER)


@pytest.mark.parametrize("field", ["bound", "scale", "curvature"])
@pytest.mark.parametrize("value", [math.nan, math.inf, 0.0, -1.0])
def test_constants_refuse_and_name_the_field(field: str, value: float) -> None:
    with pytest.raises(InvalidInput, match=f"^{field} must"):
        Constants(**{**MARKET, field: value})


def test_the_numbers_in_the_documentation() -> None:
    text = (Path(__file__).parents[3] / "docs" / "lab" / "readings.md").read_text()
    for name in NAMES:
        noise = calibrate(name, BUDGET, **PAPER)
        for value in (noise.covariance_noise, noise.estimate_noise, noise.estimate_ridge):
            assert f"**{round(value):,}**" in text
