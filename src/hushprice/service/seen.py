"""The highest release this machine has priced by, in a small file that outlives the store.

A store restored from an older backup does not know its last releases, but customers have seen prices made of them.
This file is written, and flushed to disk, before the first such price; so the learner can be told what was spent.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from hushprice.errors import InvalidInput, first_line
from hushprice.service.store.protocol import Seen


class SeenFile:
    """The file and what is in it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: dict[str, Seen] = {}
        if path.exists():
            try:
                listed = msgspec.json.decode(path.read_bytes(), type=list[Seen])
            except (OSError, msgspec.DecodeError, UnicodeError) as problem:
                raise InvalidInput(f"file {str(path)!r} cannot be read: {first_line(problem)}") from None
            self._seen = {seen.product: seen for seen in listed}

    def all(self) -> list[Seen]:
        """Everything seen."""
        return list(self._seen.values())

    def note(self, seen: Iterable[Seen]) -> list[Seen]:
        """Write down what is higher than before; returns that. When this returns, it is on disk."""
        higher = [each for each in seen if each.product not in self._seen or self._is_higher(each)]
        if higher:
            after = {**self._seen, **{each.product: each for each in higher}}
            _write(self._path, msgspec.json.encode(list(after.values())))
            self._seen = after
        return higher

    def _is_higher(self, seen: Seen) -> bool:
        return seen.sequence > self._seen[seen.product].sequence


def _write(path: Path, content: bytes) -> None:
    """Replace the file as one step, and flush file and folder: a crash leaves the old or the new one."""
    beside = path.with_name(f"{path.name}.new")
    with open(beside, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
