"""What verbs of the service say where its extra is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_PARTS = {"starlette", "uvicorn", "uvloop", "httptools", "psycopg"}


@contextmanager
def needs_service() -> Iterator[None]:
    """A missing package of the extra as one line."""
    from hushprice.errors import NotAvailable

    try:
        yield
    except ModuleNotFoundError as problem:
        if (problem.name or "").split(".")[0] in _PARTS:
            raise NotAvailable(
                f"this needs the package {problem.name}: install the extra service, pip install 'hushprice[service]'"
            ) from None
        raise
