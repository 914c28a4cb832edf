"""A shop's plan: what the runs say, no more; the advice follows from them; bad input is named."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import polars
import pytest

import hushprice
from hushprice import Product, ShopPlan
from hushprice.errors import InvalidInput
from hushprice.research.shop_planner import plan as planner
from hushprice.research.shop_planner.answers import answers
from hushprice.research.shop_planner.likely_worlds import likely_worlds
from hushprice.research.shop_planner.plan import OFF, ONE_PRICE, PERSONAL, TRIED, _trust_prices
from hushprice.research.shop_planner.runs import DailyEarnings, ShopRun, play, shop_runs
from hushprice.shops.worlds import Logit

PRODUCT = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.3, contexts=1)
WORLD = Logit(conversion=0.3, reference_price=25.0, elasticity=4.0, attributes=(0.3,))


@functools.cache
def small() -> ShopPlan:
    return hushprice.plan_shop(
        product=PRODUCT,
        visitors_per_day=150,
        days=4,
        epsilons=(1.0, 2.0),
        trusts=("local",),
        trials=2,
        seed=6,
        workers=1,
    )


def test_every_number_is_that_of_the_policys_own_runs() -> None:
    plan, likely = small(), likely_worlds(PRODUCT, None, 6)
    worlds = [likely.world(0), likely.world(1)]
    shops = [play(run) for run in shop_runs(PRODUCT, worlds, visitors_per_day=150, days=4, seed=6)]
    gains = np.array([shop.earnings / shop.staying - 1.0 for shop in shops])
    assert [each.mean for each in plan.curve] == pytest.approx(gains.mean(axis=0))
    assert [each.median for each in plan.curve] == pytest.approx(np.median(gains, axis=0))
    assert [each.low for each in plan.curve] == pytest.approx(gains.min(axis=0) + 0.1 * np.ptp(gains, axis=0))
    assert [each.high for each in plan.curve] == pytest.approx(gains.max(axis=0) - 0.1 * np.ptp(gains, axis=0))
    assert [(each.day, each.visitors) for each in plan.schedule] == [(1, 150), (3, 450), (4, 600)]
    assert plan.worst.least == min(shop.worst for shop in shops)
    assert plan.delta == 2.0 / 600**2


def test_distrust_has_a_price_and_so_many_more_customers() -> None:
    plan = small()
    central, local = plan.trusts
    ends = {name: np.array([run.gains[-1] for run in plan.runs[name]]) for name in (PERSONAL, "trust local")}
    assert (central.trust, central.cost, central.cost_error) == ("central", 0.0, 0.0)
    assert local.gain == ends["trust local"].mean()
    assert local.cost == pytest.approx((ends[PERSONAL] - ends["trust local"]).mean())
    days = np.mean([run.gains for run in plan.runs[PERSONAL]], axis=0)
    as_much = [day + 1 for day in range(4) if days[day] >= local.gain]
    assert local.times == ((4.0 / as_much[0] if as_much else 1.0) if local.gain > 0.0 else None)
    curves = {
        PERSONAL: [_run([0.0, 0.1, 0.2, 0.4])],
        OFF: [_run([0.5] * 4)],
        "trust shuffle": [_run([0.0] * 3 + [0.1])],
    }
    assert [each.times for each in _trust_prices(PRODUCT, curves)] == [1.0, 2.0]
    curves["trust shuffle"] = [_run([0.5] * 4)]
    assert [each.times for each in _trust_prices(PRODUCT, curves)] == [1.0, 1.0]
    curves["trust shuffle"] = [_run([0.0] * 4)]
    assert [each.times for each in _trust_prices(PRODUCT, curves)] == [1.0, None]


def _run(gains: list[float]) -> DailyEarnings:
    return DailyEarnings(1.0 + np.array(gains), np.ones(4), 1.0)


def test_what_it_is_compared_with_has_the_same_visitors_and_luck() -> None:
    plan = small()
    assert list(plan.runs) == [PERSONAL, ONE_PRICE, TRIED, "epsilon 2.0", "trust local", OFF]
    for runs in plan.runs.values():
        assert [run.staying[-1] for run in runs] == [run.staying[-1] for run in plan.runs[PERSONAL]]
    ends = {name: np.array([run.gains[-1] for run in runs]) for name, runs in plan.runs.items()}
    assert [each.epsilon for each in plan.epsilons] == [1.0, 2.0, None]
    assert [each.gain for each in plan.epsilons] == [ends[name].mean() for name in (PERSONAL, "epsilon 2.0", OFF)]
    assert [each.cost for each in plan.epsilons] == pytest.approx(
        [plan.epsilons[-1].gain - each.gain for each in plan.epsilons]
    )
    one = plan.ways[1]
    assert one.ahead == pytest.approx((ends[ONE_PRICE] - ends[PERSONAL]).mean())
    assert one.ahead_error == pytest.approx(np.ptp(ends[ONE_PRICE] - ends[PERSONAL]) / 2.0)  # of two shops
    frame = plan.frame()
    assert frame.height == 6 * 2 * 4
    last = frame.filter((polars.col("pricing") == TRIED) & (polars.col("day") == 4))
    assert (last["earnings"] / last["staying"] - 1.0).to_numpy() == pytest.approx(ends[TRIED])


def test_a_given_world_is_the_one_that_is_planned_in() -> None:
    product = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.3, contexts=1, risk=0.0)
    plan = hushprice.plan_shop(product=product, visitors_per_day=200, days=2, epsilons=(), world=WORLD, trials=1)
    (run,) = shop_runs(product, [WORLD], visitors_per_day=200, days=2, seed=0)
    stayed = hushprice.simulate("staying", product=product, world=WORLD, horizon=400, trials=1, seed=run.seed)
    assert plan.runs[PERSONAL][0].staying[-1] == pytest.approx(stayed.earnings[0, -1])
    # Nothing may be risked, so nothing is tried, and nothing is gained.
    assert [each.mean for each in plan.curve] == pytest.approx([0.0, 0.0], abs=1e-12)
    assert plan.worst.beyond == 0
    assert plan.given_world
    assert "they differ by luck alone" in " ".join(answers(plan))


def test_more_shops_leave_the_first_ones_as_they_are(played: list[ShopRun]) -> None:
    few, many = (hushprice.plan_shop(product=PRODUCT, visitors_per_day=300, days=2, trials=n) for n in (9, 30))
    assert (few.compared, many.compared) == (8, 10)
    assert few.runs[PERSONAL][4].earnings.tolist() == many.runs[PERSONAL][4].earnings.tolist()


def test_days_are_those_of_a_quarter_or_of_a_quarter_million_visitors(played: list[ShopRun]) -> None:
    found = [hushprice.plan_shop(product=PRODUCT, visitors_per_day=n, trials=1).days for n in (1, 2000, 10_000, 10**6)]
    assert found == [90, 90, 25, 1]


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[ShopRun]:
    """Plans made of runs that are noted, and earn what their seed says, instead of being simulated."""
    noted: list[ShopRun] = []

    def note(runs: list[ShopRun], **_: Any) -> list[DailyEarnings]:
        noted.extend(runs)
        return [
            DailyEarnings(np.arange(1.0, run.days + 1) * run.seed, np.arange(1.0, run.days + 1), 1.0) for run in runs
        ]

    monkeypatch.setattr(planner, "play_all", note)
    return noted


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Callable[..., ShopPlan]:
    """A plan whose shops earn as told, by pricing: a row of gains by day for every shop."""

    def made(gains: dict[str, list[list[float]]], contexts: int = 1, **worst: float) -> ShopPlan:
        count, days = len(gains[TRIED]), len(gains[TRIED][0])

        def earned(runs: list[ShopRun], **_: Any) -> list[DailyEarnings]:
            rows = iter([*gains.values(), gains[next(iter(gains))]])  # noise off as the first
            return [
                DailyEarnings(1.0 + np.array(row), np.ones(days), worst.get("worst", 1.0))
                for some in rows
                for row in some
            ]

        monkeypatch.setattr(planner, "play_all", earned)
        product = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.3, contexts=contexts)
        return hushprice.plan_shop(product=product, visitors_per_day=500, days=days, epsilons=(), trials=count)

    return made


GOOD, BAD = [[-0.01, 0.01, -0.002, 0.02, 0.05]] * 3, [[-0.01, -0.01, -0.01, -0.01, -0.01]] * 3


def test_prices_pay_from_the_day_after_the_last_on_which_the_median_is_behind(told: Callable[..., ShopPlan]) -> None:
    plan = told({PERSONAL: GOOD, ONE_PRICE: BAD, TRIED: BAD})
    assert (plan.pays_from, plan.advice) == (4, "personal")
    assert "Personal prices begin to pay on day 4" in answers(plan)[1]
    level = told(
        {PERSONAL: [[0.01, 0.0], [0.5, 0.5], [-0.5, -0.5]], ONE_PRICE: [[0.0] * 2] * 3, TRIED: [[0.0] * 2] * 3}
    )
    assert level.pays_from is None


def test_one_price_is_better_only_where_it_is_ahead_beyond_doubt(told: Callable[..., ShopPlan]) -> None:
    clear = told({PERSONAL: GOOD, ONE_PRICE: [[0.0] * 4 + [0.08], [0.0] * 4 + [0.09], [0.0] * 4 + [0.1]], TRIED: BAD})
    assert (clear.advice, clear.best_way.name) == ("one price", ONE_PRICE)
    assert "One price is better (one price, cautious): it earns +4.00 % more" in answers(clear)[1]
    lucky = told({PERSONAL: GOOD, ONE_PRICE: [[0.0] * 4 + [0.2], [0.0] * 4 + [0.05], [0.0] * 4 + [0.0]], TRIED: BAD})
    assert lucky.advice == "personal"
    assert "one price, cautious earns +3.33 % beside them, too close to call" in answers(lucky)[1]


def test_staying_is_best_where_nothing_pays(told: Callable[..., ShopPlan]) -> None:
    plan = told({PERSONAL: BAD, ONE_PRICE: BAD, TRIED: BAD})
    assert (plan.advice, plan.pays_from) == ("stay", None)
    assert "Staying at today's price is best" in answers(plan)[1]


def test_a_product_without_attributes_has_one_price_and_says_so(told: Callable[..., ShopPlan]) -> None:
    plan = told({ONE_PRICE: GOOD, TRIED: BAD}, contexts=0)
    assert [way.name for way in plan.ways] == [ONE_PRICE, TRIED]
    assert plan.advice == "one price"
    assert "The policy's price begins to pay on day 4" in answers(plan)[1]


def test_the_worst_moment_is_set_against_risk(told: Callable[..., ShopPlan]) -> None:
    kept = answers(told({PERSONAL: GOOD, ONE_PRICE: BAD, TRIED: BAD}, worst=0.985))[4]
    # None of three: with a share s of shops beyond, that has the probability (1 - s)^3; 5 % at s = 0.63.
    assert "was 1.50 % behind staying; none went beyond the risk of 2 %, so at most 63 % of such shops do" in kept
    broken = told({PERSONAL: GOOD, ONE_PRICE: BAD, TRIED: BAD}, worst=0.97)
    assert broken.worst.beyond == 3
    assert "3 of 3 went beyond the risk of 2 %" in answers(broken)[4]
    assert broken.worst.one_in_hundred is None
    hundred = planner._worst([0.9, *[1.0] * 100], 0.02)
    assert (hundred.one_in_hundred, hundred.least, hundred.beyond) == (pytest.approx(1.0), 0.9, 1)


def test_a_plan_too_short_for_risk_says_so(told: Callable[..., ShopPlan]) -> None:
    short, just = [[0.0]] * 3, [[0.0, 0.0]] * 3  # 500 visitors, and 1,000
    assert answers(told({PERSONAL: short, ONE_PRICE: short, TRIED: short}))[4].startswith("Risk is counted from 1,000")
    assert "worst moment" in answers(told({PERSONAL: just, ONE_PRICE: just, TRIED: just}))[4]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"visitors_per_day": 0}, "visitors_per_day must be a whole number at or above 1, got 0"),
        ({"days": 0}, "days must be a whole number at or above 1, got 0"),
        ({"days": 10**7}, "days x visitors_per_day must be 2 to 10,000,000 visitors, got 10000000 x 100"),
        ({"days": 1, "visitors_per_day": 1}, "days x visitors_per_day must be 2 to"),
        ({"trials": 0}, "trials must be a whole number at or above 1, got 0"),
        ({"seed": -1}, "seed"),
        ({"workers": 0}, "workers"),
        ({"epsilons": (1.0, float("nan"))}, "epsilon must be a positive number, got nan"),
        ({"show_difference": 0.0}, "show_difference"),
        ({"holdout": 1.0}, "holdout"),
        ({"world": WORLD, "customers": WORLD.contexts}, "customers come with the world"),
    ],
)
def test_bad_arguments_are_named_and_nothing_is_run(played: list[ShopRun], given: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        hushprice.plan_shop(**{"product": PRODUCT, "visitors_per_day": 100, **given})
    assert played == []
