"""What `attack` and `audit` print, write and exit with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hushprice.research.audits.attack import attack_policies
from hushprice.research.audits.audit import audit_policies
from hushprice.research.audits.moments import audit_moments, rules_of

LEAK = """
from hushprice.privacy.budget import EpsilonDelta
class Leak:
    claimed = EpsilonDelta(1.0, 1e-6)
    def __init__(self, setting):
        self.now = 0.5
    def price(self, context):
        return self.now
    def learn(self, context, price, demand):
        self.now = 0.9 if demand > 0 else 0.1
"""
COMMON = {
    *("policy", "calibration", "watcher", "part", "noise", "story", "horizon", "period", "seed", "runs", "statistic"),
    *("privacy", "confidence"),
}


def test_attack_says_in_json_what_the_library_says(call: Callable) -> None:
    code, out, err = call("attack --policy nonprivate --policy paper --horizon 60 --runs 40 --seed 3 --format json")
    assert (code, err) == (0, "")
    reports = json.loads(out)
    assert reports == [each.to_dict() for each in attack_policies(["nonprivate", "paper"], horizon=60, runs=40, seed=3)]
    for report in reports:
        assert set(report) == COMMON | {"others", "advantage", "allowed", "refuted"}
        assert set(report["advantage"]) == {"estimate", "low", "high"}
        assert set(report["privacy"]) == {"adjacency", "claimed", "proven"}
    assert [each["story"] for each in reports] == ["purchase", "attribute"] * 2 + ["worst pair"] * 2
    assert reports[0]["allowed"] is None
    assert reports[0]["privacy"]["claimed"] is None


def test_audit_says_in_json_what_the_library_says(call: Callable) -> None:
    code, out, err = call("audit --policy paper@printed --story purchase --horizon 60 --runs 40 --format json")
    assert (code, err) == (0, "")
    reports = json.loads(out)
    found = audit_policies(["paper@printed"], stories=["purchase"], horizon=60, runs=40)
    assert reports == [each.to_dict() for each in found]
    assert [each["watcher"] for each in reports] == ["releases", "releases", "prices"]
    for report in reports:
        assert set(report) == COMMON | {
            *("delta", "mu", "epsilon_of_mu", "at_delta_0", "share_of_proven", "epsilon_lower_bound", "refuted"),
        }
        assert set(report["mu"]) == {"estimate", "low", "high", "proven"}
        assert report["privacy"]["claimed"] == {"epsilon": 1.0, "delta": pytest.approx(2 / 3600)}
        assert report["epsilon_lower_bound"] <= 1.0


def test_a_watcher_of_releases_takes_any_adjacency_and_a_watcher_of_prices_one(call: Callable) -> None:
    words = "audit --policy noisy-newton --adjacency zero-out --runs 8 --confidence 0.999999 --format json"
    code, out, _ = call(f"{words} --watcher releases")
    assert code == 0
    assert {each["privacy"]["adjacency"] for each in json.loads(out)} == {"zero-out"}
    code, _, err = call(f"{words} --watcher prices")
    assert code == 2
    assert "adjacency of the two stories is replace-one" in err


def test_the_tables_are_readable_without_a_terminal_and_the_picture_is_written(call: Callable, tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    code, out, err = call(f"attack --horizon 60 --runs 40 --others drawn --output {folder}")
    assert (code, err) == (0, "")
    period = "the customer of period 11 watched, other customers drawn"
    for part in ("60 customers", period, "NOT PRIVATE", "paper (printed)", "noisy-newton", "live releases"):
        assert part in out
    assert sorted(each.name for each in folder.iterdir()) == ["attacks.png", "attacks.svg"]
    words = f"--horizon 60 --runs 40 --confidence 0.999999 --output {folder}"  # live noise has no seed
    code, table, err = call(f"audit --policy nonprivate --policy noisy-newton {words}")
    assert (code, err) == (0, "")
    assert {"audits.png", "audits.svg"} < {each.name for each in folder.iterdir()}
    for part in ("prices, purchase", "mu proven", "nothing claimed", "not refuted", "proves nothing"):
        assert part in table
    for line in (out + table).splitlines():
        assert len(line) <= 120 or line.startswith("wrote ")
        assert "…" not in line


def test_a_refuted_claim_is_exit_code_1_with_the_finding_on_stdout(
    call: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "leaking_shop.py").write_text(LEAK)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    code, out, err = call("audit --policy leaking_shop:Leak --story purchase --horizon 4 --runs 100 --format json")
    assert (code, err) == (1, "")
    (report,) = json.loads(out)
    assert report["refuted"]
    assert report["epsilon_lower_bound"] > 1.0
    code, out, _ = call("audit --policy leaking_shop:Leak --story purchase --horizon 4 --runs 100")
    assert code == 1
    assert "REFUTED" in out
    assert "beat: Leak (purchase)" in call("attack --policy leaking_shop:Leak --horizon 4 --runs 100").out


def test_audit_looks_inside_policy_cautious(call: Callable) -> None:
    code, out, err = call("audit --white-box --policy cautious --seed 2 --adjacency zero-out --format json")
    assert (code, err) == (0, "")
    measured = audit_moments(rules_of(horizon=200, adjacency="zero-out"), seed=2)
    assert json.loads(out) == [{"policy": "cautious"} | each.to_dict() for each in measured]
