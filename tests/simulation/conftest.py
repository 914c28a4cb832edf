"""Markets that several test files share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.features import by_name
from hushprice.demand.protocol import Demand
from hushprice.simulation.market import Market

FAMILIES: dict[str, Demand] = {"logistic": Logistic(), "gaussian": Gaussian(noise=0.5), "poisson": Poisson(slope=3.0)}
MarketMaker = Callable[..., Market]


@pytest.fixture(scope="session")
def make_market() -> MarketMaker:
    """A market of the named parts in which demand falls in price so fast that most customers' best price is below 1."""

    def make(
        family: str = "logistic", features: str = "main", kind: str = "uniform", k: int = 2, **fields: Any
    ) -> Market:
        chosen = by_name(features, k)
        theta = np.full(chosen.dimension, 0.4 / chosen.dimension)
        theta[k if features == "main" else k + 1] = 0.9  # the entry that goes with the price
        if kind == "file":
            fields.setdefault("rows", np.random.default_rng(1).uniform(-1.0, 1.0, (50, k)))
        return Market(demand=FAMILIES[family], features=chosen, theta=theta, contexts=kind, **fields)

    return make
