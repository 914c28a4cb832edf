"""Listening sockets, bound before anything else is started: a port in use is said at once."""

from __future__ import annotations

import errno
import socket

from hushprice.errors import InvalidInput, first_line

_BUFFER = 64 * 1024  # bytes the system holds of what either side has not read; it would let them grow to megabytes
_MEANINGS = {errno.EADDRINUSE: "is in use", errno.EACCES: "may not be used by this user"}


def listen(host: str, port: int, setting: str) -> socket.socket:
    """A socket that listens; `setting` names the port in a message. Port 0 is any free one."""
    try:
        family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.create_server(where[:2], family=family, backlog=2048)
    except OSError as problem:
        meaning = _MEANINGS.get(problem.errno or 0)
        why = f"port {port} {meaning}" if meaning else first_line(problem)
        raise InvalidInput(f"{setting}: {why} on {host!r}") from None
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):  # connections get them from here
        listening.setsockopt(socket.SOL_SOCKET, option, _BUFFER)
    listening.setblocking(False)
    return listening


def address(listening: socket.socket) -> str:
    """The URL of a listening socket."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
