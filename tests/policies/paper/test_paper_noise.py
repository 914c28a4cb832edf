"""What a budget decides: no claim without noise, and events that describe the noise that is drawn."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.policies.paper import tolerance
from hushprice.policies.paper.noise import STRATEGIES, Noise, events, open_ledger, strategy_of, without_noise
from hushprice.privacy import streams
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import FROBENIUS, TRIANGLE, CovarianceStream, NotPrivate, PerturbedEstimate, grid_of
from hushprice.privacy.ledger import Entry
from hushprice.privacy.sensitivity import LossBounds

LOSSES = LossBounds(gradient=4.0, difference=7.1, curvature=4.0)
NOISE = Noise(
    covariance_noise=440.0,
    estimate_noise=1287.0,
    estimate_ridge=820.0,
    output_noise=1e-3,
    floored=False,
    claimed=EpsilonDelta(2.0, 2e-10),
    max_estimates=34,
)
CASE: dict[str, Any] = {"horizon": 10**5, "dimension": 2, "losses": LOSSES}


@pytest.mark.parametrize("field", ["covariance_noise", "estimate_noise", "estimate_ridge", "output_noise"])
@pytest.mark.parametrize("value", [math.nan, math.inf, 0.0, -1.0, None])
def test_no_claim_without_noise(field: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=f"^{field} must"):
        dataclasses.replace(NOISE, **{field: value})


@pytest.mark.parametrize("field", ["covariance_noise", "estimate_noise", "output_noise"])
def test_where_nothing_is_claimed_noise_may_be_zero_and_not_negative(field: str) -> None:
    bare = without_noise(10.0)
    assert getattr(bare, field) == 0.0
    for value in (-1.0, math.nan):
        with pytest.raises(InvalidInput, match=f"^{field} must"):
            dataclasses.replace(bare, **{field: value})


def test_noise_knows_among_how_many_estimates_its_claim_is_divided() -> None:
    for value in (0, -1, 1.5, True, math.nan):
        with pytest.raises(InvalidInput, match=r"^max_estimates must be a whole number"):
            dataclasses.replace(NOISE, max_estimates=value)
    with pytest.raises(InvalidInput, match=r"^max_estimates must be given"):
        dataclasses.replace(NOISE, max_estimates=None)
    assert without_noise(10.0).max_estimates is None


@pytest.mark.parametrize(("field", "allowed"), [("strategy", "tree, toeplitz"), ("layout", "triangle, frobenius")])
@pytest.mark.parametrize("value", ["", "Tree", None])
def test_arrangements_go_by_name(field: str, allowed: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=f"^{field} must be one of {allowed}, got"):
        dataclasses.replace(NOISE, **{field: value})


def test_without_noise_nothing_is_claimed() -> None:
    assert without_noise(10.0) == Noise(
        covariance_noise=0.0, estimate_noise=0.0, estimate_ridge=10.0, floored=False, claimed=None
    )
    with pytest.raises(InvalidInput, match=r"^ridge must"):
        without_noise(math.nan)


def test_strategies_by_name() -> None:
    assert [strategy_of(name, 1000) for name in STRATEGIES] == [streams.tree(1000), streams.toeplitz(1000)]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("layout", [TRIANGLE, FROBENIUS])
@pytest.mark.parametrize("live", [True, False])
def test_events_describe_the_noise(strategy: str, layout: str, live: bool) -> None:
    noise = dataclasses.replace(NOISE, strategy=strategy, layout=layout)
    stream, estimate = events(noise, **CASE, live=live)
    assert stream == CovarianceStream(
        strategy=strategy_of(strategy, 10**5),
        steps=10**5 - 1,
        dimension=2,
        noise=440.0,
        layout=layout,
        grid=grid_of(440.0) if live else 0.0,
    )
    grid = grid_of(1287.0) if live else 0.0
    assert estimate == PerturbedEstimate(
        dimension=2,
        noise=1287.0,
        ridge=820.0,
        gradient=4.0,
        difference=7.1,
        curvature=4.0,
        distance=tolerance.distance(ridge=820.0, grid=grid, steps=10**5 - 1, dimension=2, losses=LOSSES),
        output_noise=1e-3,
        grid=grid,
        output_grid=grid_of(1e-3) if live else 0.0,
    )
    assert noise.frobenius is (layout == FROBENIUS)
    ledger = open_ledger(noise, **CASE, max_estimates=34, live=live)
    assert ledger.allowance == (Entry(stream, 1), Entry(estimate, 34))
    assert (ledger.claimed, ledger.spent) == (EpsilonDelta(2.0, 2e-10), ())


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_a_ledger_is_opened_for_the_neighbours_named(adjacency: Adjacency) -> None:
    ledger = open_ledger(NOISE, **CASE, max_estimates=34, live=True, adjacency=adjacency)
    assert ledger.adjacency is adjacency
    assert ledger.proven is not None
    assert 0.0 < ledger.proven.epsilon <= 2.0


def test_more_estimates_than_the_claim_is_for_need_more_than_the_claim() -> None:
    with pytest.raises(InvalidInput, match=r"^claimed must cover the allowance"):
        open_ledger(NOISE, **CASE, max_estimates=400, live=True)


def test_without_noise_every_release_is_charged_as_not_private() -> None:
    noise = without_noise(10.0)
    assert events(noise, **CASE, live=True) == (NotPrivate(), NotPrivate())
    ledger = open_ledger(noise, **CASE, max_estimates=34, live=True)
    assert ledger.allowance == (Entry(NotPrivate(), 35),)
    assert ledger.claimed is None
    assert ledger.proven is None
    spent = ledger.spend(NotPrivate(), 35)
    assert spent.epsilon(0.5) == math.inf
    with pytest.raises(BudgetExhausted, match="0 left"):
        spent.spend(NotPrivate())


def test_values_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        NOISE.estimate_noise = 0.0  # type: ignore[misc]


def test_noise_without_a_claim_is_refused() -> None:
    """The ledger would not know of it, and the engine and the simulator would disagree about drawing it."""
    with pytest.raises(InvalidInput, match=r"^noise must be 0 where nothing is claimed, got 1.0"):
        Noise(covariance_noise=1.0, estimate_noise=0.0, estimate_ridge=1.0, floored=False, claimed=None)
