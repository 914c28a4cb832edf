"""The paper's instance at T = 1e5: measured regret against quadrature where there is a formula, and elsewhere against
the table of an earlier, independent study of the same readings (printed and published calibrations, 40 trials a cell).

All figures are average regret x 1e4. "Agrees" means within four combined standard errors: ours as measured, the
study's taken as 5 % (it states 3 to 8 %). A right simulator then fails a cell once in 16,000; that a wrong one fails is
checked beside it. A cell has 20 trials: ours then has an error of 3 to 8 % too, and a figure off by half is told apart.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize, special

from hushprice.simulation.market import paper_market
from hushprice.simulation.result import Mean
from hushprice.simulation.run import simulate

pytestmark = pytest.mark.slow

HORIZON, SEED = 10**5, 1
TRIALS = 40  # where a formula says what is right
CELL_TRIALS = 20
EPSILONS = (0.1, 0.2, 0.5, 1.0, 5.0)
STUDY = {
    (2, "printed"): (313.0, 309.0, 270.0, 222.0, 79.0),
    (2, "published"): (217.0, 150.0, 76.0, 43.0, 10.0),
    (3, "printed"): (189.0, 192.0, 193.0, 192.0, 115.0),
    (3, "published"): (170.0, 152.0, 91.0, 48.0, 11.0),
}
CELLS = [
    (dimension, calibration, epsilon, figure)
    for (dimension, calibration), row in STUDY.items()
    for epsilon, figure in zip(EPSILONS, row, strict=True)
]


@functools.cache
def measured(policy: str, **settings: Any) -> Mean:
    trials = CELL_TRIALS if policy == "paper" else TRIALS
    regret = simulate(policy, horizon=HORIZON, trials=trials, seed=SEED, **settings).average_regret
    assert regret.mean is not None
    assert regret.standard_error is not None
    return Mean(1e4 * regret.mean, 1e4 * regret.standard_error)


def agrees(regret: Mean, figure: float, error: float) -> bool:
    """Within four combined standard errors."""
    assert regret.mean is not None
    assert regret.standard_error is not None
    return abs(regret.mean - figure) <= 4.0 * math.hypot(regret.standard_error, error)


@pytest.mark.parametrize(("dimension", "calibration", "epsilon", "figure"), CELLS)
def test_the_private_policy_has_the_regret_of_the_study(
    dimension: int, calibration: str, epsilon: float, figure: float
) -> None:
    regret = measured("paper", dimension=dimension, calibration=calibration, epsilon=2 * epsilon)
    assert agrees(regret, figure, 0.05 * figure), f"{regret.mean:.1f} +- {regret.standard_error:.1f}, not {figure}"


@pytest.mark.parametrize(("dimension", "figure", "error"), [(2, 2.5, 0.2), (3, 1.5, 0.1)])
def test_the_policy_without_noise_has_the_regret_of_the_study(dimension: int, figure: float, error: float) -> None:
    regret = measured("nonprivate", dimension=dimension)
    assert agrees(regret, figure, error)
    assert not agrees(regret, 3 * figure, 3 * error)


def test_the_comparison_with_the_study_tells_calibrations_and_budgets_apart() -> None:
    printed, published = STUDY[2, "printed"][3], STUDY[2, "published"][3]  # eps = 1
    one = {"dimension": 2, "epsilon": 2.0}
    assert not agrees(measured("paper", calibration="printed", **one), published, 0.05 * published)
    assert not agrees(measured("paper", calibration="published", **one), printed, 0.05 * printed)
    twice = measured("paper", calibration="published", dimension=2, epsilon=4.0)
    assert not agrees(twice, published, 0.05 * published)


def test_tight_noise_costs_less_regret_than_published_noise_for_the_same_claim() -> None:
    settings: dict[str, Any] = {"horizon": HORIZON, "dimension": 2, "epsilon": 2.0, "trials": 20, "seed": SEED}
    tight, published = (
        simulate("paper", calibration=name, **settings).average_regret for name in ("tight", "published")
    )
    assert None not in (tight.mean, published.mean, tight.standard_error, published.standard_error)
    error = math.hypot(tight.standard_error, published.standard_error)  # type: ignore[arg-type]
    assert published.mean - tight.mean > 4.0 * error  # type: ignore[operator]


def expected(dimension: int, price: float | None) -> float:
    """Average regret x 1e4 of one price, or of a uniformly random price, by quadrature over contexts and prices."""
    market = paper_market(dimension)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    grid = np.meshgrid(*[nodes] * (dimension - 1), indexing="ij")
    mass = functools.reduce(np.multiply.outer, [weights / 2] * (dimension - 1))
    scale = 4.0 / math.sqrt(dimension)
    a = scale * sum(theta * x for theta, x in zip(market.theta, grid, strict=False))
    c = scale * market.theta[-1]
    best = np.minimum((1.0 + special.lambertw(np.exp(a - 1.0)).real) / c, 1.0)

    def revenue(p: Any) -> float:
        return float((mass * p * special.expit(a - c * p)).sum())

    if price is not None:
        return 1e4 * (revenue(best) - revenue(price))
    mean = sum(w / 2 * revenue((node + 1) / 2) for node, w in zip(nodes, weights, strict=True))
    return 1e4 * (revenue(best) - mean)


@pytest.mark.parametrize(("dimension", "figure"), [(2, 251.0), (3, 328.0)])
def test_random_prices_have_the_regret_of_the_quadrature(dimension: int, figure: float) -> None:
    exact = expected(dimension, None)
    assert agrees(measured("random", dimension=dimension), exact, 0.0)
    assert not agrees(measured("random", dimension=dimension), 1.01 * exact, 0.0)
    assert abs(exact - figure) <= 1.0  # as the study rounds it


@pytest.mark.parametrize(("dimension", "figure"), [(2, 393.0), (3, 201.0)])
def test_the_price_one_has_the_regret_of_the_quadrature(dimension: int, figure: float) -> None:
    exact = expected(dimension, 1.0)
    assert agrees(measured("fixed", price=1.0, dimension=dimension), exact, 0.0)
    assert not agrees(measured("fixed", price=1.0, dimension=dimension), 1.01 * exact, 0.0)
    assert abs(exact - figure) <= 0.5  # as the study rounds it


@pytest.mark.parametrize(("dimension", "figure"), [(2, 5.4), (3, 10.7)])
def test_the_best_fixed_price_has_the_regret_of_the_quadrature(dimension: int, figure: float) -> None:
    # In hindsight of one trial's customers it does a little better than before them, by O(1/T).
    least = optimize.minimize_scalar(lambda price: expected(dimension, price), bounds=(0.0, 1.0), method="bounded")
    assert agrees(measured("fixed", dimension=dimension), least.fun, 0.0)
    assert not agrees(measured("fixed", dimension=dimension), 1.02 * least.fun, 0.0)
    assert abs(least.fun - figure) <= 0.05  # as the study rounds it
