"""--device and --precision: what they say and refuse where there is no GPU."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hushprice.simulation.gpu import device_facts

WHY = "no GPU can be used: CUDA driver library cannot be found."
VERBS = {
    "simulate": "simulate --policy random --horizon 20 --trials 1 --format json",
    "sweep": "sweep --policy random --horizon 20 --trials 1 --format json --output study",
    "reproduce": "reproduce tab:non-private --quick --trials 1 --format json --output study",
    "theory": "theory period-cost --quick --format json",
}


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(device_facts, "trouble", lambda: WHY)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("verb", VERBS)
def test_a_gpu_that_is_not_there_is_one_line(call: Callable, verb: str) -> None:
    assert call(f"{VERBS[verb]} --device gpu") == (2, "", f"hushprice: {WHY}\n")
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.parametrize("verb", ["simulate", "sweep"])
def test_auto_falls_back_and_says_so(call: Callable, verb: str) -> None:
    code, out, err = call(f"{VERBS[verb]} --device auto --precision single")
    assert code == 0
    assert err.splitlines()[0] == f"hushprice: {WHY}; running on the CPU, in double precision"
    assert json.loads(out)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--device tpu", "must be one of cpu, gpu, auto, got 'tpu'"),
        ("--precision single", "precision must be double on the CPU, got 'single'"),
        ("--device gpu --precision half", "precision must be one of double, single, got 'half'"),
    ],
)
def test_bad_names_are_one_line(call: Callable, verb: str, flags: str, message: str) -> None:
    code, out, err = call(f"{VERBS[verb]} {flags}")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert message in err


def test_a_cluster_computes_on_cpus(call: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_facts, "trouble", lambda: None)
    monkeypatch.setattr(device_facts, "name", lambda: "a fine GPU")
    monkeypatch.setattr(device_facts, "library", lambda: "numba-cuda 9")
    code, _, err = call(f"{VERBS['sweep']} --executor ray --device gpu")
    assert code == 2
    assert "device 'gpu' is for executor 'local' alone" in err


def test_without_the_flag_nothing_is_said(call: Callable) -> None:
    code, out, err = call(VERBS["simulate"])
    assert (code, err) == (0, "")
    assert "device" not in json.loads(out)
