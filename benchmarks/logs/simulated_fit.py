"""A fit of a simulated log, by the mechanism that `hushprice fit` runs, with simulated noise.

The log has prices spread evenly within SPREAD of today's, as far as the product allows, drawn without looking at
customers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hushprice.logs.fit.run_fit import fit
from hushprice.logs.rows import LogRows
from hushprice.prior import Prior, prior_of
from hushprice.product import Product
from hushprice.shops.world import World, chances, encoded

ROWS = 50_000
SPREAD = 0.2  # of today's price, to either side
DELTA = 1e-8


class SimulatedLog:
    """Rows of one world, in the product's numbers."""

    partitions = 1
    rows = ROWS

    def __init__(self, product: Product, world: World, spread: float, seed: int) -> None:
        rng = np.random.default_rng((seed, 77))
        customers = world.contexts(0, ROWS, rng)
        today = product.reference_price
        low, high = (min(max(today * (1.0 + each), product.floor), product.ceiling) for each in (-spread, spread))
        prices = rng.uniform(low, high, ROWS)
        bought = rng.random(ROWS) < chances(world, 0, customers, prices)
        self._rows = LogRows(
            contexts=encoded(product, customers, ROWS),
            prices=(prices - today) / product.reach,
            demands=bought / product.most,
            customers=None,
            propensities=None,
            first=0,
        )

    def blocks(self, partition: int) -> Iterator[LogRows]:
        """All of them."""
        yield self._rows


def simulated_fit(product: Product, world: World, *, epsilon: float, seed: int, spread: float = SPREAD) -> Prior:
    """The prior of a fit of ROWS rows of this world."""
    log = SimulatedLog(product, world, spread, seed)
    found = fit(log, product=product, epsilon=epsilon, delta=DELTA, seed=seed, simulation=True)
    return prior_of(found.to_dict())
