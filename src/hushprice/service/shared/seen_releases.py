"""The highest release this machine has priced by or shown, in a small file that outlives the store.

A store restored from an older backup does not know its last releases, but customers have seen prices made of them.
This file is written, and flushed to disk, before the first such price; so the learner can be told what was spent.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from hushprice.errors import InvalidInput, first_line
from hushprice.service.store.values import SeenRelease


class SeenReleasesFile:
    """The file and what is in it. Several processes of one machine may share it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._noted = self._read()

    def beside(self, ending: str) -> Path:
        """Another file of this machine that belongs to the same store."""
        return self._path.with_name(f"{self._path.name}{ending}")

    def all(self) -> list[SeenRelease]:
        """The highest release of every product."""
        return list(self._noted.values())

    def read_again(self) -> None:
        """Take up what other processes have noted."""
        self._noted = self._read()

    def is_new(self, seen: SeenRelease) -> bool:
        """Is it higher than what is noted, or another release of the same number?"""
        return _is_new(seen, self._noted.get(seen.product))

    def note(self, seen: Iterable[SeenRelease]) -> list[SeenRelease]:
        """Write down what is new, and return that. When this returns, it is on disk."""
        new = [each for each in seen if self.is_new(each)]
        if not new:
            return []
        with _locked(self._path):
            noted = self._read()
            new = [each for each in new if _is_new(each, noted.get(each.product))]
            noted.update({each.product: each for each in new})
            if new:
                _write(self._path, msgspec.json.encode(list(noted.values())))
        self._noted = noted
        return new

    def _read(self) -> dict[str, SeenRelease]:
        if not self._path.exists():
            return {}
        try:
            listed = msgspec.json.decode(self._path.read_bytes(), type=list[SeenRelease])
        except (OSError, msgspec.DecodeError, UnicodeError) as problem:
            raise InvalidInput(f"file {str(self._path)!r} cannot be read: {first_line(problem)}") from None
        return {seen.product: seen for seen in listed}


def _is_new(seen: SeenRelease, noted: SeenRelease | None) -> bool:
    if noted is None or seen.sequence > noted.sequence:
        return True
    return seen.sequence == noted.sequence and seen.digest != noted.digest


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """A block in which no other process writes: it could put a lower number back."""
    lock = os.open(path.with_name(f"{path.name}.lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


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
