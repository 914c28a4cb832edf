"""hushprice fit, certificate --fit and verify, as a shop calls them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars
import pytest
from typer.testing import CliRunner

from hushprice.cli import app
from hushprice.errors import Interrupted, InvalidInput
from hushprice.logs.fit import run_fit

PRODUCT = """
[product]
floor = 20.0
ceiling = 30.0
reference_price = 25.0
conversion = 0.3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    prices = random.uniform(20.0, 30.0, 400)
    bought = random.random(400) < 0.3
    polars.DataFrame({"price": prices, "bought": bought}).write_csv(tmp_path / "visits.csv")
    (tmp_path / "product.toml").write_text(PRODUCT)
    return tmp_path


def called(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False, standalone_mode=False)
    return result.stdout


def test_a_fit_is_written_certified_and_verified(folder: Path) -> None:
    fit, product = str(folder / "fit.json"), str(folder / "product.toml")
    shown = called("fit", str(folder / "visits.csv"), "--product", product, "--epsilon", "1", "--output", fit)
    assert "proven epsilon 1 at delta" in shown
    assert "one row" in shown
    assert "response" in shown
    called("certificate", "--new-key", str(folder / "key"))
    certificate = str(folder / "certificate.json")
    called("certificate", "--fit", fit, "--key", str(folder / "key"), "--output", certificate)
    assert "events recomputed: 6 releases" in called("verify", certificate)


def test_the_result_can_be_printed_for_machines(folder: Path) -> None:
    shown = called(
        "fit",
        str(folder / "visits.csv"),
        "--product",
        str(folder / "product.toml"),
        "--output",
        str(folder / "fit.json"),
        "--format",
        "json",
    )
    assert json.loads(shown)["unit"] == "row"


def test_what_reading_found_is_told_to_the_operator_alone(folder: Path) -> None:
    odd = {"price": ["22", "90", "abc", "24"] * 50, "bought": ["1", "0", "1", "maybe"] * 50}
    polars.DataFrame(odd).write_csv(folder / "odd.csv")
    given = ["--product", str(folder / "product.toml"), "--output", str(folder / "fit.json"), "--skip-bad"]
    result = CliRunner().invoke(app, ["fit", str(folder / "odd.csv"), *given], catch_exceptions=False)
    found = ["200 rows read", "50 clipped for 'price'", "50 skipped for 'price'", "50 skipped for 'bought'"]
    assert result.stderr.splitlines() == [f"exact, for the operator alone: {each}" for each in found]
    assert "operator" not in result.stdout + (folder / "fit.json").read_text()


def test_bad_input_is_refused(folder: Path) -> None:
    given = ["--product", str(folder / "product.toml"), "--output", str(folder / "fit.json")]
    with pytest.raises(InvalidInput, match="must be a file, a folder or an address"):
        called("fit", str(folder / "none.csv"), *given)
    with pytest.raises(InvalidInput, match="epsilon must be a positive number"):
        called("fit", str(folder / "visits.csv"), *given, "--epsilon", "0")
    with pytest.raises(InvalidInput, match="--pricer or --fit"):
        called("certificate", "--fit", "a", "--pricer", "b", "--key", "k", "--output", "o")


@pytest.mark.parametrize(("released", "said"), [(False, "nothing was released"), (True, "is kept in '")])
def test_a_fit_that_is_stopped_says_what_is_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch, released: bool, said: str
) -> None:
    def stopped(*given: object, output: Path, **others: object) -> None:
        if released:
            output.with_name(f"{output.name}.part").write_text("")
        raise KeyboardInterrupt

    monkeypatch.setattr(run_fit, "fit", stopped)
    given = ["--product", str(folder / "product.toml"), "--output", str(folder / "fit.json")]
    with pytest.raises(Interrupted, match=f"^interrupted; .*{said}"):
        called("fit", str(folder / "visits.csv"), *given)
