"""Listening sockets, bound before anything else is started: a port in use is said at once."""

from __future__ import annotations

import errno
import socket

from hushprice.errors import InvalidInput, first_line

_SAID = {errno.EADDRINUSE: "is in use", errno.EACCES: "may not be used by this user"}


def listen(host: str, port: int, setting: str) -> socket.socket:
    """A socket that listens; `setting` names the port in a message. Port 0 is any free one."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.create_server(found[4][:2], family=found[0], backlog=2048)
    except OSError as problem:
        known = _SAID.get(problem.errno or 0)
        said = f"port {port} {known}" if known else first_line(problem)
        raise InvalidInput(f"{setting}: {said} on {host!r}") from None
    made.setblocking(False)
    return made


def address(listening: socket.socket) -> str:
    """Its URL."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
