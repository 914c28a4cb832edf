"""prop:anticipating-linear-regret: hiding x_t from p_t costs a fixed share, hiding it from later prices does not."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from hushprice.demand import family, welfare
from hushprice.privacy.budget import EpsilonDelta
from hushprice.research.theory import classical_privacy
from hushprice.research.theory.classical_privacy import PROMISE, linear_regret, loss_floor


def test_no_private_pair_of_price_lotteries_loses_less_than_the_floor() -> None:
    """At epsilon = ln 2: random pairs, as far apart as privacy allows, and every pair of answers to what was heard."""
    gaps = classical_privacy._gaps()[:, ::500]
    floor = loss_floor(EpsilonDelta(math.log(2), 0.0))
    generator = np.random.default_rng(0)
    for _ in range(2000):
        one = generator.dirichlet(np.full(gaps.shape[1], 0.05))
        liked = generator.random(gaps.shape[1]) < 0.5  # prices that the second kind gets more often
        share = one[liked].sum()
        more = min(2 * share, 1 - (1 - share) / 2)
        other = np.where(liked, one * more / share, one * (1 - more) / (1 - share))
        assert np.all(other <= 2 * one + 1e-12)
        assert np.all(one <= 2 * other + 1e-12)
        assert 0.7 * one @ gaps[0] + 0.3 * other @ gaps[1] >= floor
    pairs = itertools.product(range(gaps.shape[1]), repeat=2)  # a price for each answer of a randomized response
    best = min(0.7 * (2 * gaps[0, i] + gaps[0, j]) / 3 + 0.3 * (gaps[1, i] + 2 * gaps[1, j]) / 3 for i, j in pairs)
    assert floor <= best <= floor + 1e-4


def test_the_gaps_are_those_of_the_simulator() -> None:
    market = classical_privacy.two_kinds()
    for row, kind in enumerate(classical_privacy.KINDS):
        u, v = market.features.parts(np.array([kind]))
        a, b = float(u @ market.theta), float(v @ market.theta)
        best = welfare.clairvoyant_price(family.LOGISTIC, 4.0, a, b)
        worth = welfare.revenue(family.LOGISTIC, 4.0, a, b, best)
        lost = worth - welfare.revenue(family.LOGISTIC, 4.0, a, b, 0.5)
        assert classical_privacy._gaps()[row, 10_000] == pytest.approx(lost, abs=1e-8)


def test_the_page_states_the_floor() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "guide" / "attacks.md"
    assert f"allows: {1e4 * loss_floor(PROMISE):.2f}e-4 at every horizon" in " ".join(page.read_text().split())


def test_the_floor_falls_with_epsilon_and_with_delta() -> None:
    floors = [loss_floor(EpsilonDelta(epsilon, 0.0)) for epsilon in (0.0, 0.3, 0.69, 2.0, 5.0)]
    assert sorted(floors, reverse=True) == floors
    assert loss_floor(EpsilonDelta(0.69, 0.25)) == pytest.approx(0.75 * floors[2])
    assert loss_floor(EpsilonDelta(0.69, 1.0)) == 0.0


def test_classical_privacy_pays_for_ever_and_anticipating_privacy_does_not() -> None:
    """Six trials at T = 1e3, 1e5 and 3e5. Five standard errors: false alarms below one in ten thousand."""
    losses = {(each.policy, each.horizon): each for each in linear_regret((10**3, 10**5, 300_000), trials=6, workers=1)}
    floor = loss_floor(PROMISE)
    for policy in ("best that hears badly", "fixed (best in hindsight)"):
        for horizon in (10**3, 10**5, 300_000):
            found = losses[policy, horizon].regret
            assert found.mean > floor - 5 * found.standard_error
    best = losses["best that hears badly", 300_000].regret
    assert best.mean == pytest.approx(floor, abs=5 * best.standard_error)  # the floor is reached: it is sharp
    private = losses["paper (tight)", 300_000].regret
    assert private.mean + 5 * private.standard_error < floor / 2
    assert losses["nonprivate", 10**5].regret.mean < floor / 10
