"""Markets from TOML files. Unknown keys are refused: a misspelt key must not silently fall back to a default."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from hushprice import checks, extras, toml_file
from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.features import by_name
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput, first_line
from hushprice.simulation.market import Market
from hushprice.types import AnyArray, FloatArray


class DemandTable(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """[demand]"""

    family: str
    theta: list[float]
    slope: float | None = None
    bound: float | None = None
    noise: float | None = None


class FeaturesTable(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """[features]"""

    map: str = "main"


class ContextsTable(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """[contexts]"""

    dimension: int
    kind: str = "uniform"
    path: str | None = None
    weights: list[float] | None = None
    points: list[list[float]] | None = None
    correlation: float | None = None


class MarketTable(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A whole file."""

    demand: DemandTable
    contexts: ContextsTable
    features: FeaturesTable = msgspec.field(default_factory=FeaturesTable)


_OWNERS = {"path": "file", "weights": "segments", "points": "segments", "correlation": "gaussian"}  # key to its kind


def load_market(path: str | Path) -> Market:
    """The market a TOML file describes (docs/reference/market_file.md); a path inside it is relative to the file."""
    path = Path(path)
    with toml_file.named("market file", path):
        return _market(_decode(path), path)


def read_rows(path: Path) -> FloatArray:
    """Contexts from a .npy, .parquet or comma-separated file (a header line is allowed)."""
    try:
        if path.suffix == ".npy":
            rows = np.asarray(np.load(path, allow_pickle=False))
        else:
            rows = _read_parquet(path) if path.suffix == ".parquet" else _read_text(path)
        return rows.astype(np.float64, casting="same_kind")
    except (OSError, EOFError, TypeError, ValueError) as problem:
        why = getattr(problem, "strerror", None) or first_line(problem)  # the first is without the path
        raise InvalidInput(f"contexts.path {str(path)!r} cannot be read: {why}") from None


def _read_parquet(path: Path) -> AnyArray:
    extras.require("polars")
    import polars

    try:
        return polars.read_parquet(path.read_bytes()).to_numpy()
    except polars.exceptions.PolarsError as problem:
        raise ValueError(problem) from None


def _read_text(path: Path) -> FloatArray:
    lines = [line for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    if lines and not any(_is_number(cell) for cell in lines[0].split(",")):  # one number, and it is a row with a typo
        del lines[0]
    if not lines:
        raise ValueError("it has no rows")
    return np.loadtxt(lines, delimiter=",", comments=None, ndmin=2)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _decode(path: Path) -> MarketTable:
    raw = toml_file.read(path)
    if "product" in raw:
        raise InvalidInput(
            "it holds a [product]: load_product and load_world read it, and `hushprice simulate` runs it"
        )
    try:
        return msgspec.convert(raw, MarketTable)
    except msgspec.ValidationError as problem:
        what, _, place = str(problem).partition(" - at `$.")
        steps = re.findall(r"\w+", place)
        value: Any = raw
        for step in steps:
            value = value[int(step) if isinstance(value, list) else step]
        got = f" {checks.shown(value)}" if what.startswith("Expected") else ""
        where = f"{place.rstrip('`')}: " if place else ""
        raise InvalidInput(f"{where}{what}{got}") from None


def _market(table: MarketTable, path: Path) -> Market:
    contexts = table.contexts
    checks.whole(0, **{"contexts.dimension": contexts.dimension})
    for key, kind in _OWNERS.items():
        if getattr(contexts, key) is not None and contexts.kind != kind:
            raise InvalidInput(f"contexts.{key} is for contexts.kind {kind!r} alone, got kind {contexts.kind!r}")
    weights = contexts.weights
    if weights is None:
        count = len(contexts.points or ()) or 4
        weights = [1.0 / count] * count
    return Market(
        demand=_demand(table.demand),
        features=by_name(table.features.map, contexts.dimension),
        theta=np.array(table.demand.theta),
        contexts=contexts.kind,
        correlation=contexts.correlation or 0.0,
        weights=tuple(weights),
        points=contexts.points,
        rows=None if contexts.path is None else read_rows(path.parent / contexts.path),
        name=path.stem,
    )


def _demand(table: DemandTable) -> Demand:
    given = {key: value for key in ("slope", "bound", "noise") if (value := getattr(table, key)) is not None}
    if table.family == "gaussian":
        return _gaussian(given)
    if "noise" in given:
        raise InvalidInput(f"demand.noise is for family 'gaussian' alone, got {table.noise!r} for {table.family!r}")
    if table.family == "logistic":
        return Logistic(**given)
    if table.family == "poisson":
        return Poisson(**given)
    raise InvalidInput(f"demand.family must be one of logistic, gaussian, poisson, got {table.family!r}")


def _gaussian(given: dict[str, float]) -> Demand:
    """Gaussian demand from its slope zeta = 1 / noise^2, its noise, or both where they agree."""
    slope = given.pop("slope", None)
    if slope is not None:
        checks.within(1e-12, 1e12, slope=slope)
        noise = slope**-0.5
        if not abs(given.setdefault("noise", noise) - noise) <= 1e-9 * noise:
            raise InvalidInput(
                f"demand.noise {given['noise']!r} must be 1/sqrt(slope), {noise!r}, where both are given"
            )
    return Gaussian(**given)
