"""Markets from TOML files. Unknown keys are refused: a misspelt key must not silently fall back to a default."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.features import by_name
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.simulation.market import Market, read_rows


class DemandTable(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """[demand]"""

    family: Literal["logistic", "gaussian", "poisson"]
    theta: list[float]
    slope: float | None = None
    bound: float | None = None
    noise: float | None = None


class FeaturesTable(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """[features]"""

    map: Literal["main", "intercept", "interactions"] = "main"


class ContextsTable(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """[contexts]"""

    dimension: int
    kind: Literal["uniform", "gaussian", "segments", "file", "sorted", "corners", "blocks", "late"] = "uniform"
    path: str | None = None
    weights: list[float] | None = None
    points: list[list[float]] | None = None
    correlation: float | None = None


class MarketTable(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A whole file."""

    demand: DemandTable
    contexts: ContextsTable
    features: FeaturesTable = msgspec.field(default_factory=FeaturesTable)


def load_market(path: str | Path) -> Market:
    """The market a TOML file describes (README, "Your own market"); a path inside it is taken relative to the file."""
    path = Path(path)
    try:
        table = msgspec.toml.decode(path.read_bytes(), type=MarketTable)
    except OSError as problem:
        raise InvalidInput(f"market file {str(path)!r} cannot be read: {problem.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise InvalidInput(f"market file {str(path)!r}: {str(problem).splitlines()[0]}") from None
    try:
        return _market(table, path)
    except InvalidInput as problem:
        raise InvalidInput(f"market file {str(path)!r}: {problem}") from None


def _market(table: MarketTable, path: Path) -> Market:
    contexts = table.contexts
    if contexts.dimension < 0:
        raise InvalidInput(f"contexts.dimension must be a whole number at or above 0, got {contexts.dimension}")
    for key, kind in (("path", "file"), ("weights", "segments"), ("points", "segments"), ("correlation", "gaussian")):
        if getattr(contexts, key) is not None and contexts.kind != kind:
            raise InvalidInput(f"contexts.{key} is for contexts.kind {kind!r} alone, got kind {contexts.kind!r}")
    rows = None
    if contexts.path is not None:
        rows = read_rows(path.parent / contexts.path)
    weights = contexts.weights
    if weights is None:
        count = len(contexts.points) if contexts.points else 4
        weights = [1.0 / count] * count
    return Market(
        demand=_demand(table.demand),
        features=by_name(table.features.map, contexts.dimension),
        theta=np.array(table.demand.theta),
        contexts=contexts.kind,
        correlation=contexts.correlation or 0.0,
        weights=tuple(weights),
        points=None if contexts.points is None else _points(contexts.points),
        rows=rows,
        name=path.stem,
    )


def _points(points: list[list[float]]) -> np.ndarray:
    if len({len(row) for row in points}) > 1:
        raise InvalidInput("contexts.points must have rows of one length")
    return np.array(points, dtype=np.float64)


def _demand(table: DemandTable) -> Demand:
    given = {} if table.bound is None else {"bound": table.bound}
    if table.family != "gaussian" and table.noise is not None:
        raise InvalidInput(f"demand.noise is for family 'gaussian' alone, got {table.noise!r} for {table.family!r}")
    if table.family == "logistic":
        return Logistic(slope=4.0 if table.slope is None else table.slope, **given)
    if table.family == "poisson":
        return Poisson(slope=1.0 if table.slope is None else table.slope, **given)
    noise = table.noise
    if table.slope is not None:
        if not table.slope > 0:
            raise InvalidInput(f"demand.slope must be a positive number, got {table.slope!r}")
        implied = table.slope**-0.5  # zeta = 1 / noise^2
        if noise is not None and abs(noise - implied) > 1e-9:
            raise InvalidInput(f"demand.noise {noise!r} and demand.slope {table.slope!r} disagree: slope is 1/noise^2")
        noise = implied
    return Gaussian(noise=1.0 if noise is None else noise, **given)
