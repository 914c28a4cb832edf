"""How many files and connections this process may have open: as many as the system lets it."""

from __future__ import annotations

import logging
import resource

from hushprice.service.http.connections import Connections

_OTHERS = 100  # files, databases, pipes, and connections that are being closed
_KINDS = 3

log = logging.getLogger("hushprice.service")


def fit(connections: Connections) -> None:
    """Raise the limit to the hard one; where that is too low for all places, have fewer places and say so."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    wanted = connections.limits.connections
    if hard == resource.RLIM_INFINITY or hard >= _KINDS * wanted + _OTHERS:
        return
    connections.places = max(1, (hard - _OTHERS) // _KINDS)
    log.warning(
        "connections: %d of each kind, not %d: this process may open %d files (ulimit -Hn)",
        connections.places,
        wanted,
        hard,
    )
