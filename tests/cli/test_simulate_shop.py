"""simulate with a product and a world: what is printed is what the library finds, and no more than was found."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars
import pytest

import hushprice
from hushprice import Product
from hushprice.cli import show_shop
from hushprice.errors import InvalidInput
from hushprice.privacy.budget import EpsilonDelta
from hushprice.shops.result import ShopResult
from hushprice.shops.worlds import Logit
from hushprice.types import FloatArray

PRODUCT = """
[product]
floor = 20.0
ceiling = 30.0
reference_price = 25.0
conversion = 0.3
contexts = 1
"""
WORLD = """
[world]
kind = "logit"
elasticity = 4.0
attributes = [0.3]
"""
LINE = "simulate --product product.toml --world world.toml --horizon 1500 --trials 2 --seed 5"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "product.toml").write_text(PRODUCT)
    (tmp_path / "world.toml").write_text(WORLD)
    (tmp_path / "both.toml").write_text(PRODUCT + WORLD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@functools.cache
def library(policy: str, noise: bool = True) -> ShopResult:
    product = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.3, contexts=1)
    world = Logit(conversion=0.3, reference_price=25.0, elasticity=4.0, attributes=(0.3,))
    return hushprice.simulate(policy, product=product, world=world, horizon=1500, trials=2, seed=5, noise=noise)


@pytest.mark.parametrize("policy", ["cautious", "thompson", "one-price", "staying"])
def test_json_is_what_the_library_says(folder: Path, call: Callable, policy: str) -> None:
    code, out, err = call(f"{LINE} --policy {policy} --format json")
    assert (code, err) == (0, "")
    report, expected = json.loads(out), library(policy).to_dict()
    for timing in ("seconds", "periods_per_second"):
        assert report.pop(timing) > 0
        expected.pop(timing)
    assert report == expected
    assert [at["customers"] for at in report["checkpoints"]] == [150 * each for each in range(1, 11)]
    claimed = {"cautious": {"epsilon": 1.0, "delta": pytest.approx(2.0 / 1500**2)}, "thompson": None}
    claimed |= {"one-price": {"epsilon": 1.0, "delta": 0.0}, "staying": {"epsilon": 0.0, "delta": 0.0}}
    assert report["claimed"] == claimed[policy]


def test_the_default_is_cautious_and_one_file_may_hold_both(folder: Path, call: Callable) -> None:
    code, table, err = call("simulate --product both.toml --horizon 1500 --trials 2 --seed 5")
    assert (code, err) == (0, "")
    result = library("cautious")
    shares = result.earnings / result.staying
    at = [int(np.flatnonzero(result.checkpoints == 150 * each)[0]) for each in range(1, 11)]
    rows = [
        f"{150 * each:,} {result.earnings[:, i].mean():,.2f} {shares[:, i].mean():.4f} {shares[:, i].min():.4f}"
        for each, i in enumerate(at, start=1)
    ]
    printed = [" ".join(line.split()) for line in table.splitlines()]
    assert [line for line in printed if re.fullmatch(r"[\d,]+( [\d,]+\.\d+){3}", line)] == rows
    assert f"Worst moment after 1,000 customers: {result.worst():.4f} of staying" in table
    assert "Privacy claimed: epsilon 1, delta 8.9e-07." in table


def test_noise_and_budget_can_be_asked_for(folder: Path, call: Callable) -> None:
    _, out, _ = call(f"{LINE} --policy one-price --no-noise --format json")
    report = json.loads(out)
    assert report["claimed"] is None
    assert report["gain"]["mean"] == library("one-price", noise=False).gain
    _, out, _ = call(f"{LINE} --policy one-price --epsilon 0.1 --format json")
    assert json.loads(out)["claimed"] == {"epsilon": 0.1, "delta": 0.0}
    assert "NOT PRIVATE" in call(f"{LINE} --policy thompson")[1]


def test_a_trust_model_is_simulated_and_what_the_shop_sees_is_said(folder: Path, call: Callable) -> None:
    line = LINE.replace("--horizon 1500 --trials 2", "--horizon 300 --trials 1")
    code, out, err = call(f"{line} --trust local --format json")
    assert code == 0
    assert err.startswith("hushprice: risk may be passed")  # this product has attributes
    assert call(f"{line} --trust aggregated --format json")[2] == ""
    product = hushprice.load_product("product.toml")
    world = hushprice.load_world("world.toml", product)
    expected = hushprice.simulate(product=product, world=world, horizon=300, trials=1, seed=5, trust="local")
    assert (json.loads(out)["trust"], json.loads(out)["gain"]["mean"]) == ("local", expected.gain)
    assert "one turned bit of each customer" in call(f"{line} --trust local")[1]
    for wrong, message in (
        ("--trust nobody", "trust must be one of central, local, shuffle, aggregated, got 'nobody'"),
        ("--trust local --policy thompson", "trust is for policy 'cautious', got 'local' for policy 'thompson'"),
    ):
        assert message in call(f"{line} {wrong}")[2]
    rival = call(f"{line} --policy ldp-mab")[1]  # whose devices send bits
    assert "Privacy claimed: epsilon 1, delta 0." in rival
    assert "The shop sees" not in rival
    market = "simulate --horizon 100 --trials 1 --trust local"
    assert "trust is for policy 'cautious', got 'local' for policy 'noisy-newton'" in call(market)[2]
    with pytest.raises(InvalidInput, match="keeps records away"):
        hushprice.open_pricer(product=product, horizon=100, trust="local")


def test_trust_models_are_compared_in_a_shop(folder: Path, call: Callable) -> None:
    line = "compare --product both.toml --horizon 300 --trials 1 --seed 5"
    ways = "--trust central --trust local --policy cautious --policy staying"
    code, out, err = call(f"{line} {ways} --format json")
    assert code == 0
    assert err.count("risk may be passed") == 1
    found = json.loads(out)
    assert [(each["policy"], each["trust"]) for each in found] == [
        ("cautious", "central"),
        ("cautious", "local"),
        ("staying", "central"),
    ]
    alone = call(f"{line.replace('compare', 'simulate')} --trust local --format json")[1]
    assert json.loads(alone)["gain"] == found[1]["gain"]
    out = call(f"{line} --trust local")[1]
    for part in ("of staying", "local", "epsilon 1, delta 2.2e-05"):
        assert part in out
    for wrong, message in (
        ("compare --trust local", "trust is for policy 'cautious', which prices a product; --product is missing"),
        ("compare --world both.toml", "world is for a product; --product is missing"),
        (f"{line} --trust local --policy thompson", "trust is for policy 'cautious', got ['local'] without it"),
        (f"{line} --dimension 3", "dimension is for markets, not for a product in a world, got 3"),
    ):
        assert message in call(wrong)[2]


@pytest.mark.parametrize("name", ["runs.parquet", "runs.csv"])
def test_the_output_has_a_row_a_trial_and_checkpoint(folder: Path, call: Callable, name: str) -> None:
    code, out, _ = call(f"{LINE} --policy one-price --output {name}")
    assert code == 0
    assert f"wrote {name}" in out
    frame = polars.read_parquet(name) if name.endswith("parquet") else polars.read_csv(name)
    result = library("one-price")
    assert frame["earnings"].to_numpy().reshape(2, -1) == pytest.approx(result.earnings)
    assert frame["staying"].to_numpy().reshape(2, -1) == pytest.approx(result.staying)
    assert frame["customers"].to_list() == result.checkpoints.tolist() * 2
    assert frame["trial"].to_list() == [trial for trial in range(2) for _ in result.checkpoints]


def test_a_fitted_demand_is_said_to_be_without_privacy(folder: Path, call: Callable) -> None:
    rng = np.random.default_rng(1)
    prices, x = rng.uniform(20, 30, 500), rng.uniform(-1, 1, 500)
    bought = rng.random(500) < 1.0 / (1.0 + np.exp((prices - 25.0) / 2.0))
    lines = [f"{a},{p},{int(b)}" for a, p, b in zip(x, prices, bought, strict=True)]
    (folder / "past.csv").write_text("\n".join(["x,paid,sold", *lines]))
    (folder / "world.toml").write_text('customers = "past.csv"\n[fit]\nprice = "paid"\noutcome = "sold"\n')
    code, _, err = call(f"{LINE} --policy staying")
    assert code == 0
    assert err.startswith("hushprice: demand was fitted to 500 customers without privacy, for simulation only: elastic")
    assert len(err.splitlines()) == 1


def test_a_world_in_which_nobody_buys_is_refused_and_nothing_is_written(folder: Path, call: Callable) -> None:
    (folder / "world.toml").write_text('[world]\nkind = "probit"\nsteepness = 1.0\nreference_price = 0.1\n')
    code, out, err = call(f"{LINE} --policy staying --output runs.csv")
    assert (code, out) == (2, "")
    assert "staying earned nothing" in err
    assert not (folder / "runs.csv").exists()


def result_of(shares: FloatArray, policy: str = "cautious") -> ShopResult:
    return ShopResult(
        policy=policy,
        horizon=2000,
        seed=0,
        checkpoints=np.array([500, 1000, 2000]),
        earnings=shares * 100.0,
        staying=np.full(shares.shape, 100.0),
        prices=None,
        claimed=EpsilonDelta(1.0, 1e-9),
    )


@pytest.mark.parametrize(
    ("shares", "sentence"),
    [
        (
            [[0.90, 0.99, 1.049], [0.90, 0.99, 1.051]],
            "earned 5.00 % more than staying (+- 0.10 %); no run was ever more than the risk of 2 % behind.",
        ),
        (
            [[1.0, 0.97, 0.95], [1.0, 1.0, 0.951]],
            "earned 4.95 % less than staying (+- 0.05 %); 2 of 2 runs were at some moment more than the risk of 2 %",
        ),
        (
            [[1.0, 0.99, 0.99], [1.0, 1.0, 1.03]],
            "earned about what staying at today's price earns: +1.00 % (+- 2.00 %); no run was ever more than",
        ),
        ([[1.0, 1.0, 1.02]], "earned 2.00 % more than staying (one run); no run"),
    ],
)
def test_the_last_sentence_says_no_more_than_was_found(
    folder: Path, capsys: pytest.CaptureFixture[str], shares: list[list[float]], sentence: str
) -> None:
    show_shop.table(result_of(np.array(shares)), hushprice.load_product("product.toml"), None)
    assert f"Over 2,000 customers cautious {sentence}" in capsys.readouterr().out
