"""Who may launch at once.

The first launch of a kernel loads it, and for that the driver waits until nothing runs, while all others wait for the
driver. With some threads always at work that took seconds each time. So one thread loads kernels exclusively, and the
others stay away for that moment.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class LaunchLock:
    """Many may share it, or one has it exclusively; who waits for that goes before those that come later."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sharing, self._waiting, self._exclusive = 0, 0, False

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Launch beside others, while no kernel is being loaded."""
        with self._changed:
            self._changed.wait_for(lambda: not self._exclusive and not self._waiting)
            self._sharing += 1
        try:
            yield
        finally:
            with self._changed:
                self._sharing -= 1
                self._changed.notify_all()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Load a kernel while nobody else launches."""
        with self._changed:
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: not self._exclusive and not self._sharing)
                self._exclusive = True
            finally:
                self._waiting -= 1
        try:
            yield
        finally:
            with self._changed:
                self._exclusive = False
                self._changed.notify_all()
