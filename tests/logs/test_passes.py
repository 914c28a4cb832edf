"""A pass adds whole numbers exactly, whatever their size and wherever they are added."""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import signal
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.logs.tables import KEY, PRODUCT, visits

from hushprice.errors import HushpriceError, InvalidInput, NotAvailable
from hushprice.logs import encoding, sources
from hushprice.logs.bounded import bounded
from hushprice.logs.passes import run_pass
from hushprice.logs.read import TableLog, open_log
from hushprice.logs.rows import LogRows
from hushprice.logs.stored_parts import folder_key

FRAME = visits(300)


def large(rows: LogRows) -> list[int]:
    """Numbers that no 64 bits hold."""
    cents = np.rint(rows.prices * 2**40).astype(np.int64).tolist()
    return [sum(cent * cent * cent for cent in cents), len(cents)]


def test_sums_are_exact_however_the_log_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run_pass(open_log(FRAME, product=PRODUCT), large, 2)
    assert whole[1] == 300
    assert abs(whole[0]) > 2**64
    monkeypatch.setattr(sources, "PART", 70)
    monkeypatch.setattr(sources, "CHUNK", 32)
    monkeypatch.setattr(encoding, "BLOCK", 10)
    done: list[tuple[int, int]] = []
    cut = run_pass(open_log(FRAME, product=PRODUCT), large, 2, progress=lambda *at: done.append(at))
    assert cut == whole
    assert done == [(at, 5) for at in range(1, 6)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([0.5], "whole numbers, got 0.5"),
        ([True], "whole numbers, got True"),
        (np.array([1.0]), "whole numbers, got an array of float64"),
        ([1, 2], "1 whole numbers, got 2"),
    ],
)
def test_anything_but_whole_numbers_is_refused(given: object, expected: str) -> None:
    with pytest.raises(InvalidInput, match=f"^add must give {expected}$"):
        run_pass(open_log(FRAME, product=PRODUCT), lambda rows: given, 1)  # type: ignore[arg-type,return-value]


class Cubes:
    """An `add` that other processes can be sent; where it is told so, it ends its process once."""

    def __init__(self, mark: Path | None = None, then: str = "die") -> None:
        self.mark, self.then = mark, then

    def __call__(self, rows: LogRows) -> list[int]:
        if self.mark is not None and rows.first >= 120 and not self.mark.exists():
            self.mark.touch()
            if self.then == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            raise KeyboardInterrupt
        return large(rows)

    def __getstate__(self) -> dict[str, object]:
        return {"mark": self.mark, "then": self.then}


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    folder = tmp_path / "parts"
    folder.mkdir()
    for at in range(5):
        FRAME.slice(60 * at, 60).write_parquet(folder / f"{at}.parquet")
    return folder


def test_a_worker_that_is_killed_changes_nothing(parts: Path, tmp_path: Path) -> None:
    """Two processes; one is killed while it reads, for real."""
    log = open_log(parts, product=PRODUCT, key=KEY)
    whole = run_pass(log, large, 2)
    counts = log.counts
    again = open_log(parts, product=PRODUCT, key=KEY)
    assert run_pass(again, Cubes(tmp_path / "died"), 2, executor="processes", workers=2) == whole
    assert (tmp_path / "died").exists()
    assert again.counts == counts  # what workers found comes back with their sums


def test_a_script_that_its_own_processes_read_again_is_told(parts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    with pytest.raises(HushpriceError, match=r"call it under `if __name__ == .__main__.:`"):
        run_pass(open_log(parts, product=PRODUCT), large, 2, executor="processes")


def test_an_interrupted_pass_goes_on_where_it_was(parts: Path, tmp_path: Path) -> None:
    log = open_log(parts, product=PRODUCT, key=KEY)
    whole, work = run_pass(log, large, 2), tmp_path / "work"
    add = Cubes(tmp_path / "stopped", "stop")
    with pytest.raises(KeyboardInterrupt):
        run_pass(log, add, 2, resume=work)
    kept = sorted(work.glob("*.json"))
    assert len(kept) == 2
    assert stat.S_IMODE(work.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in kept} == {0o600}
    read: list[int] = []
    counting = open_log(parts, product=PRODUCT, key=KEY)
    real = counting.blocks
    counting.blocks = lambda partition: (read.append(partition), real(partition))[1]  # type: ignore[method-assign]
    assert run_pass(counting, add, 2, resume=work) == whole
    assert read == [2, 3, 4]
    assert counting.counts == log.counts
    assert run_pass(counting, add, 2, resume=work) == whole
    assert read == [2, 3, 4]


def test_another_question_another_key_or_a_changed_table_finds_no_finished_part(parts: Path, tmp_path: Path) -> None:
    work, done = tmp_path / "work", []
    log = open_log(parts, product=PRODUCT, key=KEY)

    def parts_read(log: TableLog, add: Cubes) -> int:
        done.clear()
        run_pass(log, add, 2, resume=work, progress=lambda *at: done.append(at))
        return len(done)

    assert parts_read(log, Cubes()) == 5
    assert parts_read(log, Cubes()) == 0
    assert parts_read(log, Cubes(tmp_path)) == 5
    assert parts_read(open_log(parts, product=PRODUCT), Cubes()) == 5
    FRAME.slice(0, 59).write_parquet(parts / "0.parquet")
    assert parts_read(open_log(parts, product=PRODUCT, key=KEY), Cubes()) == 5


def test_what_cannot_be_resumed_is_said(parts: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="resume needs a log of files"):
        run_pass(open_log(FRAME, product=PRODUCT), large, 2, resume=tmp_path)
    with pytest.raises(InvalidInput, match="resume needs an add that can be pickled"):
        run_pass(open_log(parts, product=PRODUCT), lambda rows: [0], 1, resume=tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match=r"resume folder .* cannot be made"):
        run_pass(open_log(parts, product=PRODUCT), large, 2, resume=tmp_path / "file")
    with pytest.raises(InvalidInput, match="executor must be one of serial, processes, ray, got 'gpu'"):
        run_pass(open_log(parts, product=PRODUCT), large, 2, executor="gpu")


def test_a_folder_keeps_its_key(tmp_path: Path) -> None:
    key = folder_key(tmp_path / "work")
    assert folder_key(tmp_path / "work") == key != folder_key(tmp_path / "other")
    (tmp_path / "work" / "key").write_bytes(b"short")
    with pytest.raises(InvalidInput, match="holds a broken key"):
        folder_key(tmp_path / "work")


def test_a_bounded_log_gives_the_same_sums_in_other_processes(parts: Path, tmp_path: Path) -> None:
    log = bounded(open_log(parts, product=PRODUCT, key=KEY), most=2, folder=tmp_path)
    assert run_pass(log, large, 2, executor="processes", workers=1) == run_pass(log, large, 2)


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the extra 'cluster'")
def test_a_cluster_adds_up_the_same_numbers(parts: Path) -> None:
    log = open_log(parts, product=PRODUCT, key=KEY)
    assert run_pass(log, large, 2, executor="ray") == run_pass(log, large, 2)


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(NotAvailable, match="needs the extra 'cluster'"):
        run_pass(open_log(FRAME, product=PRODUCT), large, 2, executor="ray")
