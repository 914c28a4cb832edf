"""A market: who comes, how they answer, and the truth a policy has to learn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hushprice import checks
from hushprice.demand import family
from hushprice.demand.families import Logistic
from hushprice.demand.features import CUSTOM as CUSTOM_MAP
from hushprice.demand.features import FeatureMap, main_effects
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.simulation.contexts import KINDS, Stream
from hushprice.simulation.kernel import World
from hushprice.types import FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Market:
    """One instance. `table` and `weights` describe the streams that need them (see simulation/contexts.py)."""

    demand: Demand
    features: FeatureMap
    theta: FloatArray
    contexts: str = "uniform"
    correlation: float = 0.0  # gaussian: the same correlation between any two entries
    weights: tuple[float, ...] = (0.25, 0.25, 0.25, 0.25)  # segments: shares of the profiles
    points: FloatArray | None = None  # segments: the profiles; by default spread evenly over the cube
    rows: FloatArray | None = None  # file: one context a row
    name: str = "custom"

    def __post_init__(self) -> None:
        if self.contexts not in KINDS:
            raise InvalidInput(f"contexts.kind must be one of {', '.join(KINDS)}, got {self.contexts!r}")
        checks.whole(0, dimension=self.features.contexts)
        theta = checks.vector(self.features.dimension, theta=self.theta)
        norm = float(np.linalg.norm(theta))
        if not norm <= 1.0 + 1e-9:
            raise InvalidInput(f"theta must have norm at most 1, got {norm:g}")
        object.__setattr__(self, "theta", theta)
        if self.contexts == "gaussian":
            _factor(self.correlation, self.features.contexts)
        if self.contexts == "segments":
            self._profiles()
        if self.contexts == "file":
            self._file()

    @property
    def dimension(self) -> int:
        """d."""
        return self.features.dimension

    @property
    def compiled(self) -> bool:
        """Can the kernels run it, or only the plain-Python backend?"""
        return self.demand.family != family.CUSTOM and self.features.code != CUSTOM_MAP

    def stream(self, horizon: int) -> Stream:
        """The contexts of a run of that length."""
        k = self.features.contexts
        table, weights = np.zeros((1, max(k, 1))), np.ones(1)
        if self.contexts == "gaussian":
            table = _factor(self.correlation, k)
        elif self.contexts == "segments":
            table = self._profiles()
            weights = np.cumsum(self.weights)
        elif self.contexts == "file":
            table = self._file()
        return Stream(KINDS[self.contexts], k, horizon, np.ascontiguousarray(table), weights)

    def world(self, horizon: int) -> World:
        """The market as the kernels take it."""
        return World(
            self.demand.family,
            float(self.demand.slope),
            float(self.demand.bound),
            self.features.code,
            self.theta,
            self.stream(horizon),
        )

    def _profiles(self) -> FloatArray:
        shares = checks.vector(len(self.weights), weights=self.weights)
        if not (shares.size and np.all(shares > 0) and math.isclose(shares.sum(), 1.0, abs_tol=1e-9)):
            raise InvalidInput(f"contexts.weights must be positive and sum to 1, got {list(self.weights)}")
        points = self.points if self.points is not None else _spread(shares.size, self.features.contexts)
        return _in_cube("contexts.points", points, self.features.contexts, shares.size)

    def _file(self) -> FloatArray:
        if self.rows is None:
            raise InvalidInput("contexts.path is required for contexts.kind 'file'")
        return _in_cube("contexts.path", self.rows, self.features.contexts, None)


def paper_market(dimension: int) -> Market:
    """The instance of sec:numerical.

    >>> paper_market(3).theta.round(4).tolist()
    [-0.3162, -0.3162, 0.8944]
    """
    checks.whole(2, dimension=dimension)
    if dimension > 11:
        raise InvalidInput(f"dimension must be at most 11 for the paper's theta* (1 - 0.1 (d - 1) >= 0), got {dimension}")
    theta = np.full(dimension, -math.sqrt(0.1))
    theta[-1] = math.sqrt(max(0.0, 1.0 - 0.1 * (dimension - 1)))
    return Market(demand=Logistic(slope=4.0), features=main_effects(dimension - 1), theta=theta, name=f"paper, d = {dimension}")


def read_rows(path: Path) -> FloatArray:
    """Contexts from a .npy, .parquet or comma-separated file (a header line is allowed)."""
    try:
        if path.suffix == ".npy":
            rows = np.load(path, allow_pickle=False)
        else:
            import polars

            frame = polars.read_parquet(path) if path.suffix == ".parquet" else _read_csv(path)
            rows = frame.to_numpy()
        return np.ascontiguousarray(rows, dtype=np.float64)
    except Exception as problem:
        raise InvalidInput(f"contexts.path {str(path)!r} cannot be read: {_first_line(problem)}") from None


def _read_csv(path: Path):  # type: ignore[no-untyped-def]
    import polars

    first = path.read_text().split("\n", 1)[0].split(",")
    headed = any(not _is_float(cell) for cell in first)
    return polars.read_csv(path, has_header=headed)


def _is_float(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _first_line(problem: Exception) -> str:
    return (str(problem).splitlines() or [type(problem).__name__])[0]


def _factor(correlation: float, k: int) -> FloatArray:
    """Lower Cholesky factor of the matrix with ones on the diagonal and `correlation` elsewhere."""
    least = -1.0 / (k - 1) if k > 1 else -1.0
    if not least < correlation < 1.0:
        raise InvalidInput(f"contexts.correlation must lie strictly between {least:g} and 1, got {correlation!r}")
    return np.linalg.cholesky(np.full((k, k), correlation) + (1.0 - correlation) * np.eye(k))


def _spread(count: int, k: int) -> FloatArray:
    """`count` points spread evenly over the cube: an additive sequence with rationally independent steps."""
    steps = np.sqrt(np.array([2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71][:k], dtype=float))
    return 2.0 * ((np.arange(1, count + 1)[:, None] * steps) % 1.0) - 1.0


def _in_cube(name: str, values: object, columns: int, rows: int | None) -> FloatArray:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] == 0 or table.shape[1] != columns:
        raise InvalidInput(f"{name} must have rows of {columns} numbers, got shape {table.shape}")
    if rows is not None and table.shape[0] != rows:
        raise InvalidInput(f"{name} must have {rows} rows, one a weight, got {table.shape[0]}")
    bad = np.argwhere(~(np.abs(table) <= 1.0))
    if bad.size:
        row, column = bad[0]
        raise InvalidInput(f"{name} row {row + 1}, entry {column + 1} must lie in [-1, 1], got {float(table[row, column])!r}")
    return table
