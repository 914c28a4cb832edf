"""Grids: every combination once, everything wrong refused before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hushprice.errors import InvalidInput
from hushprice.research.sweeps.grid import AXES, GridTable, grid, load_grid

GRID = """
policy = ["paper", "nonprivate", "fixed"]
calibration = ["published", "printed"]
horizon = [1e3, 2000]
dimension = 3
epsilon = [1, 4.0]
delta = ["2/T^2", 1e-5]
price = 0.5
trials = 4
"""


def test_a_file_multiplies_out_and_leaves_to_each_policy_what_it_reads(tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(GRID)
    entries = load_grid(tmp_path / "grid.toml")
    assert entries.pop("trials") == 4
    cells = grid(**entries)
    counts = {name: sum(cell.policy == name for cell in cells) for name in ("paper", "nonprivate", "fixed")}
    assert counts == {"paper": 16, "nonprivate": 2, "fixed": 2}
    assert {cell.price for cell in cells if cell.policy == "fixed"} == {0.5}
    assert {cell.horizon for cell in cells} == {1000, 2000}
    assert {cell.dimension for cell in cells} == {3}


def test_markets_are_found_beside_the_grid(
    tmp_path: Path, shop: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop("one"), shop("two", theta="[0.2, 0.8]"), shop("three")
    (tmp_path / "grid.toml").write_text(
        'policy = "random"\nhorizon = 9\n'
        'market = ["one.toml", "two.toml", "three.toml"]\nfeatures = ["main", "intercept"]\n'
    )
    monkeypatch.chdir("/")
    cells = grid(**load_grid(tmp_path / "grid.toml"))
    names = [cell.prepare().market.name for cell in cells]  # the third market is the first under another name
    assert names == ["one", "one, intercept", "two", "two, intercept"]


def test_every_axis_is_a_setting_of_a_cell() -> None:
    assert set(AXES) == set(GridTable.__struct_fields__) - {"trials"}
    assert [cell.horizon for cell in grid(policy="random", horizon=(5, 6, 5))] == [5, 6]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("polcy = 'paper'", "unknown field `polcy`"),
        ("horizon = 10.5", "horizon must be a whole number, got 10.5"),
        ("horizon = [1e3, nan]", "horizon must be a whole number, got nan"),
        ("horizon = 'many'", "horizon"),
        ("trials = [1, 2]", "trials"),
        ("epsilon = [[1]]", "epsilon"),
        ("horizon = \n", "line 1"),
        ("market = 3", "market"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "grid.toml"
    path.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        load_grid(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"grid file .*none.toml' cannot be read: No such file"):
        load_grid(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"horizon": []}, "grid is empty: horizon"),
        ({"horizon": 9, "policy": []}, "grid is empty: policy"),
        ({"horizon": 9, "colour": "red"}, "no axis 'colour'"),
        ({"horizon": 9, "policy": ["random", "papier"]}, "'papier'"),
        ({"horizon": [9, 0], "policy": "random"}, "horizon"),
        ({"horizon": 9, "policy": "random", "price": 0.5}, "price is for policy 'fixed', got 0.5 for policy 'random'"),
        ({"horizon": 9, "policy": "paper", "calibration": ["tight", "loose"]}, "'loose'"),
        ({"horizon": 9, "policy": "random", "market": "absent.toml"}, "'absent.toml'"),
        ({"horizon": 9, "policy": "random", "features": "squares"}, "'squares'"),
    ],
)
def test_a_bad_grid_is_refused(axes: dict, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        grid(**axes)
