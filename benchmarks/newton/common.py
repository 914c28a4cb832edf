"""What the sections share: markets nobody tuned on, bootstrap intervals, Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from hushprice.demand.families import Logistic
from hushprice.demand.features import FeatureMap, by_name
from hushprice.demand.protocol import Demand
from hushprice.simulation.market import Market, paper_market
from hushprice.simulation.result import SimulationResult
from hushprice.simulation.run import simulate

Row = dict[str, Any]
TRAINING = tuple(range(7, 17))  # seeds of the demand vectors that constants were chosen on
TEST = tuple(range(101, 125))  # of those that tables show
UNIT = 1e4  # regret is shown times this
RESAMPLES = 4000


def price_entry(features: FeatureMap) -> int:
    """Where the price coefficient stands in theta."""
    _, v = features.parts(np.zeros(features.contexts))
    return int(np.flatnonzero(v)[0])


def theta_of(seed: int, features: FeatureMap, least: float = 0.0) -> np.ndarray:
    """Uniform in the half of the unit ball where demand falls with price (for the customer x = 0).

    With `least`, price coefficients are moved up into [least, 1], and the other entries shrunk to make room.
    """
    generator = np.random.default_rng(seed)
    direction = generator.standard_normal(features.dimension)
    theta = direction / np.linalg.norm(direction) * generator.uniform() ** (1.0 / features.dimension)
    at = price_entry(features)
    before, price = abs(theta[at]), least + (1.0 - least) * abs(theta[at])
    theta *= math.sqrt((1.0 - price**2) / (1.0 - before**2))
    theta[at] = price
    return theta


def random_market(
    seed: int,
    *,
    features: str,
    contexts: int,
    demand: Demand | None = None,
    contexts_kind: str = "uniform",
    least: float = 0.0,
    **kind: Any,
) -> Market:
    """A market with a random demand vector."""
    chosen = by_name(features, contexts)
    theta = theta_of(seed, chosen, least)
    return Market(demand=demand or Logistic(), features=chosen, theta=theta, contexts=contexts_kind, **kind)


def cell(policy: str, eps: float, horizon: int, trials: int, **setting: Any) -> SimulationResult:
    """A cell "eps" of the paper's tables: eps and 1/T^2 to each of two releasers."""
    private = policy in ("noisy-newton", "paper")
    return simulate(policy, horizon=horizon, trials=trials, **({"epsilon": 2 * eps} if private else {}), **setting)


def paper_cell(policy: str, eps: float, horizon: int, trials: int, dimension: int, **setting: Any) -> SimulationResult:
    """The same on the paper's instance."""
    return cell(policy, eps, horizon, trials, market=paper_market(dimension), **setting)


def mean_and_error(values: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """Mean and standard error, times UNIT."""
    array = UNIT * np.asarray(values, dtype=float)
    return float(array.mean()), float(array.std(ddof=1) / math.sqrt(array.size)) if array.size > 1 else math.nan


def interval(statistic: Callable[[np.ndarray], float], count: int, seed: int = 0) -> tuple[float, float]:
    """The middle 95 % of a statistic of resampled indices 0 .. count - 1."""
    generator = np.random.default_rng(seed)
    found = [statistic(generator.integers(0, count, count)) for _ in range(RESAMPLES)]
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def shown(mean: float, error: float) -> str:
    """Mean ± standard error with as many digits as make sense."""
    digits = 2 if abs(mean) < 10 else 1 if abs(mean) < 100 else 0
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table; the first `left` columns are flush left."""
    rule = "|" + "---|" * left + "---:|" * (len(heads) - left)
    return "\n".join([f"| {' | '.join(heads)} |", rule, *(f"| {' | '.join(row)} |" for row in rows)])
