"""The map behind the planner: right at its points, between its neighbours elsewhere, silent outside."""

from __future__ import annotations

import dataclasses
import itertools
import math
from importlib import resources

import msgspec
import numpy as np
import pytest

from hushprice.policies.newton.rules import newton
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.delta import parse_delta
from hushprice.research.planner import prior
from hushprice.research.planner.answers import answers
from hushprice.research.planner.measured import (
    FILE,
    MapAnswer,
    MeasuredMap,
    MeasuredPoint,
    MeasuredSetting,
    look_up,
    measured_map,
)
from hushprice.research.planner.outlook import outlook
from hushprice.research.planner.plan import ONE_PRICE, Plan, plan

USUAL = MeasuredSetting(map="main", slope=4.0, adjacency="replace-one", vectors=50, seed=0)


def regret(customers: float, epsilon: float) -> float:
    """A law that is linear in the logarithms, as interpolation assumes."""
    return 30.0 * customers**-0.9 * epsilon**-0.8


def made(one_price: float = 1e-3) -> MeasuredMap:
    points = [
        MeasuredPoint(
            dimension=3, customers=customers, epsilon=epsilon, regret=regret(customers, epsilon),
            error=0.02 * regret(customers, epsilon), one_price=one_price, beats=0.5, trials=100,
        )
        for customers in (10_000, 30_000, 100_000)
        for epsilon in (0.5, 1.0, 5.0)
    ]  # fmt: skip
    return MeasuredMap(
        command="", device="cpu", precision="double", version="0", delta="2/T^2", setting=USUAL, points=points
    )


def asked(customers: int, epsilon: float, source: MeasuredMap, dimension: int = 3, **other: object) -> MapAnswer | None:
    setting = dataclasses.replace(USUAL, **other)
    delta = parse_delta("2/T^2", customers)
    return look_up(customers, dimension, epsilon, delta=delta, setting=setting, source=source)


def found(customers: int, epsilon: float, source: MeasuredMap) -> MapAnswer:
    answer = asked(customers, epsilon, source)
    assert answer is not None
    return answer


def test_points_are_given_back_and_a_power_law_is_met_everywhere_between():
    source = made()
    for point in source.points:
        answer = found(point.customers, point.epsilon, source)
        assert (answer.regret, answer.error) == pytest.approx((point.regret, point.error), rel=1e-12)
        assert point in answer.points
        assert len(answer.points) == 5  # a row and a column of the grid
    for customers, epsilon in ((10_001, 4.9), (50_000, 0.7), (99_999, 1.0), (30_000, 2.0)):
        answer = found(customers, epsilon, source)
        assert answer.regret == pytest.approx(regret(customers, epsilon), rel=1e-12)
        assert answer.error == pytest.approx(0.02 * answer.regret, rel=1e-12)
        assert all(each.epsilon == epsilon or each.customers == customers for each in answer.points)


@pytest.mark.parametrize("axis", ["customers", "epsilon"])
def test_between_two_points_regret_goes_one_way_and_stays_between_them(axis):
    source = measured_map()
    corner = source.points[0]
    start = {"customers": corner.customers, "epsilon": corner.epsilon}
    for low, high in itertools.pairwise(sorted({getattr(each, axis) for each in source.points})):
        values = []
        for at in np.geomspace(low, high, 7).tolist():
            place = {**start, axis: round(at) if axis == "customers" else at}
            values.append(asked(**place, source=source, dimension=corner.dimension).regret)
        assert values == sorted(values, reverse=values[0] > values[-1])


@pytest.mark.parametrize(("customers", "epsilon"), [(9_999, 1.0), (100_001, 1.0), (30_000, 0.49), (30_000, 5.01)])
def test_nothing_is_said_beyond_the_grid(customers, epsilon):
    assert asked(customers, epsilon, made()) is None


@pytest.mark.parametrize(
    "other",
    [{"map": "intercept"}, {"slope": 3.0}, {"adjacency": "zero-out"}, {"vectors": 49}, {"seed": 1}, {"dimension": 4}],
)
def test_nothing_is_said_of_another_setting(other):
    assert asked(30_000, 1.0, made(), **{"dimension": 3, **other}) is None


def test_nothing_is_said_at_another_delta():
    assert look_up(30_000, 3, 1.0, delta=1e-9, setting=USUAL, source=made()) is None


def test_the_crossing_lies_where_the_law_meets_the_mark_and_only_inside_the_grid():
    for epsilon in (0.5, 1.0, 2.0):
        answer = found(10_000, epsilon, made(one_price=regret(42_000, epsilon)))
        assert answer.customers_to_beat_one_price == pytest.approx(42_000, abs=1)
        assert (answer.fewer_than, answer.more_than) == (None, None)
    early = found(100_000, 1.0, made(one_price=regret(9_000, 1.0)))
    assert (early.customers_to_beat_one_price, early.fewer_than, early.more_than) == (None, 10_000, None)
    for mark in (regret(110_000, 1.0), 0.0):
        late = found(10_000, 1.0, made(one_price=mark))
        assert (late.customers_to_beat_one_price, late.fewer_than, late.more_than) == (None, None, 100_000)


# the file


def test_the_file_holds_a_whole_grid_of_the_planners_own_markets():
    shipped = measured_map()
    assert shipped.setting == USUAL
    assert shipped.delta == "2/T^2"
    text = resources.files("hushprice.research.planner").joinpath(FILE).read_bytes()
    assert msgspec.json.format(msgspec.json.encode(shipped), indent=1) + b"\n" == text  # no other fields
    for dimension in {each.dimension for each in shipped.points}:
        own = [each for each in shipped.points if each.dimension == dimension]
        places = [(each.customers, each.epsilon) for each in own]
        horizons, epsilons = ({place[axis] for place in places} for axis in (0, 1))
        assert sorted(places) == sorted((T, epsilon) for T in horizons for epsilon in epsilons)
        assert len(horizons) > 1
        assert len(epsilons) > 1
        assert len({(each.one_price, each.trials) for each in own}) == 1
    for each in shipped.points:
        assert 0.0 < each.error < 0.2 * each.regret
        assert 0.0 <= each.beats <= 1.0
        assert each.one_price >= 0.0
        assert each.trials % shipped.setting.vectors == 0


@pytest.mark.slow
@pytest.mark.parametrize("number", range(6))
def test_predictions_are_within_a_factor_of_what_was_measured(number):
    """Both have standard errors of a twentieth or less, so a factor 1.5 is more than five deviations away."""
    shipped = measured_map()
    at = np.random.default_rng(7).permutation(len(shipped.points))[number % len(shipped.points)]
    point = shipped.points[at]
    markets = prior.markets(point.dimension - 1)
    budget = EpsilonDelta(point.epsilon, parse_delta(shipped.delta, point.customers))
    rules = newton(budget, demand=markets[0].demand, features=markets[0].features)
    predicted, _ = outlook(markets, rules, point.customers, seed=0).average_regret(point.customers)
    assert abs(math.log(predicted / point.regret)) < math.log(1.5), point


# in a plan


@pytest.fixture(scope="module")
def inside() -> Plan:
    point = measured_map().points[0]
    return plan(customers=point.customers, features=point.dimension - 1, epsilon=point.epsilon)


def test_a_plan_has_what_was_measured_beside_what_is_predicted(inside):
    point = measured_map().points[0]
    assert inside.measured is not None
    assert inside.measured.regret == pytest.approx(point.regret)
    assert inside.measured.one_price == pytest.approx(inside.line(ONE_PRICE).regret, rel=1e-9)  # the same markets
    assert inside.to_dict()["measured"]["points"][0]["dimension"] == point.dimension
    (told,) = [line for line in answers(inside) if line.startswith("Measured in simulation")]
    assert f"{point.trials:,} trials a point: regret x 1e4 {1e4 * point.regret:.3g} +- " in told


def test_its_picture_shows_the_points(inside):
    figure = inside.plot()
    for axes in figure.axes:
        assert "measured in simulation" in [text.get_text() for text in axes.get_legend().get_texts()]
    silent = dataclasses.replace(inside, measured=None).plot()
    for axes in silent.axes:
        assert "measured in simulation" not in [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"customers_to_beat_one_price": 28_765}, "after about 29,000 customers."),
        ({"fewer_than": 10_000}, "after fewer than 10,000 customers."),
        ({"more_than": 1_000_000}, "after more than 1,000,000 customers."),
    ],
)
def test_the_words_say_when_one_price_is_beaten(inside, given, words):
    none = {"customers_to_beat_one_price": None, "fewer_than": None, "more_than": None}
    changed = dataclasses.replace(inside, measured=dataclasses.replace(inside.measured, **{**none, **given}))
    assert any(line.endswith(words) for line in answers(changed))


def test_where_one_price_cannot_be_beaten_only_regret_is_told(inside):
    lines = [dataclasses.replace(line, share=1.0) if line.name == ONE_PRICE else line for line in inside.lines]
    told = " ".join(answers(dataclasses.replace(inside, lines=lines)))
    assert "Measured in simulation" in told
    assert "it is below" not in told


def test_a_plan_of_something_else_has_none(monkeypatch):
    point = measured_map().points[0]
    usual = {"customers": point.customers, "features": point.dimension - 1, "epsilon": point.epsilon, "vectors": 2}
    assert plan(**usual).measured is None
    monkeypatch.setattr("hushprice.research.planner.plan.look_up", lambda *_, **__: "what was measured")
    assert plan(**usual).measured == "what was measured"
    assert plan(**usual, reference_price=0.5).measured is None
