"""What is wrong with a CSV file, in words: asked once it could not be read."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hushprice.errors import InvalidInput


def check_header(file: Path, name: str) -> None:
    """Refuse a file with two columns of one name: which is meant cannot be told; or with other signs than commas."""
    header = next(_rows(file), [])
    other = next((sign for sign in ";\t|" if len(header) == 1 and sign in header[0]), None)
    if other is not None:
        raise InvalidInput(f"log {name!r} must have commas between its cells, got {other!r}")
    twice = [column for column, count in Counter(header).items() if count > 1]
    if twice:
        raise InvalidInput(f"log {name!r} has two columns {twice[0]!r}")


@contextmanager
def explained(file: Path) -> Iterator[None]:
    """Inside, a file that cannot be read is refused by the row that is odd, if one is."""
    try:
        yield
    except InvalidInput:
        found = odd_row(file)
        if found is None:
            raise
        raise InvalidInput(f"log {file.name!r}: {found}") from None


def odd_row(file: Path) -> str | None:
    """The first row that has too many fields, or is not UTF-8."""
    rows = _rows(file)
    try:
        columns = len(next(rows, []))
        for number, row in enumerate(rows, 1):
            if len(row) > columns:
                return f"row {number} has {len(row)} fields, the header {columns}"
            if any("\udc80" <= each <= "\udcff" for text in row for each in text):
                return f"row {number} is not UTF-8"
    except (csv.Error, OSError):
        pass
    return None


def _rows(file: Path) -> Iterator[list[str]]:
    with open(file, newline="", encoding="utf-8-sig", errors="surrogateescape") as lines:
        yield from csv.reader(lines)
