"""Runs kept day by day: those of `simulate`, wherever they are played; without attributes with the same visitors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hushprice
from hushprice import Product
from hushprice.demand.schema import Boolean, Schema
from hushprice.errors import InvalidInput
from hushprice.research.shop_planner import runs
from hushprice.research.shop_planner.runs import ShopRun, play, play_all, shop_runs
from hushprice.shops.worlds import Logit
from hushprice.types import FloatArray

PRODUCT = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.3, contexts=1)
WORLD = Logit(conversion=0.3, reference_price=25.0, elasticity=3.0, attributes=(0.5,), interactions=(2.0,))


def asked(**given: Any) -> ShopRun:
    usual: dict[str, Any] = {"policy": "one-price", "product": PRODUCT, "world": WORLD}
    return ShopRun(**{**usual, "visitors_per_day": 100, "days": 20, "seed": 4, **given})


def test_a_run_is_what_simulate_finds_at_the_end_of_every_day() -> None:
    found = play(asked())
    result = hushprice.simulate("one-price", product=PRODUCT, world=WORLD, horizon=2000, trials=1, seed=4)
    ends = [int(np.flatnonzero(result.checkpoints == 100 * day)[0]) for day in range(1, 21)]
    assert found.earnings == pytest.approx(result.earnings[0, ends])
    assert found.staying == pytest.approx(result.staying[0, ends])
    assert found.worst == result.worst()
    assert found.gains == pytest.approx(result.shares[0, ends] - 1.0)


def test_without_attributes_the_same_visitors_come_and_are_priced_alike() -> None:
    run = asked(policy="cautious", visitors_per_day=1500, days=2)  # more than one block of customers
    hidden = play(run.without_attributes)
    assert hidden.staying == pytest.approx(play(asked(visitors_per_day=1500, days=2)).staying)
    blind = run.without_attributes
    result = hushprice.simulate(product=blind.product, world=blind.world, horizon=3000, trials=1, seed=4,
                                keep_prices=True)  # fmt: skip
    assert result.prices is not None
    assert len(np.unique(result.prices[0, :48])) <= 2  # of the shortest first batch: a coin at most


def test_columns_by_name_can_be_left_unseen_too() -> None:
    class Members:
        def contexts(self, start: int, count: int, rng: np.random.Generator) -> dict[str, Any]:
            return {"member": rng.random(count) < 0.5}

        def probabilities(self, start: int, contexts: Any, prices: FloatArray) -> FloatArray:
            return np.where(contexts["member"], 0.6, 0.2)

    product = Product(floor=1.0, ceiling=3.0, reference_price=2.0, conversion=0.4,
                      schema=Schema(attributes=(Boolean(name="member"),)))  # fmt: skip
    run = asked(product=product, world=Members())
    assert play(run.without_attributes).staying == pytest.approx(play(run).staying)


def test_processes_of_their_own_change_nothing_and_a_world_that_cannot_be_sent_is_played_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runs, "_WORTHWHILE", 0.0)
    many = [asked(days=2, seed=seed) for seed in range(3)]
    told: list[tuple[int, int]] = []
    apart = play_all(many, workers=2, progress=lambda *at: told.append(at))
    assert [run.earnings.tolist() for run in apart] == [play(run).earnings.tolist() for run in many]
    assert (told[0], told[-1]) == ((1, 3), (3, 3))

    class Here(Logit):
        pass

    here = Here(conversion=0.3, reference_price=25.0, elasticity=3.0, attributes=(0.5,), interactions=(2.0,))
    found = play_all([asked(days=2, seed=seed, world=here) for seed in range(3)], workers=2)
    assert [run.earnings.tolist() for run in found] == [run.earnings.tolist() for run in apart]


def test_every_run_has_luck_of_its_own_that_does_not_depend_on_the_others() -> None:
    seeds = [run.seed for run in shop_runs(PRODUCT, [WORLD] * 50, visitors_per_day=10, days=2, seed=7)]
    assert len(set(seeds)) == 50
    assert seeds[:3] == [run.seed for run in shop_runs(PRODUCT, [WORLD] * 3, visitors_per_day=10, days=2, seed=7)]


def test_a_world_in_which_staying_earns_nothing_is_refused() -> None:
    class Nobody(Logit):
        def probabilities(self, start: int, contexts: Any, prices: FloatArray) -> FloatArray:
            return np.zeros(len(prices))

    world = Nobody(conversion=0.3, reference_price=25.0, elasticity=3.0, attributes=(0.5,))
    with pytest.raises(InvalidInput, match="staying earned nothing"):
        play_all([asked(world=world)], workers=1)
