"""A comparison refuses what it cannot run before it runs anything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hushprice.demand.families import Logistic, Poisson
from hushprice.demand.features import Affine, main_effects
from hushprice.errors import HushpriceError, InvalidInput
from hushprice.simulation import compare
from hushprice.simulation.compare import compare_policies
from hushprice.simulation.market import Market, paper_market

STEEP = Market(demand=Poisson(slope=2.0), features=main_effects(1), theta=np.array([0.1, 0.9]))
SMALL: dict[str, Any] = {"horizon": 500, "trials": 3, "workers": 1}


@pytest.mark.parametrize(
    ("policies", "settings", "kind", "message"),
    [
        (
            ["random", "paper@published"],
            {"market": STEEP},
            InvalidInput,
            "EpsilonDelta.* is claimed, but the noise proves",
        ),
        (
            ["random", "paper@published"],
            {"epsilon": 1e-310},
            InvalidInput,
            "covariance_noise must be a positive number",
        ),
        (["random", "no_such_module:Own"], {}, InvalidInput, "policy 'no_such_module:Own' cannot be imported"),
        (["random", "json:JSONDecoder"], {}, InvalidInput, "policy 'json:JSONDecoder' has no method 'price'"),
        (["random", "paper"], {"epsilon": 1e-310}, InvalidInput, "epsilon"),
        (["random", "paper"], {"adjacency": "nobody"}, InvalidInput, "adjacency must be one of"),
        (["random", "paper"], {"price": 0.5}, InvalidInput, "price is for policy 'fixed', got 0.5 for policy 'random'"),
        (["random", "paper"], {"ridge": 0.0}, InvalidInput, "ridge must"),
        (["random"], {"horizon": 0}, InvalidInput, "horizon must"),
    ],
)
def test_every_policy_is_made_before_the_first_one_runs(
    policies: list[str],
    settings: dict[str, Any],
    kind: type[HushpriceError],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run_too_early(*args: Any, **settings: Any) -> None:
        pytest.fail("a policy ran before every policy was made")

    monkeypatch.setattr(compare, "run", run_too_early)
    with pytest.raises(kind, match=f"^{message}"):
        compare.compare_policies(policies, **SMALL | settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"epsilon_covariance": 0.3, "epsilon_estimate": 0.7},
        {"epsilon_estimate": 0.7},
        {"market": paper_market(3)},
        {"dimension": 3, "delta": 1e-6},
        {"epsilon": None, "market": None, "dimension": None, "max_estimates": None, "engine": "compiled"},
    ],
)
def test_what_simulate_takes_passes_the_check(settings: dict[str, Any]) -> None:
    results = compare.compare_policies(["paper"], **SMALL | settings)
    assert [each.policy for each in results] == ["paper", "fixed"]


def test_the_best_fixed_price_is_shown_in_a_market_with_parts_of_your_own() -> None:
    built = main_effects(1)
    own = Affine(1, 2, lambda x: np.array([x[0], 0.0]), lambda x: np.array([0.0, -1.0]), 2**0.5)
    settings: dict[str, Any] = {"horizon": 60, "trials": 2, "workers": 1}
    theta = np.array([-0.3, 0.9])
    yardsticks = [
        compare_policies(["random"], market=Market(demand=Logistic(), features=features, theta=theta), **settings)[-1]
        for features in (built, own)
    ]
    assert [each.hindsight for each in yardsticks] == [True, True]
    np.testing.assert_allclose(yardsticks[1].regret, yardsticks[0].regret, rtol=1e-9)
