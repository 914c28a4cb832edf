"""Who reads without a key, as far as a connection tells."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

_NETWORK = 8  # bytes of an IPv6 address that a reader is given; the rest is theirs to choose
_HERE = frozenset({"127.0.0.1", "::1"})


def reader_address(client: tuple[str, int] | None, headers: Iterable[tuple[bytes, bytes]] = ()) -> str:
    """The address that a reader's requests are counted under; behind a proxy on this machine, the one it names last.

    >>> reader_address(("192.0.2.7", 4711)), reader_address(("2001:db8::1", 1)), reader_address(None)
    ('192.0.2.7', '20010db800000000', '')
    >>> reader_address(("127.0.0.1", 1), [(b"x-forwarded-for", b"203.0.113.9, 192.0.2.7")])
    '192.0.2.7'
    """
    if client is None:
        return ""
    host = client[0]
    if host in _HERE:
        named = [value for name, value in headers if name == b"x-forwarded-for"]
        host = named[-1].decode("latin-1").rpartition(",")[2].strip() or host if named else host
    try:
        return ipaddress.IPv6Address(host.partition("%")[0]).packed[:_NETWORK].hex() if ":" in host else host
    except ValueError:
        return host
