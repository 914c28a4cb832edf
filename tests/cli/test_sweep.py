"""`hushprice sweep`: what it prints, writes and refuses, and that a killed sweep goes on where it was."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars
import pytest

from hushprice.simulation.run import simulate

SCRIPT = Path(sys.executable).with_name("hushprice")
SMALL = "--horizon 300 --horizon 600 --trials 2"


def test_a_grid_of_flags_gives_a_table_a_file_and_a_line_a_cell(call: Callable, tmp_path: Path) -> None:
    code, out, err = call(f"sweep --policy nonprivate --policy fixed {SMALL} --output {tmp_path}/study")
    assert code == 0
    assert "4 cells, 2 trials each" in out
    assert f"wrote {tmp_path}/study/summary.parquet" in out
    assert "…" not in out
    lines = err.splitlines()
    assert sorted(line[:5] for line in lines) == ["[1/4]", "[2/4]", "[3/4]", "[4/4]"]
    assert any("nonprivate, horizon 600: regret x 1e4" in line for line in lines)
    frame = polars.read_parquet(tmp_path / "study" / "summary.parquet")
    assert frame.select("policy", "horizon").rows() == [
        ("nonprivate", 300),
        ("nonprivate", 600),
        ("fixed", 300),
        ("fixed", 600),
    ]
    assert frame["average_regret"][0] == float(simulate("nonprivate", horizon=300, trials=2).regret.mean())
    assert frame["epsilon"].to_list() == [None] * 4


def test_json_is_all_there_is_on_stdout(call: Callable, tmp_path: Path) -> None:
    flags = "--policy paper --calibration published --epsilon 2 --epsilon 4 --horizon 300 --trials 2"
    code, out, _ = call(f"sweep {flags} --format json --output {tmp_path}")
    rows = json.loads(out)
    assert code == 0
    assert [(row["epsilon"], row["claimed_epsilon"], row["trials"]) for row in rows] == [(2.0, 2.0, 2), (4.0, 4.0, 2)]
    frame = polars.read_parquet(tmp_path / "summary.parquet")
    assert frame.columns == list(rows[0])
    assert frame["average_regret"].to_list() == [row["average_regret"] for row in rows]


def test_flags_replace_the_entries_of_a_file(call: Callable, tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text('policy = "random"\nhorizon = [100, 200]\nseed = [1, 2]\ntrials = 3\n')
    common = f"sweep --grid {tmp_path}/grid.toml --format json --output {tmp_path}/study"
    rows = json.loads(call(common).out)
    assert [(row["horizon"], row["seed"], row["trials"]) for row in rows] == [
        (100, 1, 3),
        (100, 2, 3),
        (200, 1, 3),
        (200, 2, 3),
    ]
    rows = json.loads(call(f"{common} --horizon 50 --seed 0 --trials 1").out)
    assert [(row["horizon"], row["seed"], row["trials"]) for row in rows] == [(50, 0, 1)]


def test_a_policy_of_ones_own_is_swept(script: Callable, tmp_path: Path) -> None:
    methods = ("__init__(self, setting): pass", "price(self, x): return 0.5", "learn(self, *_): pass")
    (tmp_path / "mine.py").write_text("class Half:\n" + "".join(f"    def {method}\n" for method in methods))
    flags = "--policy mine:Half --policy fixed --price 0.5 --horizon 50 --trials 2 --format json"
    code, out, err = script(f"sweep {flags} --output study")
    assert code == 0, err
    own, fixed = json.loads(out)
    assert own["average_revenue"] == pytest.approx(fixed["average_revenue"])


BAD = {
    "--policy papier": "'papier'",
    "--policy random --colour red": "--colour",
    "--policy random --horizon 0": "horizon",
    "--policy random --horizon ten": "'ten'",
    "--policy random --trials 0": "trials",
    "--policy random --features squares": "'squares'",
    "--policy random --market absent.toml": "'absent.toml'",
    "--policy random --dimension 2 --market good.toml": "dimension is given by the market",
    "--policy random --executor cloud": "executor must be one of local, ray, got 'cloud'",
    "--policy random --address 127.0.0.1:1": "address is for executor 'ray' alone",
    "--policy random --executor ray --workers 2": "workers is for executor 'local' alone",
    "--policy random --workers 0": "workers",
    "--grid absent.toml": "'absent.toml'",
    "--grid empty.toml": "grid is empty: policy",
    "--grid typo.toml": "`polcy`",
    "--policy random --output taken": "'taken'",
    "--policy random --output /proc/none": "folder '/proc/none/trials' cannot be written to",
}


@pytest.mark.parametrize("flags", BAD)
def test_bad_input_is_one_line_and_writes_nothing(
    flags: str, call: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty.toml").write_text("policy = []\n")
    (tmp_path / "typo.toml").write_text('polcy = "random"\n')
    (tmp_path / "good.toml").write_text(
        '[demand]\nfamily = "logistic"\ntheta = [0.1, 0.9]\n[contexts]\ndimension = 1\n'
    )
    (tmp_path / "taken").write_text("a file, not a folder")
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    code, out, err = call(f"sweep {'' if '--output' in flags else '--output study '}{flags}")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert BAD[flags] in err
    assert sorted(tmp_path.rglob("*")) == before


def test_an_output_folder_must_be_named(call: Callable) -> None:
    code, out, err = call("sweep --policy random")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "--output" in err


def test_an_address_that_does_not_answer_is_one_line(call: Callable, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="ray is not installed: pip install 'hushprice[cluster]'")
    started = time.monotonic()
    code, out, err = call(f"sweep --policy random --executor ray --address 127.0.0.1:1 --output {tmp_path}/study")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "address '127.0.0.1:1' does not answer" in err
    assert time.monotonic() - started < 30


def test_without_ray_the_extra_is_named(call: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    code, out, err = call(f"sweep --policy random --executor ray --output {tmp_path}/study")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "hushprice[cluster]" in err


def test_a_damaged_result_is_named_and_the_others_are_kept(call: Callable, tmp_path: Path) -> None:
    command = f"sweep --policy random {SMALL} --output {tmp_path}"
    assert call(command).code == 0
    files = sorted((tmp_path / "trials").iterdir())
    files[0].write_bytes(files[0].read_bytes()[:-5])
    before = {file: file.read_bytes() for file in files}
    code, out, err = call(command)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert str(files[0]) in err
    assert {file: file.read_bytes() for file in sorted((tmp_path / "trials").iterdir())} == before
    files[0].unlink()
    assert call(command).code == 0
    assert sorted((tmp_path / "trials").iterdir()) == files


@pytest.mark.usefixtures("interrupts")
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_a_sweep_stopped_midway_goes_on_where_it_was(stop: signal.Signals, call: Callable, tmp_path: Path) -> None:
    # So many that there are seconds between the first and the last: whoever sees the first is in time.
    seeds = " ".join(f"--seed {seed}" for seed in range(40))
    flags = f"sweep --policy nonprivate {seeds} --horizon 1e5 --trials 3 --workers 1 --format json --output".split()
    running = subprocess.Popen([SCRIPT, *flags, tmp_path / "study"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    folder = tmp_path / "study" / "trials"
    deadline = time.monotonic() + 300
    while not (folder.is_dir() and list(folder.glob("*.trials"))):
        assert running.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    running.send_signal(stop)
    out, err = running.communicate(timeout=240)
    assert out == b""
    if stop == signal.SIGINT:
        assert running.returncode == 1
        assert "interrupted; finished trials are kept in" in err.decode().splitlines()[-1]
    else:
        assert running.returncode == -signal.SIGKILL
    kept = {file.name: file.stat().st_mtime_ns for file in folder.glob("*.trials")}
    assert 0 < len(kept) < 40
    assert not (tmp_path / "study" / "summary.parquet").exists()

    def rows(place: str) -> list[dict]:
        ended, printed, _ = call(*flags, str(tmp_path / place))
        assert ended == 0
        return [{key: value for key, value in row.items() if key != "seconds"} for row in json.loads(printed)]

    resumed = rows("study")
    assert {name: (folder / name).stat().st_mtime_ns for name in kept} == kept
    assert len(list(folder.glob("*.trials"))) == 40
    assert resumed == rows("afresh")
