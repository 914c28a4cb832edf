"""The plain search for a user's own demand family: closed forms, ties, and a family nobody compiled."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.welfare import clairvoyant_price
from hushprice.price_search.plain import dense_price


def family(mean: Any) -> Any:
    return SimpleNamespace(mean=mean)


NOTHING = family(np.zeros_like)


@pytest.mark.parametrize("demand", [Logistic(slope=4.0), Gaussian(), Poisson(slope=2.0)])
def test_without_a_bonus_it_is_the_clairvoyant_price(demand: Any) -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        a, b = float(rng.normal()), float(rng.normal() - 0.7)
        exact = clairvoyant_price(demand.family, float(demand.slope), a, b)
        assert dense_price(demand, a, b, (0.0, 0.0, 0.0), 0.0) == pytest.approx(exact, abs=1e-7)


def test_every_narrow_peak_is_zoomed_into() -> None:
    """Twenty peaks a tenth of a grid cell apart from the grid, the highest of them in the middle."""
    places = 0.02 + np.arange(20) / 21 + 0.1 / 2048
    heights = np.where(np.arange(20) == 11, 1.001, 1.0)
    demand = family(
        lambda z: np.max(heights / (1 + (300 * (z[..., None] - places)) ** 2), axis=-1) / np.maximum(z, 1e-3)
    )
    assert dense_price(demand, 0.0, 1.0, (0.0, 0.0, 0.0), 0.0) == pytest.approx(places[11], abs=1e-7)


def test_a_family_of_the_users_own() -> None:
    demand = family(lambda z: np.where(z > 0.2, 1.0, 0.1))  # falls from 1 to 0.1 at price 0.8
    assert dense_price(demand, 1.0, -1.0, (0.0, 0.0, 0.0), 0.0) == pytest.approx(0.8, abs=1e-9)


def test_the_top_of_an_arch_of_the_bonus() -> None:
    assert dense_price(NOTHING, 0.0, 0.0, (-0.2, 1.0, -1.0), 2.0) == pytest.approx(0.5, abs=1e-7)


def test_ties_and_flat_objectives_go_to_the_lower_price() -> None:
    assert dense_price(NOTHING, 0.0, 0.0, (0.0, 0.0, 0.0), 1.0) == 0.0
    assert dense_price(NOTHING, 0.0, 0.0, (0.25, -1.0, 1.0), 1.0) == 0.0  # U(0) = U(1)
    assert dense_price(NOTHING, 0.0, 0.0, (-0.5, 1.0, 0.0), 0.0) == 0.0


def test_ends_are_exact() -> None:
    assert dense_price(NOTHING, 0.0, 0.0, (0.0, 0.0, 1.0), 1.0) == 1.0
    assert dense_price(NOTHING, 0.0, 0.0, (1.0, -1.0, 0.0), 1.0) == 0.0


def test_the_cap_does_not_matter() -> None:
    line = family(lambda z: z)
    assert dense_price(line, 1.0, -1.0, (9.0, 12.0, 4.0), 1.0) == 1.0  # U = p (1 - p) + 3 + 2 p, above 1 everywhere
