"""TOML files that people write: whatever is wrong with one is a line that names the file, the field and the value."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hushprice import checks
from hushprice.errors import InvalidInput


@contextmanager
def named(kind: str, path: Path) -> Iterator[None]:
    """Inside, a file that cannot be read, or holds what is refused, is one line that begins with its name."""
    try:
        yield
    except OSError as problem:
        raise InvalidInput(f"{kind} {str(path)!r} cannot be read: {problem.strerror or problem}") from None
    except (InvalidInput, tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise InvalidInput(f"{kind} {str(path)!r}: {problem}") from None


def read(path: Path) -> dict[str, Any]:
    """What the file holds."""
    return tomllib.loads(path.read_bytes().decode())


def table(label: str, value: object) -> dict[str, Any]:
    """A table, such as [product]."""
    if not isinstance(value, dict):
        raise InvalidInput(f"{label} must be a table, got {checks.shown(value)}")
    return value


def check_keys(label: str, given: Mapping[str, Any], required: Collection[str], allowed: Collection[str]) -> None:
    """Refuse keys nobody reads, which may be misspelt ones, and keys that are missing."""
    for name in (*given, *required):
        if name not in allowed:
            raise InvalidInput(f"{label} has the unknown key {name!r}; it may have {', '.join(allowed)}")
        if name not in given:
            raise InvalidInput(f"{label} lacks the key {name!r}")
