"""Ports for servers that tests start as processes of their own."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

_LOW, _HIGH = 11_000, 30_000  # below what systems hand out on their own: no other test's server gets one meanwhile


def free_ports(count: int) -> list[int]:
    """Ports on which nobody listens. Drawn, because tests run side by side and a server takes seconds to start."""
    found: set[int] = set()
    drawn = random.SystemRandom()
    while len(found) < count:
        port = drawn.randrange(_LOW, _HIGH)
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            found.add(port)
    return sorted(found)
