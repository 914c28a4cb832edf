"""schema: a product file on stdout or in a file, its cost on stderr, and bad input in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars
import pytest

from hushprice.product_file import load_product

DECLARED = "--prices 20:25:30 --conversion 0.2 --most 1 --bounds age=18:98 --levels region=south,north"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    frame = {"price": [24.0, 26.0], "bought": [1, 0], "age": [30, 40], "region": ["south", "x"]}
    polars.DataFrame(frame).write_parquet(tmp_path / "visits.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_is_declared_costs_nothing_and_is_a_product_file(folder: Path, call: Callable) -> None:
    code, out, err = call(f"schema visits.parquet {DECLARED} --output product.toml")
    assert (code, out) == (0, "wrote product.toml\n")
    assert err == "hushprice: charged: nothing was asked of any row\n"
    product = load_product("product.toml")
    assert (product.floor, product.reference_price, product.ceiling, product.contexts) == (20.0, 25.0, 30.0, 2)


def test_what_is_asked_is_charged_and_said(folder: Path, call: Callable) -> None:
    code, out, err = call(f"schema visits.parquet {DECLARED.replace('--conversion 0.2', '')} --epsilon 0.2")
    assert code == 0
    expected = "hushprice: charged: epsilon 0.2 at delta 1e-09 for one row replaced by any other (proven 0.1"
    assert err.startswith(expected)
    assert "# conversion =  # charged: noise hides how many are bought: declare --conversion" in out


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("schema nowhere.csv", "log 'nowhere.csv' must be a file, a folder or an address"),
        ("schema visits.parquet --bounds age", "bounds must be NAME=..., got 'age'"),
        ("schema visits.parquet --bounds age=1:x", "bounds must be 2 numbers with colons between, got '1:x'"),
        ("schema visits.parquet --prices 1:2", "prices must be 3 numbers with colons between, got '1:2'"),
        ("schema visits.parquet --customer who", "the log has no column 'who' for its customer"),
        ("schema visits.parquet --epsilon 0", "epsilon must be a positive number, got 0.0"),
    ],
)
def test_bad_input_is_one_line(folder: Path, call: Callable, line: str, expected: str) -> None:
    code, out, err = call(line)
    assert (code, out) == (2, "")
    assert expected in err
    assert len(err.splitlines()) == 1
