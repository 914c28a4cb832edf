"""Who reads without a key, as far as a connection tells."""

from __future__ import annotations

import ipaddress

_NETWORK = 8  # bytes of an IPv6 address that a reader is given; the rest is theirs to choose


def reader_address(client: tuple[str, int] | None) -> str:
    """The address that a reader's requests are counted under.

    >>> reader_address(("192.0.2.7", 4711)), reader_address(("2001:db8::1", 1)), reader_address(None)
    ('192.0.2.7', '20010db800000000', '')
    """
    if client is None:
        return ""
    host = client[0]
    try:
        return ipaddress.IPv6Address(host.partition("%")[0]).packed[:_NETWORK].hex() if ":" in host else host
    except ValueError:
        return host
