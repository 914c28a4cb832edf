"""What a run reports against what it must be: regret, revenue and surplus by other means."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

from hushprice.demand.families import Logistic
from hushprice.demand.features import main_effects
from hushprice.simulation.market import Market, paper_market
from hushprice.simulation.run import simulate

MarketMaker = Callable[..., Market]
POLICIES = ["paper", "nonprivate", "input-perturbation", "random", "fixed"]


def run(policy: str, market: Market, **settings: Any) -> Any:
    return simulate(policy, market=market, **({"horizon": 2000, "trials": 3, "workers": 1} | settings))


@pytest.mark.parametrize("features", ["main", "intercept", "interactions"])
@pytest.mark.parametrize("family", ["logistic", "gaussian", "poisson"])
def test_nobody_beats_the_clairvoyant_and_the_clairvoyant_has_no_regret(
    make_market: MarketMaker, family: str, features: str
) -> None:
    market = make_market(family, features)
    clairvoyant = run("clairvoyant", market)
    assert np.abs(clairvoyant.regret).max() <= 1e-12
    for policy in POLICIES:
        result = run(policy, market)
        assert np.all(result.regret >= -1e-15)
        assert np.all(np.diff(result.cumulative_regret, axis=1, prepend=0.0) >= -1e-12)
        np.testing.assert_allclose(result.regret + result.revenue, clairvoyant.revenue, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(result.cumulative_regret[:, -1], 2000 * result.regret, rtol=1e-12)


@pytest.mark.parametrize("kind", ["late", "corners", "segments"])
def test_regret_and_revenue_add_up_on_adversarial_contexts_too(make_market: MarketMaker, kind: str) -> None:
    market = make_market(kind=kind)
    best = run("clairvoyant", market).revenue
    for policy in POLICIES:
        result = run(policy, market)
        np.testing.assert_allclose(result.regret + result.revenue, best, rtol=1e-12)


def test_regret_over_time_is_the_mean_of_the_trials() -> None:
    result = run("nonprivate", paper_market(2))
    frame = result.regret_over_time()
    assert frame["period"].to_list() == result.checkpoints.tolist()
    np.testing.assert_allclose(frame["regret"], result.cumulative_regret.mean(axis=0), rtol=1e-12)
    spread = result.cumulative_regret.std(axis=0, ddof=1) / math.sqrt(3)
    np.testing.assert_allclose(frame["standard_error"], spread, rtol=1e-12)
    alone = run("nonprivate", paper_market(2), trials=1).regret_over_time()
    assert alone["standard_error"].null_count() == alone.height


@pytest.mark.parametrize("policy", ["fixed", "random"])
def test_surplus_is_what_customers_who_buy_gain(policy: str) -> None:
    """Utility is u = zeta <phi, theta*> + logistic noise; a customer buys when u > 0 and gains u.

    Paper: subsec:discussion-consumer-surplus. Within four standard errors, so a right surplus fails once in 16,000; one
    that forgets the noise, or whose customers see prices 0.02 higher, is told apart.
    """
    market = paper_market(3)
    settings: dict[str, Any] = {"price": 0.4} if policy == "fixed" else {}
    result = run(policy, market, horizon=200_000, trials=5, **settings)
    rng = np.random.default_rng(11)
    x = rng.uniform(-1.0, 1.0, (10**6, 2))
    prices = np.full(10**6, 0.4) if policy == "fixed" else rng.uniform(size=10**6)
    noise = rng.logistic(size=10**6)

    def apart(paid: np.ndarray, luck: np.ndarray) -> float:
        utility = 4.0 / math.sqrt(3) * (x @ market.theta[:2] - paid * market.theta[2]) + luck
        gain = np.maximum(utility, 0.0)
        error = math.hypot(gain.std() / 1000.0, result.average_surplus.standard_error)
        return float(abs(gain.mean() - result.average_surplus.mean) / error)

    assert apart(prices, noise) < 4.0
    assert apart(prices + 0.02, noise) > 8.0
    assert apart(prices, np.zeros(10**6)) > 8.0


@pytest.mark.parametrize("family", ["logistic", "gaussian", "poisson"])
@pytest.mark.parametrize("kind", ["uniform", "segments", "blocks"])
def test_no_fixed_price_on_a_dense_grid_beats_the_best_one_in_hindsight(
    make_market: MarketMaker, family: str, kind: str
) -> None:
    market = make_market(family, kind=kind)
    best = run("fixed", market)
    grid = np.array([run("fixed", market, price=float(price)).revenue for price in np.linspace(0.0, 1.0, 201)])
    assert np.all(best.revenue >= grid.max(axis=0) - 1e-9)
    assert np.all(best.revenue <= grid.max(axis=0) + 1e-3)


def test_the_best_fixed_price_is_found_among_many_peaks() -> None:
    # Customers who each stop buying at a price of their own: revenue is a saw, known in closed form.
    rng = np.random.default_rng(2)
    prices = np.linspace(0.0, 1.0, 20_001)
    for slope in (4.0, 50.0, 300.0):
        worth = rng.uniform(0.05, 1.0, 8)
        market = Market(
            demand=Logistic(slope=slope),
            features=main_effects(1),
            theta=np.array([0.7, 0.7]),
            contexts="file",
            rows=worth[:, None],
        )
        demand = special.expit(slope * 0.7 / math.sqrt(2) * (worth[:, None] - prices))
        best = (prices * demand.mean(axis=0)).max()
        np.testing.assert_allclose(run("fixed", market).revenue, best, rtol=1e-6)


def test_each_trial_has_a_best_price_of_its_own(make_market: MarketMaker) -> None:
    result = run("fixed", make_market(), horizon=50, keep_prices=True)
    assert np.ptp(result.prices, axis=1).max() == 0.0
    assert len(set(result.prices[:, 0])) == 3
    assert result.hindsight
    assert result.label == "fixed (best in hindsight)"
