"""hushprice evaluate and check: tables and JSON, exact and charged, and one line for what cannot be asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import polars
import pytest
from tests.logs.drawn_logs import FEW, PRODUCT, TRUE, currency, drawn


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder with a log, a product and a fit."""
    rows = drawn(2500, np.random.default_rng(41))
    polars.DataFrame(
        {
            "price": currency(rows.prices),
            "bought": rows.demands > 0.0,
            "x1": rows.contexts[:, 0],
            "x2": rows.contexts[:, 1],
            "propensity": rows.propensities,
        }
    ).write_csv(tmp_path / "visits.csv")
    (tmp_path / "product.toml").write_text(
        "[product]\nfloor = 15.0\nceiling = 35.0\nreference_price = 25.0\n"
        "conversion = 0.2\ncontexts = 2\nunit_cost = 5.0\n"
    )
    prior = {
        "theta": TRUE.tolist(),
        "covariance": (0.01 * np.eye(6)).tolist(),
        "level": PRODUCT.level,
        "response": PRODUCT.response,
        "reference_price": 25.0,
        "reach": 10.0,
        "claimed": {"epsilon": 1.0, "delta": 1e-6},
    }
    (tmp_path / "fit.json").write_bytes(msgspec.json.encode({"prior": prior}))
    return tmp_path


def test_values_are_exact_for_the_operator_and_say_so(call: Callable, shop: Path) -> None:
    asked = f"evaluate {shop}/visits.csv --product {shop}/product.toml --policy {shop}/fit.json"
    code, out, err = call(asked)
    assert (code, err) == (0, "")
    assert out.startswith("EXACT, for the operator alone")
    for words in ("kept by the log (probability)", "self-normalized", "doubly robust", "replay", "The log can answer"):
        assert words in out
    answer = json.loads(call(f"{asked} --format json")[1])
    assert answer["answerable"] is True
    assert answer["overlap"]["rows"] == 2500
    assert answer["doubly_robust"]["low"] < answer["doubly_robust"]["value"] < answer["doubly_robust"]["high"]
    code, out, _ = call(
        f"evaluate {shop}/visits.csv --product {shop}/product.toml --propensity estimate --policy today"
    )
    assert code == 0
    assert "estimated: multinomial logistic regression of 5 prices" in out


def test_values_are_released_with_noise_and_a_cost(call: Callable, shop: Path) -> None:
    prices = ",".join(f"{each:g}" for each in currency(np.array(FEW)))
    asked = f"evaluate {shop}/visits.csv --product {shop}/product.toml --policy {shop}/product.toml --prices {prices}"
    code, out, err = call(f"{asked} --epsilon 2")
    assert (code, err) == (0, "")
    assert out.startswith("RELEASE")
    assert "Cost: epsilon 2 at delta 1e-06, replace-one" in out
    answer = json.loads(call(f"{asked} --epsilon 2 --randomized --format json")[1])
    assert answer["ledger"]["proven"]["epsilon"] <= 2.0
    assert [each["event"] for each in answer["ledger"]["spent"]] == ["LogSums", "LogSums"]


def test_where_the_log_cannot_answer_it_says_so_and_no_number_of_the_policy(call: Callable, shop: Path) -> None:
    """At 15 nobody was charged; at epsilon 0.001 noise hides who was."""
    asked = f"evaluate {shop}/visits.csv --product {shop}/product.toml --policy 15"
    code, out, err = call(asked)
    assert (code, err) == (0, "")
    said, rest = out.split("Earned a visit")
    assert "This log cannot answer" in said
    assert "the log's own prices" in rest
    assert "robust" not in out
    assert json.loads(call(f"{asked} --format json")[1])["answerable"] is False
    prices = ",".join(f"{each:g}" for each in currency(np.array(FEW)))
    hidden = f"evaluate {shop}/visits.csv --product {shop}/product.toml --prices {prices} --epsilon 0.001"
    out = call(hidden)[1]
    assert "This log cannot answer at this epsilon" in out
    assert "Cost: epsilon 0.001" in out
    assert "interval" not in out
    assert json.loads(call(f"{hidden} --format json")[1])["answerable"] is False


def test_a_fit_is_checked(call: Callable, shop: Path) -> None:
    asked = f"check {shop}/visits.csv {shop}/fit.json --product {shop}/product.toml"
    code, out, err = call(asked)
    assert (code, err) == (0, "")
    assert out.startswith("EXACT")
    assert "x1 up to 0" in out
    assert "A richer model: 6 terms" in out
    assert out.splitlines()[-1].startswith("The model fits")
    answer = json.loads(call(f"{asked} --epsilon 1 --format json")[1])
    assert answer["richer"] is None
    assert answer["ledger"]["claimed"] == {"epsilon": 1.0, "delta": 1e-6}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("evaluate {0}/none.csv --product {0}/product.toml", "none.csv"),
        ("evaluate {0}/visits.csv --product {0}/product.toml --policy dear", "policy must be a fit.json"),
        ("evaluate {0}/visits.csv --product {0}/product.toml --policy 99", "price must lie in"),
        ("evaluate {0}/visits.csv --product {0}/product.toml --prices 1,2", "prices is for a release"),
        ("evaluate {0}/visits.csv --product {0}/product.toml --randomized", "randomized is for a release"),
        ("evaluate {0}/visits.csv --product {0}/product.toml --epsilon 1 --propensity estimate", "propensity must not"),
        ("evaluate {0}/visits.csv --product {0}/product.toml --propensity odds", "propensity must be one of"),
        ("check {0}/visits.csv --product {0}/product.toml", "FIT is missing"),
        ("check {0}/visits.csv {0}/fit.json", "--product is missing"),
        ("check {0}/visits.csv {0}/fit.json --product {0}/product.toml --store {0}/shop.db", "either a store or a log"),
        ("check --product {0}/product.toml", "LOG is missing"),
    ],
)
def test_what_cannot_be_asked_is_one_line(call: Callable, shop: Path, asked: str, said: str) -> None:
    code, out, err = call(asked.format(shop))
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1
