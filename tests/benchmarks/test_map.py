"""The map of where private personal prices beat one price: its points, its picture, and that it can be gone on with."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from hushprice.sweeps.store import Store

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "map.py"


@pytest.fixture(scope="module")
def page() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmarks_map", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_a_point_is_a_mean_over_markets(page: ModuleType) -> None:
    regret, single = np.array([[1.0, 3.0], [5.0, 7.0]]), np.array([4.0, 4.0])
    found = page.point(10, 0.5, 2, regret, single)
    assert (found.regret, found.one_price, found.ratio, found.beats, found.trials) == (4.0, 4.0, 1.0, 0.5, 4)
    assert found.error == pytest.approx(np.sqrt(2.0 / 4))  # within markets; which markets there are is public


def test_markets_without_anything_to_gain_can_be_left_out(page: ModuleType) -> None:
    markets, gains = page.markets_with(2, 2, 1e-4)
    assert len(markets) == 2
    assert gains.min() >= 1e-4
    assert page.markets_with(2, 2, 0.0)[1].min() < 1e-4  # the prior's first ones
    with pytest.raises(SystemExit, match="to gain"):
        page.markets_with(2, 1, 1.0)


def test_a_second_run_reads_what_the_first_one_left(
    page: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ["--horizon", "300", "--epsilon", "1", "--epsilon", "5", "--dimension", "2", "--dimension", "3"]
    command = ["map.py", "--output", str(tmp_path), "--markets", "2", "--trials", "2", *small]
    monkeypatch.setattr(sys, "argv", command)
    page.main()
    first = json.loads((tmp_path / "map.json").read_text())
    assert {(each["dimension"], each["epsilon"]) for each in first["points"]} == {(2, 1), (2, 5), (3, 1), (3, 5)}
    assert (tmp_path / "map.png").stat().st_size > 10_000
    kept = sorted((tmp_path / "store").rglob("*"))
    page.main()
    assert json.loads((tmp_path / "map.json").read_text())["points"] == first["points"]
    assert sorted((tmp_path / "store").rglob("*")) == kept
    assert Store(tmp_path / "store")
    assert "4 points" in capsys.readouterr().out
