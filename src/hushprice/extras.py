"""Packages that an extra brings, and the one line said where it is not installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager

from hushprice.errors import NotAvailable

_EXTRAS = {
    "matplotlib": "research",
    "polars": "research",
    "starlette": "service",
    "uvicorn": "service",
    "uvloop": "service",
    "httptools": "service",
    "psycopg": "service",
}


def require(*packages: str) -> None:
    """Refuse to begin where one of these packages is not installed."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise _missing(package)


@contextmanager
def needed() -> Iterator[None]:
    """Inside, a package of an extra that cannot be imported is one line."""
    try:
        yield
    except ModuleNotFoundError as problem:
        package = (problem.name or "").partition(".")[0]
        if package not in _EXTRAS:
            raise
        raise _missing(package) from None


def _missing(package: str) -> NotAvailable:
    extra = _EXTRAS[package]
    return NotAvailable(
        f"this needs the package {package}: install the extra {extra}, pip install 'hushprice[{extra}]'"
    )
