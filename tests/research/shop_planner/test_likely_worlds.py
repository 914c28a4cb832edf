"""Worlds that a product makes likely: the conversion is that of all, demand falls for everybody, spread as declared."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import kstest
from tests.priors import prior_for

from hushprice import Product
from hushprice.demand.schema import Boolean, Category, Schema
from hushprice.research.shop_planner.likely_worlds import CONVERSION, LEAST, drawn_elasticity, likely_worlds

GIVEN: dict[str, Any] = {"floor": 20.0, "ceiling": 30.0, "reference_price": 25.0, "conversion": 0.1}
WIDE = Product(**GIVEN, contexts=30, unit_cost=5.0)


def test_conversions_of_all_visitors_are_spread_around_the_declared_one() -> None:
    likely = likely_worlds(WIDE, None, 3)
    today = np.full(len(likely.rows), 25.0)
    found = np.array([likely.world(number).probabilities(0, likely.rows, today).mean() for number in range(60)])
    standard = (np.log(found / (1.0 - found)) - WIDE.level) / CONVERSION
    assert kstest(ndtr(standard), "uniform").statistic < 0.06  # even points are nearer than luck, at 0.1 in the mean
    assert kstest(ndtr(1.5 * standard), "uniform").statistic > 0.06  # another deviation would be seen


def test_everybody_buys_less_at_a_higher_price() -> None:
    likely = likely_worlds(WIDE, None, 0)
    shares = [world.responses(likely.rows).min() / world.response[0] for world in map(likely.world, range(20))]
    assert min(shares) == pytest.approx(LEAST)  # thirty attributes would have turned some visitors around


def test_elasticities_fill_a_declared_range_evenly_in_their_logarithm() -> None:
    product = Product(**GIVEN, contexts=5, elasticity=(0.5, 8.0))
    assert [drawn_elasticity(product, q) for q in (0.0, 0.5, 1.0)] == pytest.approx([0.5, 2.0, 8.0])
    likely = likely_worlds(product, None, 1)
    found = []  # of all visitors together, by the slope of what they buy
    for world in map(likely.world, range(32)):
        low, high = (world.probabilities(0, likely.rows, np.full(4096, 25.0 * s)).sum() for s in (0.9999, 1.0001))
        found.append((low - high) / 0.0001 / (low + high))
    assert kstest(np.log(found), "uniform", args=(math.log(0.5), math.log(16.0))).statistic < 0.08


def test_without_a_range_they_lie_around_the_one_that_makes_todays_price_best() -> None:
    product = Product(**GIVEN, unit_cost=5.0)
    assert drawn_elasticity(product, 0.5) == pytest.approx(25.0 / 20.0)  # Lerner: price / (price - cost)
    assert drawn_elasticity(Product(**GIVEN, elasticity=3.0), 0.5) == pytest.approx(3.0)
    drawn = [drawn_elasticity(product, (at + 0.5) / 20_000) for at in range(20_000)]
    assert np.std(drawn) / np.mean(drawn) == pytest.approx(1.0, abs=0.02)
    assert min(drawn) > 0.0
    several = Product(**GIVEN | {"conversion": 0.3}, most=3.0, unit_cost=5.0)
    assert drawn_elasticity(several, 0.5) == pytest.approx(25.0 / 20.0)


def test_a_world_depends_on_its_seed_and_number_alone() -> None:
    one, two = likely_worlds(WIDE, None, 5), likely_worlds(WIDE, None, 5)
    two.world(0)
    assert (one.world(4).level == two.world(4).level).all()
    assert (one.world(4).response == two.world(4).response).all()
    assert one.world(4).level[0] != one.world(3).level[0]
    assert one.world(4).level[0] != likely_worlds(WIDE, None, 6).world(4).level[0]


def test_visitors_are_those_given_or_those_the_schema_allows() -> None:
    schema = Schema(attributes=(Category(name="region", levels=("a", "b", "c")), Boolean(name="member")))
    rows = likely_worlds(Product(**GIVEN, schema=schema), None, 0).rows
    assert len(np.unique(rows, axis=0)) == 6
    product = Product(**GIVEN, contexts=1)
    given = likely_worlds(product, lambda start, count, rng: np.full((count, 1), 0.25), 0).world(2)
    assert (given.contexts(0, 50, np.random.default_rng(0)) == 0.25).all()


def test_where_a_log_says_more_worlds_are_drawn_from_it() -> None:
    """400 worlds: means and deviations within four standard errors, a false alarm below 1e-3."""
    product = Product(**GIVEN, contexts=1, unit_cost=5.0)
    theta = np.array([0.5, -0.3, 0.8 * product.response, 0.05])
    likely = likely_worlds(replace(product, prior=prior_for(product, theta=theta, deviation=0.1)), None, 4)
    worlds = [likely.world(number) for number in range(400)]
    level = np.array([world.level for world in worlds]) - [product.level, 0.0]
    np.testing.assert_allclose(level.mean(axis=0), theta[:2], atol=4 * 0.1 / 20)
    np.testing.assert_allclose(level.std(axis=0), 0.1, atol=4 * 0.1 / math.sqrt(800))
    response = np.array([world.response[0] for world in worlds])
    assert response.mean() == pytest.approx(1.8 * product.response, abs=4 * 0.1 / 20)
    assert min(world.responses(likely.rows).min() for world in worlds) > 0.0
