"""hushprice privacy: a table for people, JSON for machines, one line for bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

MARKET = """
[demand]
family = "poisson"
theta = [0.2, -0.3, 0.5]
[contexts]
dimension = 2
"""


def rows(out: str) -> dict[str, dict]:
    return {row["symbol"]: row for row in json.loads(out)["rows"]}


def test_the_table_shows_every_quantity_and_its_source(call: Callable) -> None:
    code, out, err = call("privacy --horizon 1000")
    assert (code, err) == (0, "")
    assert "1,000 customers, d = 2, logistic demand, neighbours replace-one: epsilon 1, delta 2e-06" in out
    for shown in ("printed/tight", "sigma = S sqrt(2 ln(1.25/delta1')) / eps1'", "[alg:private-mle, line 2]"):
        assert shown in out
    assert "tight: up to delta, whatever later prices show is at most 2.718 times as likely" in out


def test_json_has_the_same(call: Callable) -> None:
    code, out, err = call("privacy --horizon 1000 --dimension 3 --epsilon 0.5 --delta 1/T --format json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (found["dimension"], found["max_estimates"], found["adjacency"]) == (3, 30, "replace-one")
    assert found["budget"]["covariance"] == {"epsilon": 0.25, "delta": 0.0005}
    assert rows(out)["proven"]["values"]["tight"] <= 0.5


def test_options_reach_the_numbers(call: Callable) -> None:
    shares = "privacy --horizon 500 --epsilon-covariance 0.3 --epsilon-estimate 0.9 --format json"
    found = rows(call(f"{shares} --adjacency zero-out --max-estimates 4 --ridge 1e6").out)
    assert found["eps1"]["values"]["printed"] == 0.3
    assert found["eps2"]["values"]["printed"] == 0.9
    assert found["S_true"]["values"]["tight"] == 1.0
    assert found["D_inf"]["values"]["tight"] == 4
    assert found["rho"]["values"]["printed"] == 1e6


def test_a_market_brings_its_demand(call: Callable, tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(MARKET)
    code, out, _ = call(f"privacy --horizon 500 --market {tmp_path}/shop.toml --format json")
    assert code == 0
    assert (json.loads(out)["demand"], json.loads(out)["dimension"]) == ("poisson", 3)
    code, out, err = call(f"privacy --market {tmp_path}/shop.toml --dimension 2")
    assert (code, out) == (2, "")
    assert "dimension must not be given together with a market, got 2" in err


def test_small_budgets_and_overclaims_are_shown(call: Callable, tmp_path: Path) -> None:
    found = rows(call("privacy --horizon 1000 --epsilon 0.01 --delta 1e-60 --format json").out)
    assert found["proven"]["values"]["tight"] == pytest.approx(0.01)
    (tmp_path / "shop.toml").write_text(MARKET.replace("poisson", "gaussian").replace("theta", "noise = 0.5\ntheta"))
    out = call(f"privacy --horizon 1000 --market {tmp_path}/shop.toml").out
    assert "published: the noise proves less than is claimed here. Such a pricer is refused." in out


BAD = {
    "privacy --adjacency both": ("adjacency", "'both'"),
    "privacy --delta 0": ("delta", "0.0"),
    "privacy --delta 1": ("delta", "1.0"),
    "privacy --delta soon": ("delta", "'soon'"),
    "privacy --epsilon -1": ("epsilon", "-1.0"),
    "privacy --epsilon nan": ("epsilon", "nan"),
    "privacy --epsilon 1e-9": ("epsilon", "5e-10"),
    "privacy --delta 1e-320": ("delta", "e-32"),
    "privacy --horizon 0": ("horizon", "0"),
    "privacy --dimension 0": ("dimension", "0"),
    "privacy --max-estimates 0": ("max_estimates", "0"),
    "privacy --ridge 0": ("ridge", "0.0"),
    "privacy --epsilon 1 --epsilon-estimate 2": ("epsilon_estimate", "2.0"),
    "privacy --market absent.toml": ("market", "'absent.toml'"),
    "privacy --format xml": ("--format", "'xml'"),
}


@pytest.mark.parametrize("command", BAD)
def test_bad_input_is_one_line(call: Callable, command: str) -> None:
    code, out, err = call(command)
    assert (code, out) == (2, "")
    assert err.startswith("hushprice: ")
    assert err.count("\n") == 1
    for part in BAD[command]:
        assert part in err


def test_help_imports_nothing_heavy() -> None:
    program = """
import sys
from hushprice.cli import app
for verb in ("privacy", "certificate", "verify"):
    app([verb, "--help"], standalone_mode=False)
print("heavy:", [name for name in ("numba", "scipy", "matplotlib", "numpy", "cryptography") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.splitlines()[-1] == "heavy: []"
