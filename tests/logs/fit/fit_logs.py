"""Logs in memory for the tests of fits: drawn from the model, whole or in pieces, with customers or without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from hushprice.logs.fit.fit_noise import FitNoise, calibrate_fit
from hushprice.logs.fit.passes_of_fit import FitState, played
from hushprice.logs.fit.whole_sums import Adding, published
from hushprice.logs.passes import run_pass
from hushprice.logs.rows import Log, LogRows
from hushprice.noise import NoiseSource, Tape
from hushprice.policies.cautious.pricing.shop_model import with_constant
from hushprice.privacy.budget import EpsilonDelta
from hushprice.product import Product
from hushprice.types import FloatArray, IntArray

PRODUCT = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.3, elasticity=1.0, contexts=2)
THETA = np.array([0.3, 0.4, -0.2, 0.5, 0.1, -0.1])


@dataclass(frozen=True, eq=False)
class ArrayLog:
    """Rows in arrays, cut into pieces where told."""

    contexts: FloatArray
    prices: FloatArray
    demands: FloatArray
    customers: IntArray | None = None
    ends: tuple[int, ...] = ()

    @property
    def partitions(self) -> int:
        return len(self.ends) + 1

    @property
    def rows(self) -> int:
        return len(self.prices)

    def blocks(self, partition: int) -> Iterator[LogRows]:
        edges = (0, *self.ends, len(self.prices))
        part = slice(edges[partition], edges[partition + 1])
        customers = None if self.customers is None else self.customers[part]
        yield LogRows(self.contexts[part], self.prices[part], self.demands[part], customers, None, part.start)


def drawn(
    count: int, seed: int = 0, theta: FloatArray = THETA, product: Product = PRODUCT, **given: object
) -> ArrayLog:
    """A log from the model."""
    random = np.random.default_rng(seed)
    contexts, prices = random.uniform(-1.0, 1.0, (count, product.contexts)), random.uniform(-1.0, 1.0, count)
    rows, half = with_constant(contexts), product.contexts + 1
    odds = product.level + rows @ theta[:half] - (product.response + rows @ theta[half:]) * prices
    return ArrayLog(contexts, prices, (random.random(count) < expit(odds)).astype(np.float64), **given)  # type: ignore[arg-type]


def features_of(log: ArrayLog) -> FloatArray:
    rows = with_constant(log.contexts)
    return np.hstack([rows, -log.prices[:, None] * rows])


def state_of(
    log: Log,
    epsilon: float,
    seed: int = 0,
    product: Product = PRODUCT,
    *,
    source: NoiseSource | None = None,
    rows: int = 1,
) -> FitState:
    """A simulated fit, or one with this source."""
    noise = noise_of(epsilon, product, live=source is not None, rows=rows)
    from_where = Tape(seed, 0) if source is None else source

    def release(adding: Adding, size: int, deviation: float, number: int) -> FloatArray:
        return published(run_pass(log, adding, size), deviation, from_where, number)

    return played(product, noise, release, known=getattr(log, "rows", None) if rows == 1 else None)


def noise_of(epsilon: float, product: Product = PRODUCT, *, live: bool = False, rows: int = 1) -> FitNoise:
    return calibrate_fit(EpsilonDelta(epsilon, 1e-6), contexts=product.contexts, rows=rows, live=live)
