"""Calls in processes of their own: what they give comes back in order, and nothing that goes wrong there is raised."""

from __future__ import annotations

import atexit
import functools
import math
import operator
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from hushprice.numerics import subprocess_pool
from hushprice.numerics.subprocess_pool import SubprocessPool, map_in_subprocesses
from hushprice.types import FloatArray


def test_answers_come_in_the_order_of_the_calls_and_to_the_last_bit() -> None:
    numbers = [math.pi, 0.1, -0.0, math.inf]
    found = map_in_subprocesses(operator.neg, [(number,) for number in numbers])
    assert [value.hex() for value in found if value is not None] == [(-number).hex() for number in numbers]
    (table,) = map_in_subprocesses(np.multiply, [(np.linspace(0, 1, 7), 3.0)])
    assert isinstance(table, np.ndarray)
    values: FloatArray = table
    np.testing.assert_array_equal(values, np.linspace(0, 1, 7) * 3.0)
    assert values.flags.writeable
    assert map_in_subprocesses(operator.neg, []) == []


def test_each_call_has_a_process_of_its_own_and_the_callers_search_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, other = map_in_subprocesses(os.getpid, [(), ()])
    assert len({ours, other, os.getpid()}) == 3
    (tmp_path / "only_here.py").write_text("def twice(x):\n    return 2 * x\n")
    (tmp_path / "hushprice").mkdir()  # where it runs, another package of that name lies about
    (tmp_path / "hushprice" / "__init__.py").write_text("raise RuntimeError\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    only_here = __import__("only_here")
    assert map_in_subprocesses(only_here.twice, [(21,)]) == [42]


@pytest.mark.parametrize("status", [0, 3])
def test_a_call_that_fails_gives_nothing_and_the_others_go_on(status: int) -> None:
    assert map_in_subprocesses(math.sqrt, [(-1.0,), (4.0,)]) == [None, 2.0]
    assert map_in_subprocesses(os._exit, [(status,)]) == [None]
    assert map_in_subprocesses(math.sqrt, [(4.0,)]) == [2.0]


def test_what_cannot_be_sent_or_started_gives_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert map_in_subprocesses(lambda: 1, [()]) == [None]
    assert map_in_subprocesses(len, [([lambda: 1],)]) == [None]
    assert map_in_subprocesses(compile, [("1", "", "eval")]) == [None]  # code cannot come back
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert map_in_subprocesses(math.sqrt, [(4.0,)]) == [None]


def test_what_a_call_prints_does_not_get_into_its_answer() -> None:
    assert map_in_subprocesses(subprocess.call, [(["echo", "hello"],)]) == [0]


def test_a_process_that_began_early_has_made_its_first_call_when_another_comes(tmp_path: Path) -> None:
    with closing(SubprocessPool(2, functools.partial(Path.touch, tmp_path / "first"), early=True)) as pool:
        begun = {process.pid for process in pool._running}
        deadline = time.monotonic() + 60
        while not (tmp_path / "first").exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        found = [pool.submit(os.getpid) for _ in range(3)]
        taken = {future.result() for future in found}
    assert begun < taken  # both, and one more
    assert len(taken) == 3


def test_early_processes_that_nobody_calls_end_with_the_rest() -> None:
    pool = SubprocessPool(2, early=True)
    pool.close()
    assert [process.returncode for process in pool._running] == [-signal.SIGKILL] * 2
    with closing(SubprocessPool(2)) as later:
        assert not later._running


def test_a_call_that_begins_while_all_are_being_ended_ends_too() -> None:
    with closing(SubprocessPool(1)) as pool:
        pool._stop.set()
        assert pool.submit(subprocess.call, ["sleep", "3"]).result() is None


def test_a_process_ends_with_its_answer_and_makes_no_words_for_nobody(tmp_path: Path) -> None:
    last = functools.partial(Path.touch, tmp_path / "last")
    (found,) = map_in_subprocesses(atexit.register, [(last,)])
    assert found is not None
    assert not (tmp_path / "last").exists()
    assert map_in_subprocesses(os.getenv, [("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING",)]) == ["1"]


def test_where_no_process_can_begin_early_calls_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with closing(SubprocessPool(2, early=True)) as pool:
        assert pool.submit(os.getpid).result() is None


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_ends_the_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    import polars  # noqa: F401 (its way with Ctrl-C restarts calls of the operating system)

    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    class Watched(real):  # type: ignore[type-arg, valid-type, misc]
        def __init__(self, *arguments: object, **named: object) -> None:
            super().__init__(*arguments, **named)
            started.append(self)
            if len(started) == 2:
                threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()

    monkeypatch.setattr(subprocess, "Popen", Watched)
    monkeypatch.setattr(subprocess_pool, "cores", lambda: 2)
    with pytest.raises(KeyboardInterrupt):
        map_in_subprocesses(time.sleep, [(3600,)] * 4)
    assert [process.returncode for process in started] == [-signal.SIGKILL] * len(started)
    assert len(started) < 4


def test_the_processors_are_those_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 3, 5}, raising=False)
    assert subprocess_pool.cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert subprocess_pool.cores() == 1
