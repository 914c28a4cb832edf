"""Who may use the device at once.

The first launch of a kernel loads it, and for that the driver waits until nothing runs, while all others wait for the
driver. With some threads always at work that took seconds each time. So kernels are loaded by one thread alone, and the
others stay away for that moment.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """Many may be inside, or one alone; who waits to be alone goes before those that come later."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside, self._waiting, self._alone = 0, 0, False

    @contextmanager
    def shared(self) -> Iterator[None]:
        """With others."""
        with self._changed:
            self._changed.wait_for(lambda: not self._alone and not self._waiting)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Without anybody else."""
        with self._changed:
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: not self._alone and not self._inside)
                self._alone = True
            finally:
                self._waiting -= 1
        try:
            yield
        finally:
            with self._changed:
                self._alone = False
                self._changed.notify_all()
