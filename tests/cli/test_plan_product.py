"""plan with a product: what is printed is what the library plans, in a shop's words."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars
import pytest

import hushprice

PRODUCT = """
[product]
floor = 20.0
ceiling = 30.0
reference_price = 25.0
conversion = 0.3
elasticity = [2.0, 5.0]
contexts = 1
"""
LINE = "plan --product product.toml --visitors-per-day 80 --days 2 --epsilon 2 --seed 5"


def complaints(err: str) -> list[str]:
    """All but how long it takes, which a slow machine is told."""
    return [line for line in err.splitlines() if not re.fullmatch(r"hushprice: this takes about \d+ s", line)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "product.toml").write_text(PRODUCT)
    (tmp_path / "world.toml").write_text('[world]\nkind = "logit"\nelasticity = 4.0\nattributes = [0.3]\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_json_is_what_the_library_plans(folder: Path, call: Callable) -> None:
    code, out, err = call(f"{LINE} --trials 1 --show-difference 0.1 --holdout 0.2 --format json")
    assert (code, complaints(err)) == (0, [])
    report = json.loads(out)
    product = hushprice.load_product("product.toml")
    expected = hushprice.plan_shop(
        product=product, visitors_per_day=80, days=2, epsilons=(2.0,), trials=1, seed=5, show_difference=0.1,
        holdout=0.2,
    ).to_dict()  # fmt: skip
    assert report.pop("seconds") > 0
    expected.pop("seconds")
    assert report == expected
    assert [each["epsilon"] for each in report["epsilons"]] == [1.0, 2.0, None]
    assert report["holdout"]["visitors"] == 11447  # 7.849 x 0.7 / (0.3 x 0.1^2 x 0.2 x 0.8)


def test_the_table_has_every_answer_and_files_are_written(folder: Path, call: Callable) -> None:
    code, out, err = call(f"{LINE} --trials 1 --world world.toml --picture plan.svg --output plan.csv --delta 1e-6")
    assert (code, complaints(err)) == (0, [])
    for part in (
        "Today's price 25, allowed 20 to 30, 30 % buy; 80 visitors a day, epsilon 1, delta 1e-06",
        "Simulated: 1 shop, 2 days, seed 5.",
        "days  visitors",
        "personal prices",
        "one price, cautious",
        "one price, five tried",
        "1 (planned)",
        "noise off",
        "a shop like this has earned",
        "Privacy at epsilon 1 costs",
        "A holdout of 10 % can show a difference of 2 % after",
        "Risk is counted from 1,000 visitors on",
        "All shops have the world that was given",
        "wrote plan.csv",
        "wrote plan.svg",
    ):
        assert part in out
    assert "<svg" in (folder / "plan.svg").read_text()
    assert polars.read_csv("plan.csv").columns == ["pricing", "shop", "day", "earnings", "staying"]


def test_customers_of_the_products_file_come_to_the_shop(folder: Path, call: Callable) -> None:
    (folder / "who.csv").write_text("x\n0.5\n")
    (folder / "product.toml").write_text(f'customers = "who.csv"\n{PRODUCT}')
    code, out, err = call(f"{LINE} --trials 1 --format json")
    assert (code, complaints(err)) == (0, [])
    alone = hushprice.plan_shop(
        product=hushprice.load_product("product.toml"), visitors_per_day=80, days=2, epsilons=(2.0,), trials=1, seed=5,
        customers=lambda start, count, rng: rng.random((count, 1)) * 0.0 + 0.5,
    ).to_dict()  # fmt: skip
    assert json.loads(out)["schedule"] == alone["schedule"]


def test_ctrl_c_ends_it_in_one_line_and_leaves_nothing(folder: Path, interrupts: None) -> None:
    line = "plan --product product.toml --visitors-per-day 900 --days 20 --trials 2000 --output plan.csv"
    command = [sys.executable, "-m", "hushprice", *line.split()]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        told = process.stderr.readline()  # how long it takes: the processes of the other shops are about to begin
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert told.startswith("hushprice: this takes about ")
    assert (process.returncode, out, err) == (1, "", "hushprice: interrupted; nothing was written\n")
    assert sorted(os.listdir(folder)) == ["product.toml", "world.toml"]
