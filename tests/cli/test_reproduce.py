"""`hushprice reproduce`: what it prints, writes and refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hushprice.experiments.registry import chosen

SMALL = "--quick --trials 2 --workers 1"


def test_a_table_is_printed_and_its_files_are_written(call: Callable, tmp_path: Path) -> None:
    code, out, err = call(f"reproduce input-perturbation {SMALL} --output {tmp_path}")
    assert code == 0, err
    assert "tab:input-perturbation" in out
    assert "best fixed price" in out
    assert "…" not in out
    assert "[1/1] tab:input-perturbation: " in err
    written = {line.removeprefix("wrote ") for line in out.splitlines() if line.startswith("wrote ")}
    names = ("md", "parquet", "png", "svg")
    assert written == {str(tmp_path / "quick" / f"input-perturbation.{ending}") for ending in names}
    assert all(Path(path).is_file() for path in written)
    before = sorted((tmp_path / "trials").iterdir())
    again = call(f"reproduce tab:input-perturbation {SMALL} --output {tmp_path} --format json")
    assert "all there already" in again.err
    rows = json.loads(again.out)["tab:input-perturbation"]
    assert len(rows) == len(chosen(["input-perturbation"])[0].entries(quick=True))
    assert rows[0]["trials"] == 2
    assert sorted((tmp_path / "trials").iterdir()) == before


def test_a_table_that_cannot_be_written_is_one_line_and_its_trials_are_kept(call: Callable, tmp_path: Path) -> None:
    (tmp_path / "quick").mkdir()
    (tmp_path / "quick" / "surplus.md").mkdir()  # where a file should go
    code, out, err = call(f"reproduce surplus {SMALL} --output {tmp_path}")
    assert (code, out) == (2, "")
    assert "surplus.md' cannot be written" in err.splitlines()[-1]
    assert any((tmp_path / "trials").iterdir())


BAD = {
    "surplus figure-nine": "experiment must be one of tab:non-private, ",
    "surplus --trials 0": "trials",
    "surplus --trials many": "'many'",
    "surplus --seed -1": "seed",
    "surplus --executor cloud": "executor must be one of local, ray, got 'cloud'",
    "surplus --workers 0": "workers",
    "surplus --output taken": "'taken'",
    "surplus --output /proc/none": "'/proc/none/trials'",
}


@pytest.mark.parametrize("flags", BAD)
def test_bad_input_is_one_line_and_writes_nothing(
    flags: str, call: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken").write_text("a file, not a folder")
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    code, out, err = call(f"reproduce --quick {flags}")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert BAD[flags] in err
    assert sorted(tmp_path.rglob("*")) == before


def test_a_name_is_required(call: Callable) -> None:
    code, out, err = call("reproduce")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
