"""The compiled simulator against the engine object itself: the same tape must give the same prices, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hushprice.demand import family
from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.features import Affine, main_effects
from hushprice.errors import InvalidInput
from hushprice.policies.protocol import Setting
from hushprice.simulation.contexts import KINDS
from hushprice.simulation.market import Market, paper_market
from hushprice.simulation.result import SimulationResult
from hushprice.simulation.run import simulate
from hushprice.types import FloatArray

HORIZON = 300
LEARNING: list[dict[str, Any]] = [
    {"policy": "nonprivate"},
    {"policy": "paper", "calibration": "tight", "epsilon": 0.5},
    {"policy": "paper", "calibration": "tight", "epsilon": 30.0},
    {"policy": "paper", "calibration": "published", "epsilon": 0.5},
    {"policy": "paper", "calibration": "published", "epsilon": 30.0},
    {"policy": "paper", "calibration": "printed", "epsilon": 30.0},
]
STEEP = {"gaussian": ("published",), "poisson": ("published", "printed")}  # what these markets' slopes rule out
GENTLE = {"gaussian": Gaussian(), "poisson": Poisson()}
MarketMaker = Callable[..., Market]


def both(market: Market, trials: int = 1, **settings: Any) -> tuple[SimulationResult, SimulationResult]:
    common: dict[str, Any] = {"horizon": HORIZON, "delta": 1e-3, "seed": 3, "workers": 1, "keep_prices": True}
    common |= {"market": market, "trials": trials} | settings
    return simulate(engine="compiled", **common), simulate(engine="python", **common)


def assert_same(compiled: SimulationResult, python: SimulationResult) -> None:
    assert compiled.prices is not None
    assert python.prices is not None
    np.testing.assert_array_equal(compiled.prices, python.prices)
    for fast, slow in zip(compiled.estimate_periods, python.estimate_periods, strict=True):
        assert fast.tolist() == slow.tolist()
    assert compiled.estimates.tolist() == python.estimates.tolist()
    assert compiled.indefinite.tolist() == python.indefinite.tolist()
    for name in ("regret", "revenue", "surplus", "cumulative_regret"):
        np.testing.assert_allclose(getattr(compiled, name), getattr(python, name), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("settings", LEARNING)
@pytest.mark.parametrize("features", ["main", "intercept", "interactions"])
@pytest.mark.parametrize("name", ["logistic", "gaussian", "poisson"])
def test_every_family_and_map_is_priced_as_the_engine_prices_it(
    make_market: MarketMaker, name: str, features: str, settings: dict[str, Any]
) -> None:
    market = make_market(name, features)
    if settings.get("calibration") in STEEP.get(name, ()):
        with pytest.raises(InvalidInput, match=r"is claimed, but the noise proves .* does not fit this market"):
            both(market, **settings)
        market = replace(market, demand=GENTLE[name])
    compiled, python = both(market, **settings)
    assert compiled.estimates[0] >= 1  # the comparison is about learning
    assert_same(compiled, python)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_contexts_is_priced_as_the_engine_prices_it(make_market: MarketMaker, kind: str) -> None:
    assert_same(*both(make_market(kind=kind), policy="nonprivate"))


@pytest.mark.parametrize("dimension", [2, 3, 6])
def test_every_trial_of_the_papers_instance_is_priced_as_the_engine_prices_it(dimension: int) -> None:
    assert_same(*both(paper_market(dimension), trials=3, policy="paper", epsilon=5.0))


@pytest.mark.parametrize(
    "tuning",
    [
        {"exploration_periods": 0},
        {"exploration_periods": 100},
        {"ridge": 0.5, "width": 0.0},
        {"ridge": 200.0, "width": 5.0},
        {"max_estimates": 2},
        {"horizon": 1},
        {"horizon": 17},
    ],
)
def test_every_tuning_is_priced_as_the_engine_prices_it(make_market: MarketMaker, tuning: dict[str, Any]) -> None:
    assert_same(*both(make_market(), **({"policy": "paper", "epsilon": 8.0} | tuning)))


@pytest.mark.parametrize(
    "settings",
    [{"policy": "random"}, {"policy": "fixed", "price": 0.25}, {"policy": "fixed"}, {"policy": "clairvoyant"}],
)
@pytest.mark.parametrize("name", ["logistic", "gaussian", "poisson"])
def test_baselines_agree_between_backends(make_market: MarketMaker, name: str, settings: dict[str, Any]) -> None:
    assert_same(*both(make_market(name), trials=2, **settings))


class Half:
    """A policy of one's own that charges one half and writes down what it is told."""

    heard: list[tuple[float, float]]

    def __init__(self, setting: Setting) -> None:
        assert setting.horizon == HORIZON
        type(self).heard = []

    def price(self, context: FloatArray) -> float:
        assert np.all(np.abs(context) <= 1.0)
        return 0.5

    def learn(self, context: FloatArray, price: float, demand: float) -> None:
        type(self).heard.append((price, demand))


def test_a_policy_of_your_own_meets_the_same_customers_and_hears_what_they_buy(make_market: MarketMaker) -> None:
    market = make_market()
    own = simulate(Half, market=market, horizon=HORIZON, trials=1, seed=3)
    built = simulate("fixed", price=0.5, market=market, horizon=HORIZON, trials=1, seed=3)
    assert (own.policy, own.claimed, own.proven) == ("Half", None, None)
    np.testing.assert_allclose([own.regret, own.revenue], [built.regret, built.revenue], rtol=1e-12)
    prices, demands = zip(*Half.heard, strict=True)
    assert set(prices) == {0.5}
    assert set(demands) == {0.0, 1.0}


def test_a_price_outside_the_unit_interval_is_refused(make_market: MarketMaker) -> None:
    class Greedy(Half):
        def price(self, context: FloatArray) -> float:
            return 1.5

    with pytest.raises(InvalidInput, match=r"price must lie in \[0, 1\], got 1.5"):
        simulate(Greedy, market=make_market(), horizon=HORIZON, trials=1)


def test_a_map_of_your_own_learns_as_the_built_in_one_it_repeats() -> None:
    def u(x: FloatArray) -> FloatArray:
        return np.array([*x, 0.0])

    def v(x: FloatArray) -> FloatArray:
        return np.array([*np.zeros_like(x), -1.0])

    theta = np.array([0.3, -0.5, 0.7])
    own = Market(demand=Logistic(), features=Affine(2, 3, u, v, 3**0.5), theta=theta)
    built = Market(demand=Logistic(), features=main_effects(2), theta=theta)
    assert not own.compiled
    settings: dict[str, Any] = {"horizon": HORIZON, "trials": 1, "keep_prices": True}
    ours = simulate("nonprivate", market=own, **settings)
    theirs = simulate("nonprivate", market=built, **settings)
    assert ours.estimate_periods[0].tolist() == theirs.estimate_periods[0].tolist()
    assert ours.prices is not None
    assert theirs.prices is not None
    np.testing.assert_allclose(ours.prices, theirs.prices, atol=1e-6)


def test_a_family_of_your_own_has_the_clairvoyant_price_of_the_built_in_one_it_repeats() -> None:
    class Own:
        """The logistic family, as the plain-Python engine sees somebody's own."""

        family = family.CUSTOM

        def __getattr__(self, name: str) -> Any:
            return getattr(Logistic(), name)

    settings: dict[str, Any] = {"horizon": 50, "trials": 1, "keep_prices": True}
    theta = np.array([0.3, -0.5, 0.7])
    own = Market(demand=Own(), features=main_effects(2), theta=theta)
    built = Market(demand=Logistic(), features=main_effects(2), theta=theta)
    ours = simulate("clairvoyant", market=own, **settings)
    theirs = simulate("clairvoyant", market=built, **settings)
    np.testing.assert_allclose(ours.revenue, theirs.revenue, rtol=1e-6)
    assert np.isnan(ours.surplus[0])  # the utility model is the built-in family's alone


def test_backends_are_refused_where_they_cannot_run(make_market: MarketMaker) -> None:
    with pytest.raises(InvalidInput, match="engine"):
        simulate("random", horizon=5, trials=1, engine="gpu?")
    with pytest.raises(InvalidInput, match="'compiled'"):
        simulate(Half, market=make_market(), horizon=5, trials=1, engine="compiled")
    with pytest.raises(InvalidInput, match="input-perturbation"):
        simulate("input-perturbation", horizon=5, trials=1, engine="python")
