"""Grids: lists of values, or a TOML file of them, multiplied out into cells that are all checked before any runs."""

from __future__ import annotations

import itertools
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.policies.catalog import read_by
from hushprice.research.sweeps.cell import Cell
from hushprice.settings import DEFAULT_POLICY
from hushprice.simulation.market_file import load_market

Count = int | float  # 1e5 is a float to TOML
Number = int | float


class GridTable(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A whole file: every entry a value or a list of values, except `trials`."""

    policy: str | list[str] | None = None
    calibration: str | list[str] | None = None
    horizon: Count | list[Count] | None = None
    dimension: Count | list[Count] | None = None
    market: str | list[str] | None = None
    features: str | list[str] | None = None
    epsilon: Number | list[Number] | None = None
    delta: Number | str | list[Number | str] | None = None
    epsilon_covariance: Number | list[Number] | None = None
    epsilon_estimate: Number | list[Number] | None = None
    adjacency: str | list[str] | None = None
    price: Number | list[Number] | None = None
    exploration_periods: Count | list[Count] | None = None
    ridge: Number | list[Number] | None = None
    width: Number | list[Number] | None = None
    max_estimates: Count | list[Count] | None = None
    reference_price: Number | list[Number] | None = None
    trigger: bool | list[bool] | None = None
    bonus: bool | list[bool] | None = None
    noise: bool | list[bool] | None = None
    seed: Count | list[Count] | None = None
    trials: Count | None = None


AXES = tuple(name for name in GridTable.__struct_fields__ if name != "trials")
_WHOLE = ("horizon", "dimension", "exploration_periods", "max_estimates", "seed", "trials")


def load_grid(path: str | Path) -> dict[str, Any]:
    """The entries of a TOML file, as `grid` takes them, and `trials`; market files are relative to the grid's file."""
    path = Path(path)
    try:
        table = msgspec.convert(tomllib.loads(path.read_bytes().decode()), GridTable)
        entries = {name: value for name in GridTable.__struct_fields__ if (value := getattr(table, name)) is not None}
        if "market" in entries:
            entries["market"] = [str(path.parent / each) for each in _listed(entries["market"])]
        return {name: _whole(name, value) if name in _WHOLE else value for name, value in entries.items()}
    except OSError as problem:
        raise InvalidInput(f"grid file {str(path)!r} cannot be read: {problem.strerror or problem}") from None
    except msgspec.ValidationError as problem:
        raise InvalidInput(f"grid file {str(path)!r}: {str(problem).replace(' - at `$.', ', at `')}") from None
    except (InvalidInput, tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise InvalidInput(f"grid file {str(path)!r}: {problem}") from None


def grid(**axes: Any) -> list[Cell]:
    """Every combination of the values, each checked; combinations that come to the same are one cell.

    An axis is a field of `Cell`, with one value or a list; a market may be a file's name. What one policy alone reads
    (price, calibration, noisy-newton's parts) is left to that policy: `nonprivate` has one cell, not one a calibration.

    >>> [(cell.policy, cell.epsilon) for cell in grid(policy=["paper", "random"], horizon=100, epsilon=[1.0, 2.0])]
    [('paper', 1.0), ('paper', 2.0), ('random', 1.0)]
    """
    unknown = sorted(set(axes) - set(AXES))
    if unknown:
        raise InvalidInput(f"grid has no axis {unknown[0]!r}; its axes are {', '.join(AXES)}")
    lists = {name: _listed(axes[name]) for name in AXES if name in axes}
    for name, values in lists.items():
        if not values:
            raise InvalidInput(f"grid is empty: {name} must have at least one value, got []")
    if "market" in lists:
        files = lists["market"]
        lists["market"] = [load_market(each) if isinstance(each, (str, Path)) else each for each in files]
    cells: dict[str, Cell] = {}
    for combination in itertools.product(*lists.values()):
        setting = dict(zip(lists, combination, strict=True))
        named = lists.get("policy", [DEFAULT_POLICY])
        cell = Cell(**read_by(setting.get("policy", DEFAULT_POLICY), setting, named))
        cells.setdefault(cell.key, cell)
    return list(cells.values())


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _whole(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_whole(name, each) for each in value]
    if isinstance(value, float):
        if not value.is_integer():
            raise InvalidInput(f"{name} must be a whole number, got {checks.shown(value)}")
        return int(value)
    return value
