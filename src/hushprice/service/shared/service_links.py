"""Variables that Kubernetes sets for services whose names begin with `hushprice`: they look like settings.

A service `hushprice` gives every container beside it HUSHPRICE_SERVICE_HOST, HUSHPRICE_SERVICE_PORT,
HUSHPRICE_PORT=tcp://10.0.0.7:8787, HUSHPRICE_PORT_8787_TCP_ADDR and more; a service `hushprice-operator` sets
HUSHPRICE_OPERATOR_PORT and its like. Host and port always come together. A single one is somebody's misspelt setting,
and is refused like any other.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Callable, Iterator, Mapping

_HOST = re.compile(r"HUSHPRICE(?:_\w+)?(?=_SERVICE_HOST$)")
_URL = re.compile(r"(?:tcp|udp|sctp)://.+:\d+")
_REST = re.compile(r"SERVICE_PORT(?:_\w+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_PROTO|_PORT|_ADDR)?")


def service_links(environment: Mapping[str, str]) -> frozenset[str]:
    """The names of the variables that are not meant for this program.

    >>> link = {"HUSHPRICE_SERVICE_HOST": "10.0.0.7", "HUSHPRICE_SERVICE_PORT": "80"}
    >>> sorted(service_links({**link, "HUSHPRICE_PORT": "9000"}))
    ['HUSHPRICE_SERVICE_HOST', 'HUSHPRICE_SERVICE_PORT']
    """
    return frozenset(name for service in _services(environment) for name in _of_service(service, environment))


def say_ignored(say: Callable[[str], None]) -> None:
    """One line, where this process has such variables."""
    ignored = service_links(os.environ)
    if ignored:
        say(f"ignored, as Kubernetes sets them for its services: {', '.join(sorted(ignored))}")


def _services(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        found = _HOST.match(name)
        if found and _is_address(value) and environment.get(f"{found[0]}_SERVICE_PORT", "").isdigit():
            yield found[0]


def _of_service(service: str, environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        rest = name.removeprefix(f"{service}_")
        known = rest == "SERVICE_HOST" or _REST.fullmatch(rest) or (rest == "PORT" and _URL.fullmatch(value))
        if rest != name and known:
            yield name


def _is_address(value: str) -> bool:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return True
