"""Every rival prices customers one by one as it does in stretches, inside its frame, and says what it was set to."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from tests.policies.rivals.rival_runs import asked, customers, frame, shop_frame

from hushprice.policies import POLICIES
from hushprice.policies.rival_parts import logistic_fit
from hushprice.policies.rival_parts.logistic_fit import Rows, fit

NAMES = [name for name, module in POLICIES.items() if ".rivals." in module]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("at", [frame(horizon=60), shop_frame(horizon=60)], ids=["market", "shop"])
def test_prices_stay_inside_whoever_comes_alone(name: str, at: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Customers one by one, where stretches are longer than one: nothing is due before it is."""
    module = importlib.import_module(POLICIES[name])
    monkeypatch.setattr(module, "_GROWTH", 10, raising=False)
    policy = module.rival(asked(name), at)
    assert isinstance(policy.settings, dict)
    rival, rng = policy.begin(at, np.random.default_rng(3)), np.random.default_rng(4)
    for n in range(50):
        came = customers(at, 1, rng)  # type: ignore[arg-type]
        due, prices = rival.due, rival.prices(came)
        assert at.lowest <= prices[0] <= at.highest  # type: ignore[attr-defined]
        rival.learn(came, prices, np.array([float(n % 3 == 0)]))
        assert due == 1 or rival.due == due - 1 or due > 2**60


def test_a_step_that_would_only_lose_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Rows(1)
    rows.add(np.ones((5, 1)), np.zeros(5), np.ones(5))
    monkeypatch.setattr(logistic_fit, "_HALVINGS", 0)
    assert fit(rows, 1.0, np.array([0.5]), ridge=1.0, steps=2).tolist() == [0.5]
