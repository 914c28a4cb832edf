"""What the verbs print and write."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pytest

from hushprice.simulation.run import simulate

SCRIPT = Path(sys.executable).with_name("hushprice")
MEAN = {"mean", "standard_error"}
POLICY = """
class Half:
    def __init__(self, setting):
        self.horizon = setting.horizon
    def price(self, context):
        return 0.5
    def learn(self, context, price, demand):
        pass
"""


def assert_interface(report: dict[str, Any]) -> None:
    """The keys other programs rely on: no fewer, no more."""
    assert set(report) == {
        "policy", "calibration", "horizon", "dimension", "trials", "seed", "average_regret", "average_revenue",
        "average_surplus", "privacy", "estimates", "seconds", "periods_per_second",
    }  # fmt: skip
    for name in ("average_regret", "average_revenue", "average_surplus"):
        assert set(report[name]) == MEAN
    assert set(report["privacy"]) == {"adjacency", "claimed", "proven"}
    for pair in (report["privacy"]["claimed"], report["privacy"]["proven"]):
        assert pair is None or set(pair) == {"epsilon", "delta"}
    assert set(report["estimates"]) == {"mean"}


def test_json_is_all_there_is_on_stdout_and_says_what_the_library_says(
    call: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = "simulate --policy paper --horizon 1e4 --dimension 3 --epsilon 2 --delta 2/T^2 --trials 3 --seed 7"
    code, out, err = call(command + " --format json --output runs.parquet")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert_interface(report)
    same = simulate("paper", horizon=10_000, dimension=3, epsilon=2.0, delta="2/T^2", trials=3, seed=7)
    expected = same.to_dict()
    for timing in ("seconds", "periods_per_second"):
        assert report.pop(timing) > 0
        expected.pop(timing)
    assert report == expected
    assert report["privacy"]["claimed"] == {"epsilon": 2.0, "delta": pytest.approx(2e-8)}
    assert report["privacy"]["adjacency"] == "replace-one"
    frame = polars.read_parquet(tmp_path / "runs.parquet")
    assert frame["average_regret"].to_list() == same.regret.tolist()
    assert [each.name for each in tmp_path.iterdir()] == ["runs.parquet"]


@pytest.mark.parametrize("policy", ["paper", "random", "fixed", "nonprivate", "clairvoyant", "input-perturbation"])
def test_every_policy_reports_its_privacy_in_json_and_in_the_table(policy: str, call: Callable) -> None:
    command = f"simulate --policy {policy} --horizon 200 --trials 2 --epsilon 3 --delta 1e-3"
    code, out, _ = call(f"{command} --format json")
    report = json.loads(out)
    assert code == 0
    assert_interface(report)
    code, table, err = call(command)
    assert (code, err) == (0, "")
    claimed = report["privacy"]["claimed"]
    if policy == "paper":
        assert claimed == {"epsilon": 3.0, "delta": pytest.approx(1e-3)}
        assert report["privacy"]["proven"] == {"epsilon": pytest.approx(3.0, rel=1e-6), "delta": claimed["delta"]}
        assert report["privacy"]["proven"]["epsilon"] <= 3.0
        assert "eps 3, delta 0.001" in table
    elif policy in ("random", "fixed"):
        assert claimed == report["privacy"]["proven"] == {"epsilon": 0.0, "delta": 0.0}
        assert ("none: a yardstick" if policy == "fixed" else "eps 0, delta 0") in table
    else:
        assert claimed is None
        assert report["privacy"]["proven"] is None
    assert ("NOT PRIVATE" in table) == (policy in ("nonprivate", "clairvoyant", "input-perturbation"))


def test_the_table_is_readable_without_a_terminal(call: Callable) -> None:
    code, out, err = call("simulate --policy fixed --price 0.5 --horizon 200 --trials 1")
    assert (code, err) == (0, "")
    assert "paper, d = 2: 200 customers, 1 trials, seed 0" in out
    assert max(len(line) for line in out.splitlines()) <= 120
    assert "\x1b" not in out
    assert "lower is better" in out
    assert "…" not in out  # no column is cut short


def test_a_family_without_a_utility_model_shows_no_surplus(call: Callable, tmp_path: Path) -> None:
    market = tmp_path / "counts [old].toml"  # brackets would be markup to the table's printer
    market.write_text('[demand]\nfamily = "poisson"\ntheta = [0.1, 0.9]\n[contexts]\ndimension = 1\n')
    settings = ("--horizon", "50", "--trials", "2", "--market", str(market))
    report = json.loads(call("simulate", "--policy", "random", "--format", "json", *settings).out)
    assert_interface(report)
    assert report["average_surplus"] == {"mean": None, "standard_error": None}
    assert "counts [old]: 50 customers" in call("simulate", "--policy", "random", *settings).out


def test_compare_writes_its_files_and_always_shows_the_best_fixed_price(
    call: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = call("compare --policy random --policy paper@printed --horizon 500 --trials 2 --output demo")
    assert (code, err) == (0, "")
    for label in ("random", "paper (printed)", "fixed (best in hindsight)", "wrote demo/comparison.png"):
        assert label in out
    assert {each.name for each in (tmp_path / "demo").iterdir()} == {
        "comparison.png",
        "comparison.svg",
        "trials.parquet",
    }
    frame = polars.read_parquet(tmp_path / "demo" / "trials.parquet")
    assert frame["policy"].to_list() == ["random"] * 2 + ["paper"] * 2 + ["fixed"] * 2


def test_compare_shows_its_default_policies_as_json(call: Callable) -> None:
    code, out, err = call("compare --horizon 200 --trials 2 --format json")
    reports = json.loads(out)
    assert (code, err) == (0, "")
    for report in reports:
        assert_interface(report)
    assert {each["policy"] for each in reports} == {
        "noisy-newton",
        "paper",
        "nonprivate",
        "input-perturbation",
        "random",
        "fixed",
    }
    assert {each["calibration"] for each in reports} == {"tight", "published", "printed", None}
    for report in reports:
        claimed, proven = report["privacy"]["claimed"], report["privacy"]["proven"]
        assert (claimed is None) == (proven is None) == (report["policy"] in ("nonprivate", "input-perturbation"))
        if claimed is not None:
            assert proven["epsilon"] <= claimed["epsilon"]
            assert proven["delta"] == claimed["delta"]


def test_a_policy_of_your_own_is_found_in_the_current_folder(script: Callable, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(POLICY)
    code, out, err = script("simulate --policy shop:Half --horizon 50 --trials 2 --format json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert_interface(report)
    assert report["policy"] == "Half"
    same = simulate("fixed", price=0.5, horizon=50, trials=2)
    assert report["average_regret"]["mean"] == pytest.approx(same.average_regret.mean, rel=1e-12)


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_ends_with_one_line_and_no_file(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()  # progress is for a person at a terminal
    command = [SCRIPT, "simulate", "--policy", "random", "--horizon", "1e9", "--output", "runs.parquet"]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    shown = rest = b""
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs, env=environment) as running:
        try:
            os.close(theirs)
            while b"simulating" not in shown:
                shown = shown[-100:] + os.read(ours, 1000)
            running.send_signal(signal.SIGINT)
            assert running.wait(timeout=240) == 1
            assert running.stdout is not None
            assert running.stdout.read() == b""
        finally:
            running.kill()
    with contextlib.suppress(OSError):  # how a terminal whose program has gone says that all was read
        while True:
            rest += os.read(ours, 1000)
    os.close(ours)
    assert b"hushprice: interrupted; nothing was written" in rest
    assert b"Traceback" not in rest
    assert list(tmp_path.iterdir()) == []
