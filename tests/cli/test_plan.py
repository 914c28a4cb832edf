"""What `plan` prints and writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from hushprice.research.planner.plan import plan


def test_json_is_what_the_library_says(call: Callable) -> None:
    code, out, err = call("plan --customers 5e3 --features 1 --epsilon 0.7 --seed 2 --format json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert report == plan(customers=5000, features=1, epsilon=0.7, seed=2).to_dict()
    assert report["hopeless"] is False
    assert report["delta"] == 2 / 5000**2
    assert 0.7 in [row["epsilon"] for row in report["epsilons"]]


def test_the_table_has_every_answer_and_the_picture_is_written(call: Callable, tmp_path: Path) -> None:
    code, out, err = call(f"plan --customers 1e5 --features 1 --epsilon 1 --picture {tmp_path / 'plan.svg'}")
    assert (code, err) == (0, "")
    for part in (
        "100,000 customers, 1 feature (d = 2, main), total epsilon 1",
        "uniform in the unit ball",
        "best single price",
        "the same without privacy",
        "customers to beat one price",
        "1 (asked)",
        "Releases: ",
        "Noise: deviation 12.44",
        "beat the best single price after about",
    ):
        assert part in out
    assert [each.name for each in tmp_path.iterdir()] == ["plan.svg"]
    assert "<svg" in (tmp_path / "plan.svg").read_text()


def test_a_hopeless_budget_is_said_so(call: Callable) -> None:
    code, out, err = call("plan --customers 500 --features 1 --epsilon 0.001")
    assert (code, err) == (0, "")
    assert "too small to learn anything from 500 customers" in out
    assert "stays around its reference price" in out


def test_a_budget_beyond_hope_is_said_so_in_one_line(call: Callable) -> None:
    code, out, err = call("plan --customers 500 --features 1 --epsilon 1e-6 --delta 1e-9")
    assert (code, out) == (2, "")
    assert "epsilon 1e-06 at delta 1e-09 is too small to learn anything from a million customers" in err
