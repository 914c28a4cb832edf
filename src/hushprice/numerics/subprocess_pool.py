"""Calls in processes of their own, side by side: for work that is nearly all Python.

Not by multiprocessing, which would run the caller's script again.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from typing import Any, TypeVar

T = TypeVar("T")

# The caller's search path comes first, so that the other process finds the same package and not one that lies about.
_BEGIN = "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer)"
# numba would colour each of the thousands of errors that it meets, and catches, while it tries types.
_QUIET = {"NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING": "1"}
_COMMAND = f"{_BEGIN}; from {__name__} import run_call; run_call()"


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class SubprocessPool:
    """Calls functions in processes of their own, `most` at once. A call that failed gives None; to see why, call here.

    A process calls `first` before anything else; with `early`, processes for the first calls do that from now on.
    """

    def __init__(self, most: int, first: Callable[[], object] = bool, *, early: bool = False) -> None:
        self._pool, self._stop, self._first = ThreadPoolExecutor(max(1, most)), threading.Event(), first
        self._running: list[subprocess.Popen[bytes]] = []
        self._waiting: list[subprocess.Popen[bytes]] = []
        with suppress(OSError):  # whoever calls meets it again
            self._waiting += (self._begin() for _ in range(most if early else 0))

    def submit(self, function: Callable[..., T], *arguments: Any) -> Future[T | None]:
        """What the function gives; None where the call failed, for whatever reason."""
        return self._pool.submit(self._call, function, arguments)

    def close(self) -> None:
        """End all that run, and begin no more."""
        self._stop.set()
        for process in self._running:
            process.kill()
        self._pool.shutdown(cancel_futures=True)
        for process in self._waiting:
            process.communicate()

    def _call(self, function: Callable[..., T], arguments: tuple[Any, ...]) -> T | None:
        try:
            task = pickle.dumps((function, arguments))
            with self._process() as process:
                if self._stop.is_set():  # it came after those that `close` ended
                    process.kill()
                output, _ = process.communicate(task)
            result: T = pickle.loads(output)  # which nothing at all, from a call that failed, cannot be
            return result
        except Exception:  # of the operating system, of classes that cannot be sent, of whatever the call does
            return None

    def _process(self) -> subprocess.Popen[bytes]:
        try:
            return self._waiting.pop()
        except IndexError:
            return self._begin()

    def _begin(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_QUIET},
        )
        self._running.append(process)
        assert process.stdin is not None
        process.stdin.write(pickle.dumps(sys.path) + pickle.dumps(self._first))
        process.stdin.flush()
        return process


def map_in_subprocesses(function: Callable[..., T], calls: Sequence[tuple[Any, ...]]) -> list[T | None]:
    """What the function gives for each tuple of arguments, in order; None where a call failed.

    As many run at once as there are cores. Stopped, it ends them all.

    >>> import math
    >>> map_in_subprocesses(math.factorial, [(3,), (-1,)])
    [6, None]
    """
    with closing(SubprocessPool(min(len(calls), cores()))) as pool:
        waiting = [pool.submit(function, *arguments) for arguments in calls]
        # With a limit: a library that handles Ctrl-C too, as Polars does, may keep it from ending an endless wait.
        while wait(waiting, timeout=0.1).not_done:
            pass
        return [future.result() for future in waiting]


def run_call() -> None:
    """Make the call on standard input: what it gives goes to standard output, what it prints to standard error."""
    with os.fdopen(os.dup(1), "wb") as output:
        os.dup2(2, 1)
        pickle.load(sys.stdin.buffer)()
        function, arguments = pickle.load(sys.stdin.buffer)
        result = function(*arguments)
        output.write(pickle.dumps(result))
    os._exit(0)  # to take a large heap apart in good order may take seconds, and nobody needs that
