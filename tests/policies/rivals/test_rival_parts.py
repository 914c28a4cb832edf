"""What rivals share: the best price for a belief, the optimist's grid, fits, and what may be claimed."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from tests.policies.rivals.rival_runs import asked, customers, frame, play, shop_frame

from hushprice.demand.families import Gaussian, Logistic
from hushprice.demand.features import main_effects
from hushprice.errors import InvalidInput
from hushprice.policies.catalog import build
from hushprice.policies.rival_parts import optimism
from hushprice.policies.rival_parts.frame import Frame
from hushprice.policies.rival_parts.logistic_fit import Rows, fit
from hushprice.policies.rival_parts.optimism import best_on_grid, glm_parts
from hushprice.policies.rival_parts.rival_policy import EVERYTHING, NOTHING, OUTCOMES, RivalPolicy, guarded, proven_by
from hushprice.policies.rival_parts.stretches import Stretched
from hushprice.policies.rivals.thompson.policy import Thompson
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import LaplaceSums
from hushprice.settings import PolicySettings
from hushprice.types import FloatArray

RNG = functools.partial(np.random.default_rng, 7)


def worths(at: Frame, kind: int, mean: FloatArray, bonus: FloatArray, price: float) -> FloatArray:
    """What optimism.py says a price is worth, line by line."""
    f = functools.partial(lambda z: expit(at.offset(price) + at.slope * z))
    return {
        optimism.DEMAND: (at.margin + price) * np.clip(mean + bonus, 0.0, 1.0),
        optimism.REVENUE: mean + bonus,
        optimism.LOGISTIC: (at.margin + price) * f(mean + bonus),
        optimism.LOGISTIC_MEAN: (at.margin + price) * np.minimum(f(mean) + bonus, 1.0),
    }[kind]


@pytest.mark.parametrize("at", [frame(), shop_frame()], ids=["market", "shop"])
@pytest.mark.parametrize("kind", range(4))
@pytest.mark.parametrize("powers", [2, 3])
def test_the_optimists_price_is_the_best_of_the_grid(at: Frame, kind: int, powers: int) -> None:
    """Oracle: every price in NumPy, features and norms computed at each."""
    rng = RNG()
    came, theta = customers(at, 20, rng), rng.normal(size=at.dimension)
    parts = np.concatenate([glm_parts(came), rng.normal(size=(1, at.dimension, 20))])[:powers]
    root = rng.normal(size=(at.dimension, at.dimension))
    inverse = root @ root.T
    table = []
    for price in at.grid:
        phi = sum(part * price**power for power, part in enumerate(parts)).T
        norm = np.sqrt(np.einsum("ij,jk,ik->i", phi, inverse, phi))
        table.append(worths(at, kind, phi @ theta, 0.3 * norm, price))
    chosen = best_on_grid(at, parts, theta, inverse, width=0.3, kind=kind)
    at_chosen = np.array(table)[np.searchsorted(at.grid, chosen), np.arange(20)]
    np.testing.assert_allclose(at_chosen, np.max(table, axis=0), rtol=1e-12)


@pytest.mark.parametrize("at", [frame(), shop_frame()], ids=["market", "shop"])
def test_the_best_price_for_a_theta_is_that_of_a_fine_grid(at: Frame) -> None:
    rng = RNG()
    came, theta = customers(at, 30, rng), rng.normal(size=(30, at.dimension))
    fine = np.linspace(at.lowest, at.highest, 4001)

    def earned(prices: FloatArray) -> FloatArray:
        odds = at.offset(prices) + at.slope * np.einsum("ij,ij->i", came.features(prices), theta)
        return (at.margin + prices) * expit(odds)

    found = earned(at.best_prices(came, theta))
    dense = np.max([earned(np.full(30, price)) for price in fine], axis=0)
    assert np.all(found >= dense - 1e-12)


def test_a_fit_is_the_maximum_that_a_general_minimizer_finds() -> None:
    rng = RNG()
    rows, phi = Rows(3), rng.normal(size=(150, 3))
    offset, bought = rng.normal(size=150), (rng.random(150) < 0.4).astype(float)
    rows.add(phi[:40], offset[:40], bought[:40])
    rows.add(phi[40:], offset[40:], bought[40:])

    def loss(theta: FloatArray) -> float:
        z = offset + 2.0 * phi @ theta
        return float(np.sum(np.logaddexp(0.0, z) - bought * z) + 0.25 * theta @ theta)

    np.testing.assert_allclose(fit(rows, 2.0, np.zeros(3), ridge=0.5), minimize(loss, np.zeros(3)).x, atol=1e-4)


def test_a_fit_of_what_everybody_bought_stays_finite() -> None:
    rows = Rows(1)
    rows.add(np.ones((50, 1)), np.zeros(50), np.ones(50))
    assert 3.0 < fit(rows, 1.0, np.zeros(1), ridge=1e-3)[0] < 20.0


def test_a_rival_that_protects_outcomes_alone_may_claim_nothing() -> None:
    event, claimed = LaplaceSums(levels=1, scale=2.0), EpsilonDelta(1.0, 0.0)
    good = guarded(asked("one-price"), frame(), Thompson, event, claimed=claimed)
    assert (good.protects, good.claimed, good.proven.epsilon) == (EVERYTHING, claimed, pytest.approx(0.5))  # type: ignore[union-attr]
    assert guarded(asked("one-price"), frame(), Thompson, None, claimed=claimed).protects == NOTHING
    with pytest.raises(InvalidInput, match="may claim nothing: it protects outcomes"):
        dataclasses.replace(good, protects=OUTCOMES)
    with pytest.raises(InvalidInput, match="may claim nothing"):
        dataclasses.replace(good, events=())
    with pytest.raises(InvalidInput, match="claimed must cover the allowance"):
        dataclasses.replace(good, claimed=EpsilonDelta(0.4, 0.0), proven=EpsilonDelta(0.4, 0.0))
    with pytest.raises(InvalidInput, match="proven must be what the accountant gets"):
        dataclasses.replace(good, proven=EpsilonDelta(0.1, 0.0))
    assert proven_by((event,), claimed, Adjacency.ZERO_OUT) == good.proven


def test_rivals_are_for_logistic_demand() -> None:
    settings = PolicySettings(policy="thompson", horizon=100)
    with pytest.raises(InvalidInput, match=r"^policy 'thompson' is for logistic demand, got 'gaussian'$"):
        build(settings, Gaussian(), main_effects(1))
    assert isinstance(build(settings, Logistic(), main_effects(1)), RivalPolicy)


def test_a_stretch_is_a_twentieth_of_the_customers_so_far() -> None:
    class Counting(Stretched):
        refits = ()

        def prices(self, came: object) -> FloatArray:
            return np.full(came.size, 0.5)  # type: ignore[attr-defined]

        def take(self, *record: object) -> None:
            pass

        def refit(self) -> None:
            self.refits = (*self.refits, self.count)

    rival = Counting()
    play(rival, frame(), np.zeros(3), 2000, RNG())
    gaps = np.diff([0, *rival.refits])
    assert gaps.tolist() == [max(1, before // 20) for before in [0, *rival.refits[:-1]]]
    with pytest.raises(NotImplementedError):
        Stretched().refit()
    with pytest.raises(NotImplementedError):
        Stretched().take(None, None, None)  # type: ignore[arg-type]
