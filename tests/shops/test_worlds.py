"""Every world in the package: probabilities that fall in price, at the declared level, and change when they should."""

from __future__ import annotations

import numpy as np
import pytest

from hushprice.shops.world import World
from hushprice.shops.worlds import (
    Competitors,
    Drift,
    Jump,
    LatentClasses,
    Logit,
    LogNormal,
    Probit,
    Season,
    mixed,
)

BASE = {"reference_price": 25.0, "conversion": 0.02, "attributes": (0.3,) * 9, "crowd": mixed}
LOGIT = Logit(elasticity=1.0, interactions=(0.2,) * 9, **BASE)
STEEP = Logit(elasticity=3.0, **BASE)
WORLDS: dict[str, World] = {
    "logit": LOGIT,
    "probit": Probit(steepness=0.8, **BASE),
    "log-normal": LogNormal(deviation=0.7, **BASE),
    "classes": LatentClasses(kinds=(LOGIT, STEEP), shift=np.ones((9, 2)) * [0.5, -0.5], crowd=mixed),
    "jump": Jump(before=LOGIT, after=STEEP, at=500),
    "drift": Drift(before=LOGIT, after=STEEP, over=1000),
    "season": Season(world=LOGIT, period=400, size=0.5),
    "competitors": Competitors(world=LOGIT, every=100, deviation=0.1, weight=2.0),
}


@pytest.mark.parametrize("name", WORLDS)
def test_chances_are_probabilities_that_fall_as_the_price_rises(name: str) -> None:
    world = WORLDS[name]
    customers = world.contexts(0, 1000, np.random.default_rng(1))
    assert customers.shape == (1000, 9)
    assert np.abs(customers).max() <= 1.0
    chances = np.array([world.probabilities(0, customers, np.full(1000, p)) for p in (15.0, 25.0, 26.0, 40.0)])
    assert (chances > 0.0).all()
    assert (chances < 1.0).all()
    assert (np.diff(chances, axis=0) < 0.0).all()


@pytest.mark.parametrize("name", ["logit", "probit", "log-normal"])
def test_the_customer_at_zero_buys_at_the_reference_price_as_often_as_declared(name: str) -> None:
    assert WORLDS[name].probabilities(0, np.zeros((1, 9)), np.array([25.0])) == pytest.approx(0.02)


def test_the_declared_elasticity_is_that_at_the_reference_price() -> None:
    low, high = (STEEP.probabilities(0, np.zeros((1, 9)), np.array([25.0 * s]))[0] for s in (0.9999, 1.0001))
    assert (low - high) / 0.0002 / 0.02 == pytest.approx(3.0, rel=1e-3)


@pytest.mark.parametrize(("name", "early", "late"), [("jump", 499, 500), ("drift", 0, 1000), ("season", 0, 100)])
def test_a_world_that_changes_has_other_chances_later(name: str, early: int, late: int) -> None:
    customer, price = np.zeros((1, 9)), np.array([29.0])
    before, after = (WORLDS[name].probabilities(start, customer, price)[0] for start in (early, late))
    assert before == pytest.approx(LOGIT.probabilities(0, customer, price)[0])
    assert abs(after / before - 1.0) > 0.2


def test_the_ends_of_a_drift_and_a_jump_are_the_two_worlds() -> None:
    customer, price = np.zeros((1, 9)), np.array([29.0])
    for name, start in (("jump", 500), ("drift", 1000), ("drift", 5000)):
        chance = WORLDS[name].probabilities(start, customer, price)
        assert chance == pytest.approx(STEEP.probabilities(0, customer, price))


def test_a_rivals_price_stays_for_a_while_and_then_moves() -> None:
    chances = WORLDS["competitors"].probabilities(50, np.zeros((100, 9)), np.full(100, 25.0))
    assert len(np.unique(chances[:50])) == len(np.unique(chances[50:])) == 1
    assert chances[0] != chances[-1]
