"""hushprice theory as people type it."""

from __future__ import annotations

import json
import sys

import pytest

from hushprice.cli import main


def call(monkeypatch, capfd, arguments):
    monkeypatch.setattr(sys, "argv", ["hushprice", *arguments.split()])
    with pytest.raises(SystemExit) as caught:
        main()
    return int(caught.value.code or 0), *capfd.readouterr()


def test_an_unknown_name_is_one_line_and_exit_code_2(monkeypatch, capfd):
    code, out, err = call(monkeypatch, capfd, "theory lemma-7")
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert "got 'lemma-7'" in err
    assert "covariance-error" in err


@pytest.mark.parametrize("bad", ["--seed -1", "--workers 0", "--format xml", "--output /dev/null/x"])
def test_bad_options_are_one_line_and_exit_code_2(monkeypatch, capfd, bad):
    code, out, err = call(monkeypatch, capfd, f"theory input-noise-mean --quick {bad}")
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_the_table_explains_and_the_folder_fills(monkeypatch, capfd, tmp_path):
    code, out, err = call(
        monkeypatch, capfd, f"theory input-noise-mean spread-contexts --quick --output {tmp_path}/made"
    )
    assert (code, err) == (0, "")
    assert "input-noise-mean (subsec:input-perturbation)" in out
    assert "Stated:" in out
    assert "Found:" in out
    assert "kappa_x" in out
    written = sorted(path.name for path in (tmp_path / "made").iterdir())
    assert written == ["findings.json", "input-noise-mean.png"]
    findings = json.loads((tmp_path / "made" / "findings.json").read_text())
    assert [each["name"] for each in findings] == ["spread-contexts", "input-noise-mean"]


def test_json_is_one_value_and_repeats(monkeypatch, capfd):
    first, second = (call(monkeypatch, capfd, "theory input-noise-mean --quick --format json") for _ in range(2))
    assert first == second
    (finding,) = json.loads(first[1])
    assert finding["holds"] is True
    other = call(monkeypatch, capfd, "theory input-noise-mean --quick --format json --seed 1")
    assert json.loads(other[1])[0]["measured"] != finding["measured"]
