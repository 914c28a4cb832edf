"""A cell's key: equal for equal content, another for any change that can change a digit."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hushprice.demand.features import Affine
from hushprice.errors import InvalidInput
from hushprice.research.sweeps import cell as module
from hushprice.research.sweeps.cell import Cell, with_features
from hushprice.simulation.market import paper_market
from hushprice.simulation.market_file import load_market

BASE: dict[str, Any] = {"policy": "paper", "horizon": 500, "calibration": "published", "epsilon": 4.0}
CHANGES: list[dict[str, Any]] = [
    {"policy": "nonprivate", "calibration": "tight"},
    {"horizon": 501},
    {"dimension": 3},
    {"features": "intercept"},
    {"calibration": "printed"},
    {"epsilon": 4.5},
    {"epsilon_covariance": 1.0},
    {"delta": 1e-5},
    {"exploration_periods": 7},
    {"ridge": 2.0},
    {"width": 0.5},
    {"max_estimates": 5},
    {"seed": 1},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_every_setting_moves_the_key(change: dict[str, Any]) -> None:
    assert Cell(**BASE).key != Cell(**{**BASE, **change}).key
    assert Cell(**BASE) != Cell(**{**BASE, **change})


@pytest.mark.parametrize("spelling", [{"delta": 2 / 500**2}, {"epsilon": 4}, {"dimension": 2}, {"features": "main"}])
def test_another_spelling_of_the_same_does_not(spelling: dict[str, Any]) -> None:
    assert Cell(**BASE).key == Cell(**{**BASE, **spelling}).key


def test_a_number_counts_by_its_value() -> None:
    given = [{"ridge": 2, "width": 1}, {"ridge": 2.0, "width": np.float64(1)}, {"ridge": np.int64(2), "width": 1.0}]
    cells = [Cell(policy="nonprivate", horizon=np.int64(9), **each) for each in given]  # type: ignore[arg-type]
    assert len(set(cells)) == len({cell.key for cell in cells}) == 1
    assert Cell(policy="fixed", horizon=9, price=1).key == Cell(policy="fixed", horizon=9, price=1.0).key


def test_adjacency_moves_the_key() -> None:
    cells = [Cell(policy="paper", horizon=500, epsilon=4.0, adjacency=name) for name in ("replace-one", "zero-out")]
    assert cells[0].key != cells[1].key


@pytest.mark.parametrize(("policy", "ignored"), [("nonprivate", "epsilon"), ("random", "epsilon"), ("fixed", "delta")])
def test_what_a_policy_does_not_read_does_not_move_its_key(policy: str, ignored: str) -> None:
    assert Cell(policy=policy, horizon=9).key == Cell(policy=policy, horizon=9, **{ignored: 0.125}).key  # type: ignore[arg-type]


def test_a_market_is_its_content_and_not_its_file(shop: Callable[..., Path]) -> None:
    def key(path: Path) -> str:
        return Cell(policy="random", horizon=9, market=load_market(path)).key

    same = [key(shop("one")), key(shop("two"))]
    rows = [key(shop("three", rows=rows)) for rows in ("0.5\n", "x\n0.5\n", "0.25\n")]
    assert same[0] == same[1] != key(shop("one", theta="[0.1, 0.8]"))
    assert rows[0] == rows[1] != rows[2]
    assert rows[0] != same[0]


def test_cells_are_equal_by_content_and_travel(shop: Callable[..., Path]) -> None:
    one, two = (Cell(horizon=9, policy="random", market=load_market(shop())) for _ in range(2))
    assert one == two
    assert len({one, two, pickle.loads(pickle.dumps(one))}) == 1
    assert one != "a cell"


def test_an_edit_of_the_package_moves_every_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Cell(**BASE).key
    monkeypatch.setattr(module, "_package", lambda: ["edited"])
    assert Cell(**BASE).key != before


def test_an_edit_of_ones_own_policy_moves_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "half_price.py"
    text = "class Half:\n    def price(self, x): return 0.5\n    def learn(self, *_): pass\n"
    monkeypatch.syspath_prepend(tmp_path)
    keys = []
    for edited in (text, text.replace("0.5", "0.25")):
        source.write_text(edited)
        module._module.cache_clear()
        keys.append(Cell(policy="half_price:Half", horizon=9).key)
    assert keys[0] != keys[1]


def test_the_same_customers_through_a_richer_map() -> None:
    market = paper_market(3)
    richer = with_features(market, "interactions")
    x, p = np.array([0.25, -0.5]), 0.75
    before, after = market.features.parts(x), richer.features.parts(x)
    scaled = richer.theta @ (after[0] + p * after[1]) * np.sqrt(6 / 3)
    assert scaled == pytest.approx(market.theta @ (before[0] + p * before[1]))
    assert with_features(with_features(market, "intercept"), "interactions").theta.tolist() == richer.theta.tolist()
    assert Cell(policy="random", horizon=9, dimension=3, features="interactions").prepare().market.dimension == 6


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"features": "squares"}, "'squares'"),
        ({"dimension": 99}, "dimension"),
        ({"dimension": 2, "market": paper_market(2)}, "dimension is given by the market"),
        ({"dimension": 2, "market": paper_market(2), "features": "main"}, "dimension is given by the market"),
        ({"market": with_features(paper_market(2), "intercept"), "features": "main"}, "lacks terms"),
        ({"policy": "papier"}, "'papier'"),
        ({"policy": "sys:nothing"}, "'sys:nothing'"),
    ],
)
def test_a_bad_cell_is_refused_when_it_is_prepared(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Cell(**{"horizon": 9, **setting}).prepare()


def test_parts_of_ones_own_have_no_address() -> None:
    own = Affine(1, 2, lambda x: np.array([x[0], 0.0]), lambda x: np.array([0.0, -1.0]), 2.0)
    market = dataclasses.replace(paper_market(2), features=own, name="mine")
    with pytest.raises(InvalidInput, match="'mine' has parts of your own"):
        Cell(policy="random", horizon=9, market=market).prepare()
