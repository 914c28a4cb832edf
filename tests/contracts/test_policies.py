"""One suite for every policy: the built-in ones by their catalog, and one in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.policies.expected import EXPECTED, Expected

from hushprice.demand.families import Logistic
from hushprice.demand.features import main_effects
from hushprice.errors import InvalidInput
from hushprice.live.pricer import Pricer
from hushprice.numerics.jit import COMPILED
from hushprice.policies.catalog import NAMES
from hushprice.policies.paper.calibration import CALIBRATIONS
from hushprice.policies.paper.policy import paper
from hushprice.policies.paper.rules import numerical
from hushprice.policies.protocol import PlainPolicy, Policy, Setting
from hushprice.privacy.budget import EpsilonDelta, split
from hushprice.privacy.ledger import Ledger
from hushprice.simulation.result import SimulationResult
from hushprice.simulation.run import simulate
from hushprice.types import FloatArray

HORIZON = 400 if COMPILED else 60


class Thermostat:
    """A plain policy: a step up after a sale, a step down after none."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.now, self.learned = setting, 0.5, 0

    def price(self, context: FloatArray) -> float:
        assert context.shape == (self.setting.features.contexts,)
        return self.now

    def learn(self, context: FloatArray, price: float, demand: float) -> None:
        self.learned += 1
        self.now = min(1.0, max(0.0, price + (0.05 if demand > 0 else -0.05)))


Case = tuple[str | Callable[[Setting], PlainPolicy], dict[str, Any]]
CASES: dict[str, Case] = {
    **{name: (name, {}) for name in NAMES},
    **{f"paper-{each}": ("paper", {"calibration": each}) for each in CALIBRATIONS},
    "fixed at 0.3": ("fixed", {"price": 0.3}),
    "plain": (Thermostat, {}),
}


def expected(case: str) -> Expected:
    """Of the case's policy; of one that is in no catalog, nothing."""
    return EXPECTED.get(str(CASES[case][0]), Expected("nothing"))


def run(case: str, **changes: Any) -> SimulationResult:
    policy, options = CASES[case]
    given: dict[str, Any] = {"horizon": HORIZON, "dimension": 3, "epsilon": 2.0, "trials": 2, "workers": 1, "seed": 5}
    return simulate(policy, keep_prices=True, **given | options | changes)


@pytest.mark.parametrize("case", CASES)
def test_every_price_is_a_finite_number_in_the_unit_interval(case: str) -> None:
    prices = run(case).prices
    assert prices is not None
    assert prices.shape == (2, HORIZON)
    assert np.all((prices >= 0.0) & (prices <= 1.0))  # NaN is neither


@pytest.mark.parametrize("case", CASES)
def test_a_run_depends_on_its_seed_alone(case: str) -> None:
    first, again, other = run(case), run(case), run(case, seed=6)
    np.testing.assert_array_equal(first.prices, again.prices)
    np.testing.assert_array_equal(first.regret, again.regret)
    assert np.any(first.regret != other.regret) or case == "clairvoyant"


@pytest.mark.parametrize("case", CASES)
def test_what_is_claimed_and_proven_is_a_pair_or_nothing(case: str) -> None:
    result = run(case)
    for pair in (result.claimed, result.proven):
        assert pair is None or isinstance(pair, EpsilonDelta)
    if result.claimed is None:
        assert result.proven is None
    else:
        assert result.proven is not None
        assert result.proven.epsilon <= result.claimed.epsilon
        assert result.proven.delta <= result.claimed.delta


@pytest.mark.parametrize("case", CASES)
def test_only_a_policy_that_reads_nothing_costs_nothing(case: str) -> None:
    policy, claimed = CASES[case][0], run(case).claimed
    assert (claimed == EpsilonDelta(0.0, 0.0)) == (policy in EXPECTED and EXPECTED[policy].claims == "zero")
    assert (run(case).proven == EpsilonDelta(0.0, 0.0)) == (policy in EXPECTED and EXPECTED[policy].claims == "zero")
    if policy in ("paper", "noisy-newton"):
        assert claimed == EpsilonDelta(2.0, 2 / HORIZON**2)


@pytest.mark.parametrize(
    "case",
    [each for each in CASES if each != "fixed" and not each.startswith("paper") and not expected(each).knows_the_end],
)
def test_prices_do_not_depend_on_what_happens_later(case: str) -> None:
    """A shorter run is the beginning of a longer one, except where the horizon sets the noise or the hindsight."""
    common: dict[str, Any] = {"delta": 1e-6}  # no function of the horizon
    if CASES[case][0] in ("nonprivate", "input-perturbation"):
        common["max_estimates"] = 9
    shorter, longer = run(case, horizon=HORIZON // 2, **common), run(case, **common)
    assert shorter.prices is not None
    assert longer.prices is not None
    np.testing.assert_array_equal(shorter.prices, longer.prices[:, : HORIZON // 2])


def test_what_learns_changes_its_prices_and_what_does_not_is_fixed() -> None:
    for case in CASES:
        if expected(case).drowned:
            continue
        prices = run(case).prices
        assert prices is not None
        assert (np.unique(prices[0]).size == 1) == case.startswith("fixed")


def test_the_clairvoyant_alone_loses_nothing() -> None:
    regret = {case: float(run(case).regret.mean()) for case in CASES}
    assert regret.pop("clairvoyant") == 0.0
    assert all(loss > 0.0 for loss in regret.values())


@pytest.mark.parametrize("price", [1.5, -0.1, float("nan")])
def test_a_plain_policy_that_leaves_the_interval_is_stopped(price: float) -> None:
    class Broken(Thermostat):
        def price(self, context: FloatArray) -> float:
            return price

    with pytest.raises(InvalidInput, match=r"price must lie in \[0, 1\]"):
        simulate(Broken, horizon=5, trials=1)


@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_no_tuning_buys_more_than_the_noise_was_calculated_for(calibration: str) -> None:
    """The ridge of the fit is part of what was paid for; the ridge of Lambda acts on a release, and is free."""

    def ledger(policy: Policy) -> Ledger:
        return Pricer(policy=policy, demand=Logistic(), features=main_effects(2), horizon=HORIZON).ledger

    tuning = numerical(HORIZON, 3)
    policy = paper(calibration, split(1.0, 1e-6), horizon=HORIZON, dimension=3, demand=Logistic(), rules=tuning)
    with pytest.raises(InvalidInput, match=r"^max_estimates must be what the noise was calculated for, \d+, got 5000$"):
        replace(policy, rules=replace(tuning, max_estimates=5000))
    for ridge in (1e-9, 1e9):
        assert ledger(replace(policy, rules=replace(tuning, ridge=ridge))) == ledger(policy)
