"""The stated public prior: which markets a plan is an average over, when nothing is known about demand yet."""

from __future__ import annotations

import numpy as np

from hushprice import checks
from hushprice.demand.families import Logistic
from hushprice.demand.features import FeatureMap, by_name
from hushprice.simulation.market import Market
from hushprice.types import FloatArray

VECTORS = 50
MOST_FEATURES = 30  # customer attributes; past this a plan takes minutes

STATEMENT = (
    "theta* uniform in the unit ball with a price coefficient of at least 0 (a higher price never sells more), "
    "contexts independent and uniform on [-1, 1]^k, logistic demand"
)


def parameter_vectors(features: FeatureMap, count: int, seed: int) -> FloatArray:
    """(count, d) draws of theta* from the prior."""
    _, effect = features.parts(np.zeros(features.contexts))
    price = int(np.argmin(effect))  # the coefficient of -p
    random = np.random.default_rng(np.random.SeedSequence([seed, features.dimension]))
    directions = random.standard_normal((count, features.dimension))
    lengths = random.random(count) ** (1.0 / features.dimension)
    vectors: FloatArray = directions * (lengths / np.linalg.norm(directions, axis=1))[:, None]
    vectors[:, price] = np.abs(vectors[:, price])
    return vectors


def markets(
    contexts: int, *, map: str = "main", slope: float = 4.0, count: int = VECTORS, seed: int = 0
) -> list[Market]:
    """Markets drawn from the prior.

    >>> [market.theta.round(2).tolist() for market in markets(1, count=2)]
    [[-0.29, 0.17], [-0.55, 0.16]]
    """
    checks.whole(1, features=contexts)
    checks.within(1, MOST_FEATURES, features=contexts)
    checks.whole(1, count=count)
    checks.whole(0, seed=seed)
    checks.positive(slope=slope)
    features, demand = by_name(map, contexts), Logistic(slope=float(slope))
    return [
        Market(demand=demand, features=features, theta=theta, name=f"prior, vector {index}")
        for index, theta in enumerate(parameter_vectors(features, count, seed))
    ]
