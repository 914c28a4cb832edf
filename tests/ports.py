"""Ports for servers that tests start as processes of their own."""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

_LOW, _HIGH = 11_000, 30_000  # below what systems hand out on their own: no other test's server gets one meanwhile
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_held: list[int] = []  # locks, until this process ends


def free_ports(count: int) -> list[int]:
    """Ports on which nobody listens, and which no other test process on this machine is handed as well.

    A server takes seconds to start, and one that is killed and started again has none of its ports in between.
    """
    found: set[int] = set()
    drawn = random.SystemRandom()
    while len(found) < count:
        port = drawn.randrange(_LOW, _highest())
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            _lock(port)
            found.add(port)
    return sorted(found)


def _highest() -> int:
    """Some systems hand out more ports than others."""
    with suppress(OSError, ValueError):
        return max(_LOW + 1000, min(_HIGH, int(_RANGE.read_text().split()[0])))
    return _HIGH


def _lock(port: int) -> None:
    """OSError where another test process has it, or this one: a lock belongs to whoever opened the file."""
    folder = Path(tempfile.gettempdir()) / f"hushprice-test-ports-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    lock = os.open(folder / str(port), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise
    _held.append(lock)
