"""Noise by name: what is claimed, what is proven, and that the paper's constants never decide what is proven."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.errors import InvalidInput
from hushprice.policies.paper import tight_noise
from hushprice.policies.paper.calibration import CALIBRATIONS, calibrate
from hushprice.policies.paper.noise import Noise, open_ledger
from hushprice.policies.protocol import Constants
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta, PrivacyBudget, split
from hushprice.privacy.sensitivity import LossBounds, of_loss

property_test = settings(deadline=None, derandomize=True)
DEMAND = Logistic(slope=4.0)
CONSTANTS = Constants(bound=1.0, scale=4.0, curvature=DEMAND.paper_curvature)
LOSSES = of_loss(DEMAND)
PAPER: dict[str, Any] = {
    "horizon": 10**5,
    "dimension": 2,
    "max_estimates": 34,
    "ridge": 10.0,
    "constants": CONSTANTS,
    "losses": LOSSES,
}
BUDGET = split(2.0, 2e-10)
demands = st.sampled_from([Logistic(slope=1.0), DEMAND, Logistic(slope=10.0), Gaussian(), Poisson()])
cases = st.fixed_dictionaries(
    {
        "epsilon": st.floats(math.log(0.01), math.log(20.0)).map(math.exp),
        "delta": st.floats(-60.0, -3.0).map(lambda power: 10.0**power),
        "horizon": st.floats(0.0, 9.0).map(lambda power: round(10.0**power)),
        "dimension": st.integers(1, 20),
        "max_estimates": st.integers(1, 60),
        "ridge": st.floats(0.1, 100.0),
        "adjacency": st.sampled_from(list(Adjacency)),
    }
)


def noise_for(name: str, demand: Any, case: dict[str, Any]) -> tuple[Noise, float, dict[str, Any]]:
    """The noise, what it proves, and the case without its budget."""
    case = dict(case)
    losses = of_loss(demand)
    constants = Constants(bound=demand.bound, scale=demand.scale, curvature=demand.paper_curvature)
    budget = split(case.pop("epsilon"), case.pop("delta"))
    noise = calibrate(name, budget, constants=constants, losses=losses, **case)
    case = {"losses": losses, **{key: case[key] for key in ("horizon", "dimension", "adjacency")}}
    return noise, tight_noise.proven_epsilon(noise, **case), case


@pytest.mark.beyond_coverage
@settings(property_test, max_examples=25)
@given(demands, cases)
@example(
    DEMAND,
    {
        "epsilon": 0.01,
        "delta": 1e-60,
        "horizon": 10**9,
        "dimension": 20,
        "max_estimates": 40,
        "ridge": 10.0,
        "adjacency": Adjacency.REPLACE_ONE,
    },
)
def test_tight_proves_what_it_claims_and_wastes_nothing(demand: Any, case: dict[str, Any]) -> None:
    noise, proven, case = noise_for("tight", demand, case)
    assert noise.claimed is not None
    assert 0.999 * noise.claimed.epsilon <= proven <= noise.claimed.epsilon
    ledger = open_ledger(noise, max_estimates=noise.max_estimates or 0, live=True, **case)
    assert ledger.proven == EpsilonDelta(proven, noise.claimed.delta)


@settings(property_test, max_examples=60)
@given(demands, cases, st.sampled_from(["printed", "published"]))
def test_no_ledger_is_opened_on_a_claim_the_noise_does_not_prove(demand: Any, case: dict[str, Any], name: str) -> None:
    """`published` takes G = 1 whatever the slope, so its claim can be false; that is found out before any release."""
    noise, proven, case = noise_for(name, demand, case)
    assert noise.claimed is not None
    case |= {"max_estimates": noise.max_estimates, "live": True}
    if proven <= noise.claimed.epsilon:
        assert open_ledger(noise, **case).proven == EpsilonDelta(proven, noise.claimed.delta)
    else:
        assert name == "published"
        with pytest.raises(InvalidInput, match=r"^claimed must cover the allowance"):
            open_ledger(noise, **case)


def test_a_claim_of_published_that_is_false() -> None:
    """Slope 10, 158 estimates: 2.4 times the claim."""
    case = {"epsilon": 8.65, "delta": 1e-6, "horizon": 10**7, "dimension": 1, "max_estimates": 158, "ridge": 10.0}
    _, proven, _ = noise_for("published", Logistic(slope=10.0), case | {"adjacency": Adjacency.REPLACE_ONE})
    assert proven > 2.0 * 8.65
    _, proven, _ = noise_for("printed", Logistic(slope=10.0), case | {"adjacency": Adjacency.REPLACE_ONE})
    assert proven < 8.65


@pytest.mark.parametrize(("name", "low", "high"), [("published", 0.26, 0.29), ("printed", 0.045, 0.052)])
def test_how_much_of_its_claim_the_papers_noise_uses(name: str, low: float, high: float) -> None:
    """T = 1e5, d = 2, claims of 2.0 at 2/T^2: docs/lab/readings.md."""
    noise = calibrate(name, BUDGET, **PAPER)
    proven = tight_noise.proven_epsilon(
        noise, horizon=10**5, dimension=2, losses=LOSSES, adjacency=Adjacency.REPLACE_ONE
    )
    assert noise.claimed == EpsilonDelta(2.0, 2e-10)
    assert low < proven / 2.0 < high


def test_less_noise_from_printed_to_published_to_tight() -> None:
    printed, published, least = (calibrate(name, BUDGET, **PAPER) for name in CALIBRATIONS)
    for field in ("covariance_noise", "estimate_noise", "estimate_ridge"):
        assert getattr(printed, field) > getattr(published, field) > getattr(least, field)
    deviations = [tight_noise.largest_deviation(noise, 10**5) for noise in (printed, published, least)]
    assert deviations[0] > 10.0 * deviations[1] > 200.0 * deviations[2]


@pytest.mark.parametrize("change", [{"scale": 2.0}, {"bound": 0.5}, {"curvature": 1.0}])
def test_what_is_proven_does_not_rest_on_the_constants_of_a_calibration(change: dict[str, float]) -> None:
    """Halved, they buy less noise; the noise then proves less, and the same noise proves the same."""
    case: dict[str, Any] = {"horizon": 10**5, "dimension": 2, "losses": LOSSES, "adjacency": Adjacency.REPLACE_ONE}
    sound = calibrate("printed", BUDGET, **PAPER)
    lied = calibrate("printed", BUDGET, **PAPER | {"constants": dataclasses.replace(CONSTANTS, **change)})
    assert lied != sound
    assert tight_noise.proven_epsilon(lied, **case) > tight_noise.proven_epsilon(sound, **case)
    same = dataclasses.replace(
        lied,
        estimate_noise=sound.estimate_noise,
        estimate_ridge=sound.estimate_ridge,
        output_noise=sound.output_noise,
    )
    assert tight_noise.proven_epsilon(same, **case) == tight_noise.proven_epsilon(sound, **case)
    assert calibrate("tight", BUDGET, **PAPER | {"constants": dataclasses.replace(CONSTANTS, **change)}) == calibrate(
        "tight", BUDGET, **PAPER
    )


def test_constants_a_tenth_of_the_truth_open_no_ledger() -> None:
    """A family that understates G: its noise claims more than it proves, and the true bounds tell."""
    constants = Constants(bound=0.1, scale=0.2, curvature=0.1)
    noise = calibrate("published", BUDGET, **PAPER | {"constants": constants})
    larger = LossBounds(gradient=40.0, difference=80.0, curvature=400.0)
    with pytest.raises(InvalidInput, match=r"^claimed must cover the allowance"):
        open_ledger(noise, horizon=10**5, dimension=2, losses=larger, max_estimates=34, live=True)


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_claims_are_the_budget(name: str) -> None:
    budget = PrivacyBudget(covariance=EpsilonDelta(0.5, 1e-9), estimates=EpsilonDelta(1.5, 3e-9))
    noise = calibrate(name, budget, **PAPER)
    assert noise.claimed == budget.total == EpsilonDelta(2.0, 4e-9)
    assert noise.max_estimates == 34


@pytest.mark.parametrize("name", ["", "Printed", "paper", None])
def test_an_unknown_calibration_is_refused(name: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^calibration must be one of printed, published, tight, got"):
        calibrate(name, BUDGET, **PAPER)


@pytest.mark.parametrize("name", CALIBRATIONS)
@pytest.mark.parametrize("field", ["horizon", "dimension", "max_estimates", "ridge"])
@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, 2.5, None])
def test_calibrate_refuses_and_names_the_field(name: str, field: str, value: Any) -> None:
    if field == "ridge" and value == 2.5:
        assert calibrate(name, BUDGET, **PAPER | {field: value}).estimate_ridge >= 2.5
        return
    with pytest.raises(InvalidInput, match=f"^{field} must"):
        calibrate(name, BUDGET, **PAPER | {field: value})


@pytest.mark.parametrize("name", CALIBRATIONS)
@pytest.mark.parametrize("epsilon", [1e-12, 1e7])
def test_an_epsilon_out_of_all_proportion_is_refused(name: str, epsilon: float) -> None:
    with pytest.raises(InvalidInput, match=r"^epsilon"):
        calibrate(name, split(epsilon, 1e-60), **PAPER)
