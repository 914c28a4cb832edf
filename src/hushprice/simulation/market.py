"""A market: who comes, how they answer, and the truth a policy has to learn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hushprice import checks
from hushprice.demand import family
from hushprice.demand.families import Logistic
from hushprice.demand.features import CUSTOM as CUSTOM_MAP
from hushprice.demand.features import FeatureMap, main_effects
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.simulation.contexts import KINDS, Stream
from hushprice.simulation.world import KernelMarket
from hushprice.types import FloatArray

Rows = Sequence[Sequence[float]] | FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Market:
    """One instance. `contexts` is a kind of simulation/contexts.py; each field after it serves the kind it names."""

    demand: Demand
    features: FeatureMap
    theta: FloatArray
    contexts: str = "uniform"
    correlation: float = 0.0  # gaussian: the same correlation between any two entries
    weights: Sequence[float] = (0.25, 0.25, 0.25, 0.25)  # segments: shares of the profiles
    points: Rows | None = None  # segments: the profiles; by default spread evenly over the cube
    rows: Rows | None = None  # file: one context a row
    name: str = "custom"
    _table: FloatArray = field(init=False, repr=False)  # Stream.table, checked once
    _cumulative: FloatArray = field(init=False, repr=False)  # Stream.weights

    def __post_init__(self) -> None:
        if self.contexts not in KINDS:
            raise InvalidInput(f"contexts.kind must be one of {', '.join(KINDS)}, got {self.contexts!r}")
        theta = checks.vector(self.features.dimension, theta=self.theta)
        norm = float(np.linalg.norm(theta))
        if not norm <= 1.0 + 1e-9:
            raise InvalidInput(f"theta must have norm at most 1, got norm {norm:g}")
        table, cumulative = self._tables()
        for name, array in (("theta", theta), ("_table", table), ("_cumulative", cumulative)):
            # A copy of one's own, writable and contiguous: the one array type the kernels are compiled for.
            object.__setattr__(self, name, np.array(array, dtype=np.float64, order="C"))

    @property
    def dimension(self) -> int:
        """d."""
        return self.features.dimension

    @property
    def compiled(self) -> bool:
        """Can the kernels run it, or only the plain-Python engine?"""
        return self.demand.family != family.CUSTOM and self.features.code != CUSTOM_MAP

    def stream(self, horizon: int) -> Stream:
        """The contexts of a run of that length."""
        return Stream(KINDS[self.contexts], self.features.contexts, horizon, self._table, self._cumulative)

    def world(self, horizon: int) -> KernelMarket:
        """The market as the kernels take it."""
        return KernelMarket(
            self.demand.family,
            float(self.demand.slope),
            float(self.demand.bound),
            self.features.code,
            self.theta,
            self.stream(horizon),
            0,
            np.empty(0),
            math.nan,
            -1,
        )

    def _tables(self) -> tuple[FloatArray, FloatArray]:
        k = self.features.contexts
        if self.contexts == "gaussian":
            return _factor(self.correlation, k), np.ones(1)
        if self.contexts == "segments":
            shares = _shares(self.weights)
            points = _spread(shares.size, k) if self.points is None else _in_cube("contexts.points", self.points, k)
            if points.shape[0] != shares.size:
                raise InvalidInput(f"contexts.points must have {shares.size} rows, one a weight, got {points.shape[0]}")
            return points, np.cumsum(shares)
        if self.contexts == "file":
            if self.rows is None:
                raise InvalidInput("contexts.path must be given for contexts.kind 'file', got none")
            return _in_cube("contexts.path", self.rows, k), np.ones(1)
        return np.zeros((1, k)), np.ones(1)


def paper_market(dimension: int) -> Market:
    """The instance of sec:numerical.

    >>> paper_market(3).theta.round(4).tolist()
    [-0.3162, -0.3162, 0.8944]
    """
    checks.whole(2, dimension=dimension)
    checks.within(2, 11, dimension=dimension)  # theta* has last entry sqrt(1 - 0.1 (d - 1))
    theta = np.full(dimension, -math.sqrt(0.1))
    theta[-1] = math.sqrt(max(0.0, 1.0 - 0.1 * (dimension - 1)))
    name = f"paper, d = {dimension}"
    return Market(demand=Logistic(slope=4.0), features=main_effects(dimension - 1), theta=theta, name=name)


def _factor(correlation: float, k: int) -> FloatArray:
    """Lower Cholesky factor of the matrix with ones on the diagonal and `correlation` elsewhere."""
    least = -1.0 / (k - 1) if k > 1 else -1.0
    if not least < correlation < 1.0:
        raise InvalidInput(f"contexts.correlation must lie strictly between {least:g} and 1, got {correlation!r}")
    return np.linalg.cholesky(np.full((k, k), correlation) + (1.0 - correlation) * np.eye(k)).astype(np.float64)


def _shares(weights: Sequence[float]) -> FloatArray:
    shares = checks.vector(len(weights), **{"contexts.weights": weights})
    if not (shares.size and np.all(shares > 0) and math.isclose(shares.sum(), 1.0, abs_tol=1e-9)):
        raise InvalidInput(f"contexts.weights must be positive and sum to 1, got {checks.shown(list(weights))}")
    return shares


def _spread(count: int, k: int) -> FloatArray:
    """`count` points spread evenly over the cube: multiples, modulo 1, of powers of the root g of g^(k+1) = g + 1."""
    root = 2.0
    for _ in range(60):
        root = (1.0 + root) ** (1.0 / (k + 1))
    steps: FloatArray = root ** -np.arange(1.0, k + 1.0)
    return 2.0 * (np.outer(np.arange(1, count + 1), steps) % 1.0) - 1.0


def _in_cube(name: str, values: Rows, columns: int) -> FloatArray:
    try:
        table = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):  # text, or rows of unequal length
        raise InvalidInput(f"{name} must have rows of {columns} numbers, got {checks.shown(values)}") from None
    if table.ndim != 2 or table.shape[0] == 0 or table.shape[1] != columns:
        raise InvalidInput(f"{name} must have rows of {columns} numbers, got shape {table.shape}")
    bad = np.argwhere(~(np.abs(table) <= 1.0))
    if bad.size:
        row, column = (int(index) for index in bad[0])
        entry = f"{name} row {row + 1}, entry {column + 1}"
        raise InvalidInput(f"{entry} must lie in [-1, 1], got {float(table[row, column])!r}")
    return table
