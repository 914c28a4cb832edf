"""One record changed: nothing before it moves, and a record changed to what it was changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hushprice.demand import family
from hushprice.errors import InvalidInput
from hushprice.numerics import tape
from hushprice.simulation import contexts
from hushprice.simulation.changed_record import GivenCustomer
from hushprice.simulation.market import paper_market
from hushprice.simulation.run import prepare, simulate
from hushprice.types import FloatArray

SEED, HORIZON, PERIOD = 4, 300, 20  # after the ten periods of exploration
POLICIES: list[dict[str, Any]] = [
    {"policy": "nonprivate"},
    {"policy": "paper", "calibration": "published", "epsilon": 200.0},
    {"policy": "paper", "calibration": "printed", "epsilon": 5.0},
    {"policy": "input-perturbation"},
    {"policy": "clairvoyant"},
]


def prices(**settings: Any) -> FloatArray:
    common: dict[str, Any] = {"horizon": HORIZON, "dimension": 3, "seed": SEED, "trials": 3, "workers": 1}
    kept = simulate(keep_prices=True, **common | settings).prices
    assert kept is not None
    return kept


def record(trial: int, price: float) -> tuple[list[float], float]:
    """What the customer of PERIOD was like and bought, from the tape itself."""
    market = paper_market(3)
    column = np.empty((2, 1))
    contexts.fill(market.stream(HORIZON), SEED, trial, PERIOD, 1, column)
    u, v = market.features.parts(column[:, 0])
    first, second = tape.uniforms(SEED, trial, PERIOD, tape.DEMAND, 0)
    return column[:, 0].tolist(), family.draw(
        family.LOGISTIC, 4.0, 1.0, float(market.theta @ (u + price * v)), first, second
    )


@pytest.mark.parametrize("settings", POLICIES, ids=lambda each: f"{each['policy']}-{each.get('calibration', '')}")
def test_a_record_changed_to_what_it_was_changes_nothing(settings: dict[str, Any]) -> None:
    before = prices(**settings)
    for trial in range(3):
        context, demand = record(trial, float(before[trial, PERIOD - 1]))
        after = prices(**settings, change=GivenCustomer(period=PERIOD, context=context, demand=demand))
        np.testing.assert_array_equal(after[trial], before[trial])


@pytest.mark.parametrize("settings", POLICIES, ids=lambda each: f"{each['policy']}-{each.get('calibration', '')}")
def test_no_price_before_the_changed_record_moves(settings: dict[str, Any]) -> None:
    before = prices(**settings)
    other = prices(**settings, change=GivenCustomer(period=PERIOD, context=[-0.9, 0.9]))
    np.testing.assert_array_equal(other[:, : PERIOD - 1], before[:, : PERIOD - 1])
    if settings["policy"] == "clairvoyant":  # the others ask everybody the price of ignorance, 1, this early
        assert np.all(other[:, PERIOD - 1] != before[:, PERIOD - 1])
    else:
        assert np.any(other[:, PERIOD:] != before[:, PERIOD:])
    bought, passed = (prices(**settings, change=GivenCustomer(period=PERIOD, demand=y)) for y in (1.0, 0.0))
    np.testing.assert_array_equal(bought[:, :PERIOD], before[:, :PERIOD])
    np.testing.assert_array_equal(passed[:, :PERIOD], before[:, :PERIOD])
    assert np.any(bought != passed) == (settings["policy"] != "clairvoyant")


@pytest.mark.parametrize(
    "change", [None, GivenCustomer(period=1, demand=1.0), GivenCustomer(period=PERIOD, context=[1.0, 0.0])]
)
@pytest.mark.parametrize("customers", [None, 5])
def test_both_backends_change_the_same_record(change: GivenCustomer | None, customers: int | None) -> None:
    settings: dict[str, Any] = {"policy": "paper", "epsilon": 200.0, "change": change, "customers": customers}
    np.testing.assert_array_equal(
        prices(**settings, engine="compiled", trials=2), prices(**settings, engine="python", trials=2)
    )


def test_with_the_same_customers_noise_alone_differs() -> None:
    quiet = prices(policy="nonprivate", customers=7)
    noisy = prices(policy="paper", customers=7)
    np.testing.assert_array_equal(quiet, np.broadcast_to(quiet[0], quiet.shape))
    np.testing.assert_array_equal(noisy[:, :10], quiet[:, :10])  # exploration prices belong to the customers
    assert len({row.tobytes() for row in noisy}) == 3
    np.testing.assert_array_equal(prices(policy="nonprivate", trials=8)[7], quiet[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (GivenCustomer(period=0, demand=1.0), "period must be a whole number at or above 1, got 0"),
        (GivenCustomer(period=301, demand=1.0), r"period must lie in \[1, 300\], got 301"),
        (GivenCustomer(period=1, context=[0.5]), r"context must have 2 entries, got shape \(1,\)"),
        (GivenCustomer(period=1, context=[0.5, 2.0]), r"context\[1\] must lie in \[-1, 1\], got 2.0"),
        (GivenCustomer(period=1, demand=1.5), r"demand must lie in \[-1, 1\], got 1.5"),
        (GivenCustomer(period=1, demand=float("nan")), r"demand must lie in \[-1, 1\], got nan"),
    ],
)
def test_a_record_no_run_could_have_is_refused(change: GivenCustomer, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{message}$"):
        prepare("nonprivate", horizon=HORIZON, dimension=3, change=change)
    with pytest.raises(InvalidInput, match=r"^customers must be a whole number at or above 0, got -1$"):
        prepare("nonprivate", horizon=HORIZON, customers=-1)
