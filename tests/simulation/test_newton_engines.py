"""noisy-newton compiled against the engine object itself: the same tape must give the same prices, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.simulation.test_engines import assert_same, both

from hushprice.numerics.jit import COMPILED
from hushprice.simulation.market import Market, paper_market

MarketMaker = Callable[..., Market]
NEWTON: dict[str, Any] = {"policy": "noisy-newton", "epsilon": 5.0, "horizon": 400}


@pytest.mark.parametrize("epsilon", [0.5, 5.0, 100.0])
@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_papers_instance_is_priced_as_the_engine_prices_it(dimension: int, seed: int, epsilon: float) -> None:
    compiled, python = both(paper_market(dimension), trials=2, **NEWTON | {"epsilon": epsilon, "seed": seed})
    assert compiled.estimates.min() >= 1
    assert_same(compiled, python)
    np.testing.assert_allclose(compiled.start, python.start, rtol=1e-12)


@pytest.mark.parametrize("features", ["main", "intercept", "interactions"])
@pytest.mark.parametrize("name", ["logistic", "gaussian", "poisson"])
def test_every_family_and_map_is_priced_as_the_engine_prices_it(
    make_market: MarketMaker, name: str, features: str
) -> None:
    assert_same(*both(make_market(name, features), **NEWTON | {"epsilon": 50.0}))


@pytest.mark.parametrize(
    "settings",
    [
        {"trigger": False},
        {"bonus": False},
        {"noise": False},
        {"reference_price": 0.3},
        {"adjacency": "zero-out"},
        {"horizon": 1},
        {"horizon": 8},
        {"horizon": 27},
    ],
    ids=str,
)
def test_every_setting_is_priced_as_the_engine_prices_it(settings: dict[str, Any]) -> None:
    assert_same(*both(paper_market(3), **NEWTON | settings))


@pytest.mark.skipif(not COMPILED, reason="thousands of customers, interpreted")
@pytest.mark.parametrize("features", ["intercept", "interactions"])
@pytest.mark.parametrize("name", ["logistic", "gaussian"])
def test_probes_are_the_same(make_market: MarketMaker, name: str, features: str) -> None:
    """Level and slope are confounded; batches that are probes are shorter, on both engines."""
    compiled, python = both(make_market(name, features), **NEWTON | {"epsilon": 50.0, "horizon": 3000, "seed": 5})
    growth = compiled.estimate_periods[0][1:] / compiled.estimate_periods[0][:-1]
    assert np.any(growth[5:] < 1.2)
    assert_same(compiled, python)


@pytest.mark.skipif(not COMPILED, reason="thousands of customers, interpreted")
@pytest.mark.parametrize(("k", "kind"), [(1, "sorted"), (2, "late"), (2, "blocks")])
@pytest.mark.parametrize("seed", [3, 4])
def test_batches_that_a_trigger_ended_are_the_same(make_market: MarketMaker, k: int, kind: str, seed: int) -> None:
    """A direction opens late; batches then end where released curvatures say so, on both engines."""
    settings = NEWTON | {"epsilon": 50.0, "horizon": 3000, "seed": seed}
    market = make_market(kind=kind, k=k)
    compiled, python = both(market, **settings)
    public, _ = both(market, **settings | {"noise": False, "trigger": False})
    early = set(compiled.estimate_periods[0].tolist()) - set(public.estimate_periods[0].tolist())
    assert early
    assert_same(compiled, python)
