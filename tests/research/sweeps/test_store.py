"""The folder of finished trials: whole files, damage named, nothing ever deleted."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from hushprice.errors import InvalidInput
from hushprice.research.sweeps.block import MAGIC, Block
from hushprice.research.sweeps.store import TrialStore

KEY = "ab" * 32


def block(first: int, count: int) -> Block:
    totals = np.arange(count * 8.0).reshape(count, 8) + first
    totals[:, 3] = np.arange(count) % 3  # estimates
    totals[:, 6] = 0.0  # none failed
    periods = tuple(np.arange(int(n), dtype=np.int64) + 10 for n in totals[:, 3])
    at = np.linspace(0.1, 0.9, 4 * count).reshape(count, 4)
    return Block(first=first, seconds=1.5, totals=totals, regret_at=at, estimate_periods=periods)


def test_a_block_comes_back_digit_for_digit(tmp_path: Path) -> None:
    given = block(2, 5)
    TrialStore(tmp_path / "new" / "deep").write(KEY, given, {"policy": "random"})
    (found,) = TrialStore(tmp_path / "new" / "deep").load(KEY, 7)
    assert found.numbers == range(2, 7)
    assert found.seconds == 1.5
    np.testing.assert_array_equal(found.totals, given.totals)
    np.testing.assert_array_equal(found.regret_at, given.regret_at)
    for ours, theirs in zip(found.estimate_periods, given.estimate_periods, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == np.int64
    assert found.trials(range(3, 5)).totals.tolist() == given.totals[1:3].tolist()


def test_only_what_adds_something_is_read(tmp_path: Path) -> None:
    store = TrialStore(tmp_path)
    for first, count in ((0, 4), (1, 2), (4, 2), (4, 6), (20, 5)):
        store.write(KEY, block(first, count), {})
    assert [each.numbers for each in TrialStore(tmp_path).load(KEY, 10)] == [range(4), range(4, 10)]
    assert [each.numbers for each in TrialStore(tmp_path).load(KEY, 3)] == [range(4)]
    assert TrialStore(tmp_path).load("cd" * 32, 10) == []


DAMAGES = {
    "cut short": lambda data: data[:-1],
    "empty": lambda data: b"",
    "one bit": lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
    "something else": lambda data: b"PAR1" + data,
    "the head alone": lambda data: MAGIC,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_named_refused_and_left_alone(tmp_path: Path, damage: str) -> None:
    store = TrialStore(tmp_path)
    store.write(KEY, block(0, 2), {})
    store.write(KEY, block(2, 2), {})
    path = store.path(KEY, range(2))
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(InvalidInput, match=r"result file .* is damaged: .*run again") as caught:
        TrialStore(tmp_path).load(KEY, 4)
    assert str(path) in str(caught.value)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_file_under_another_name_is_not_believed(tmp_path: Path) -> None:
    store = TrialStore(tmp_path)
    store.write(KEY, block(0, 2), {})
    data = store.path(KEY, range(2)).read_bytes()
    store.path(KEY, range(2, 4)).write_bytes(data)
    store.path("cd" * 32, range(2)).write_bytes(data)
    for key, message in ((KEY, "other trials"), ("cd" * 32, "another setting")):
        with pytest.raises(InvalidInput, match=message):
            TrialStore(tmp_path).load(key, 4)


def test_what_a_kill_left_half_written_is_not_read(tmp_path: Path) -> None:
    (tmp_path / f".{KEY}.0-2.trials.123.tmp").write_bytes(b"half")
    (tmp_path / "notes.txt").write_text("mine")
    assert TrialStore(tmp_path).load(KEY, 2) == []


def test_a_folder_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "deep", Path("/proc/none")):
        with pytest.raises(InvalidInput, match="cannot be written"):
            TrialStore(folder).make()
        with pytest.raises(InvalidInput, match="cannot be written"):
            TrialStore(folder).write(KEY, block(0, 1), {})


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    store = TrialStore(tmp_path)
    os.mkdir(store.path(KEY, range(2)))
    with pytest.raises(InvalidInput, match=r"result file .* cannot be read: Is a directory"):
        TrialStore(tmp_path).load(KEY, 2)
