"""The instance the peers are run on is the simulator's own: same customers, same clairvoyant, same regret."""

from __future__ import annotations

import importlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hushprice.live.pricer import Pricer
from hushprice.noise import Tape
from hushprice.simulation.hindsight import narrow
from hushprice.simulation.run import prepare, simulate

PEERS = Path(__file__).resolve().parents[2] / "benchmarks" / "peers"
SETTING: dict[str, Any] = {"horizon": 3000, "trials": 2, "seed": 5}


@pytest.fixture(scope="module", params=[2, 3])
def dimension(request):
    return request.param


@pytest.fixture(scope="module")
def modules():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PEERS))
        yield {name: importlib.import_module(name) for name in ("instance", "export", "driver")}


@pytest.fixture(scope="module")
def instance(modules, dimension):
    return modules["export"].paper_instance(dimension, **SETTING)


class Quoting:
    """A pricer as the driver takes it."""

    def __init__(self, pricer: Pricer) -> None:
        self.pricer, self.open = pricer, ""

    def price(self, x: list[float]) -> float:
        quote = self.pricer.quote(x)
        self.open = quote.id
        return quote.price

    def learn(self, x: list[float], price: float, bought: int) -> None:
        self.pricer.observe(self.open, bought)


def simulated(policy: str, dimension: int, **more: Any) -> Any:
    return simulate(policy, dimension=dimension, workers=1, **SETTING, **more)


def test_clairvoyant_revenue_is_the_simulators(instance, dimension):
    result = simulated("clairvoyant", dimension)
    np.testing.assert_allclose(instance.best_revenues.mean(axis=1), result.revenue, rtol=1e-12)
    for trial in range(2):
        assert instance.average_regret(trial, instance.best_prices[trial]) == pytest.approx(0.0, abs=1e-15)


def test_best_fixed_price_has_the_simulators_regret(instance, dimension):
    result = simulated("fixed", dimension)
    for trial in range(2):
        every = partial(instance.revenues, trial)
        best = narrow(lambda prices, every=every: np.array([every(np.full(3000, price)).sum() for price in prices]))
        assert instance.average_regret(trial, np.full(3000, best)) == pytest.approx(result.regret[trial], rel=1e-9)


def test_customers_answer_prices_as_in_the_simulator(instance, dimension, modules):
    """Prices depend on every purchase before, so a pricer that meets the exported customers repeats the simulator's."""
    job = prepare("paper", dimension=dimension, horizon=3000, epsilon=20.0, seed=5)
    expected = simulated("paper", dimension, epsilon=20.0)
    assert expected.estimates.min() > 0
    for trial in range(2):
        pricer = Pricer(
            policy=job.policy,
            demand=job.market.demand,
            features=job.market.features,
            horizon=3000,
            source=Tape(5, trial),
            simulation=True,
        )
        (played,) = modules["driver"].play(Quoting(pricer), instance, trial, 60.0)
        assert played["rounds"] == 3000
        assert played["regret"] == pytest.approx(expected.regret[trial], rel=1e-6)


def test_a_file_gives_back_the_instance(instance, modules, tmp_path):
    instance.save(tmp_path / "folder" / "d.npz")
    loaded = modules["instance"].Instance.load(tmp_path / "folder" / "d.npz")
    assert loaded.slope == instance.slope
    for name in ("contexts", "uniforms", "a", "b", "best_prices", "best_revenues"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(instance, name))
