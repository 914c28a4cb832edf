"""The GPU's kernels without a GPU: numba's CUDA simulator runs them as plain Python, in one process for all tests here.

In double precision they must agree with the CPU: the same periods of releases, and regret to 1e-9.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.simulation.gpu.agreement import CASES, PROBED

from hushprice.numerics.jit import COMPILED

ROOT = Path(__file__).resolve().parents[3]
LEARNING = [name for name in CASES if name.split(",")[0] not in ("random", "fixed", "clairvoyant")]
MORE = ["noisy-newton, d = 20", "noisy-newton, one trial's customers", "noisy-newton, probes, double"]

pytestmark = [
    pytest.mark.skipif(not COMPILED, reason="the simulator looks for compiled steps"),
    pytest.mark.timeout(1200),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the simulated GPU did."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.simulation.gpu.simulated", str(tmp_path_factory.mktemp("simulated"))],
        cwd=ROOT,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("name", [*CASES, *MORE])
def test_in_double_precision_trials_agree_with_the_cpu(report: dict[str, Any], name: str) -> None:
    found = report["agreement"][name]
    assert found["same_periods"]
    assert found["regret"] <= 1e-9
    assert found["totals"] <= 1e-9
    assert (found["estimates"] > 0) == (name in LEARNING + MORE)


def test_jobs_side_by_side_are_those_of_the_cpu(report: dict[str, Any]) -> None:
    assert len(report["side by side"]) == 6
    for found in report["side by side"]:
        assert found["same_periods"]
        assert found["estimates"] > 0
        assert found["regret"] <= 1e-9
        assert found["totals"] <= 1e-9


def test_probes_are_among_what_agrees(report: dict[str, Any]) -> None:
    assert report["agreement"]["noisy-newton, probes, double"]["shortest"] < PROBED


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize(
    ("policy", "other"), [("paper", "estimate"), ("fixed", "revenue"), ("noisy-newton", "release")]
)
def test_a_kernel_is_compiled_by_itself_for_what_a_run_launches_it_with(
    report: dict[str, Any], policy: str, other: str, precision: str
) -> None:
    for role in ("advance", other, "begin"):
        assert report["precompiled"][f"{policy} {precision} {role}"]


def test_in_single_precision_no_price_gives_away_a_millionth(report: dict[str, Any]) -> None:
    assert report["prices"]["kinds"] == ["float32"]  # all of the search: double would be ten times as slow
    assert report["prices"]["lost"] < 1e-6


@pytest.mark.parametrize("name", ["noisy-newton", "noisy-newton, probes", "paper published", "random"])
def test_in_single_precision_they_come_close(report: dict[str, Any], name: str) -> None:
    found = report["agreement"][f"{name}, single"]
    assert found["same_periods"]
    assert 0.0 < found["regret"] <= 1e-4
    assert found["totals"] <= 1e-4


def test_a_grid_larger_than_memory_runs_in_pieces(report: dict[str, Any]) -> None:
    found = report["sweeps"]
    assert 1 < found["size"] < 5
    assert sum(found["sizes"]) == 5
    assert max(found["sizes"]) == found["size"]


def test_a_stopped_sweep_keeps_its_pieces_and_goes_on(report: dict[str, Any]) -> None:
    found = report["sweeps"]
    assert found["kept when stopped"] == 1
    whole = found["progress"][-1][1]
    assert found["progress"][-1] == [whole, whole]
    assert whole == 2 * 5 * 30 - 30 * found["size"]


def test_results_are_found_again_and_agree_however_they_were_cut(report: dict[str, Any]) -> None:
    first, again, here, direct = report["sweeps"]["regret"]
    assert first == again == direct
    assert first == pytest.approx(here, rel=1e-9)
    assert report["sweeps"]["fixed"][0] == pytest.approx(report["sweeps"]["fixed"][2], rel=1e-9)


def test_results_of_a_gpu_never_meet_those_of_a_cpu(report: dict[str, Any]) -> None:
    found = report["sweeps"]
    assert len({*found["gpu keys"], *found["cpu keys"]}) == 4
    assert found["content"]["device"] == {"device": "gpu", "precision": "double", "library": "simulator"}
    assert "device" not in found["cpu content"]
    assert found["said"] == ["gpu", "double", "cpu"]


def test_the_command_line_says_where_it_ran(report: dict[str, Any]) -> None:
    found = report["commands"]
    assert {name: each["code"] for name, each in found.items()} == dict.fromkeys(found, 0)
    assert json.loads(found["simulate"]["out"])["device"] == "gpu"
    assert found["simulate"]["err"] == ""
    assert "on a GPU in single precision" in found["single"]["out"]
    assert found["auto"]["err"] == "hushprice: running on numba's CUDA simulator, in double precision\n"
    assert json.loads(found["auto"]["out"])["precision"] == "double"
    (row,) = json.loads(found["sweep"]["out"])
    assert (row["device"], row["precision"]) == ("gpu", "double")


def test_a_driver_s_complaint_is_one_line(report: dict[str, Any]) -> None:
    assert report["failures"] == {
        "memory": "the GPU failed: not enough memory for a trial of so many customers ([2] CUDA_ERROR_OUT_OF_MEMORY)",
        "other": "the GPU failed: [999] unknown",
    }
