"""The highest release this machine has priced by or shown, in a small file that outlives the store.

A store restored from an older backup does not know its last releases, but customers have seen prices made of them.
This file is written, and flushed to disk, before the first such price; so the learner can be told what was spent.
It belongs to one store in one place: a copy of the store, tried out beside it, has no part in it.
"""

from __future__ import annotations

import fcntl
import os
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from hushprice.errors import InvalidInput, first_line
from hushprice.service.shared.durable_file import locked, replace_file
from hushprice.service.store.values import SeenRelease

COPY = (
    "to try it out, make it a store of its own (hushprice store restore --as-copy); "
    "if it has taken the other's place, say so (hushprice store moved)"
)


class NoteOwner(msgspec.Struct, frozen=True):
    """Whose releases are noted: a store's own identity, which copies share, and where that store is."""

    store: str = ""
    where: str = ""


class _Note(msgspec.Struct, frozen=True):
    owner: NoteOwner
    seen: list[SeenRelease]
    whole: bool = True


class SeenReleasesFile:
    """The file and what is in it. Several processes of one machine may share it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._owner = NoteOwner()
        self._whole = True
        self._noted = self._read()

    def claim(self, owner: NoteOwner, is_there: Callable[[str], bool], advice: str = COPY) -> None:
        """Use it for this store until this object is gone; refused where it is another's.

        `is_there` says whether a store of the same identity still is in a place. If not, the store was moved from it.
        `advice` is given to who would use a copy.
        """
        lock = self._open_lock()
        weakref.finalize(self, os.close, lock)  # with it the lock
        with locked(self._path):
            found = self._load()
            held = NoteOwner() if found is None else found.owner
            if held.store not in ("", owner.store):
                raise InvalidInput(f"seen-file {str(self._path)!r} is of another store; put this store's own there")
            if held.where not in ("", owner.where):
                self._take_over(lock, held.where, is_there, advice)
            fcntl.flock(lock, fcntl.LOCK_SH)
            self._owner = owner
            if found is not None and held != owner:
                self._write(self._noted)

    def _take_over(self, lock: int, where: str, is_there: Callable[[str], bool], advice: str) -> None:
        """Refuse a copy of the store that this file belongs to."""
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InvalidInput(f"store: it is a copy of {where}, which is being served; {advice}") from None
        if is_there(where):
            raise InvalidInput(f"store: it is a copy of {where}; {advice}")

    @property
    def whole(self) -> bool:
        """Is there a file that was begun when nothing had been seen, or that somebody has vouched for?"""
        return self._path.exists() and self._whole

    @property
    def in_use(self) -> bool:
        """Has another process, or another object of this one, claimed it?"""
        if not self._path.parent.is_dir():
            return False
        lock = self._open_lock()
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(lock)
        return False

    def _open_lock(self) -> int:
        return os.open(self._path.with_name(f"{self._path.name}.used"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)

    def begin(self, *, whole: bool) -> None:
        """Begin a file where there is none; where there is one, it may become whole."""
        with locked(self._path):
            there, noted = self._path.exists(), self._read()
            self._whole = whole or (there and self._whole)
            if whole or not there:
                self._write(noted)

    def beside(self, ending: str) -> Path:
        """Another file of this machine that belongs to the same store."""
        return self._path.with_name(f"{self._path.name}{ending}")

    def all(self) -> list[SeenRelease]:
        """The highest release of every product."""
        return list(self._noted.values())

    def noted(self, product: str) -> SeenRelease | None:
        """The highest release of a product, as this process knows of it."""
        return self._noted.get(product)

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
        with locked(self._path):
            noted = {**self._noted, **self._read()}  # the file may have been deleted meanwhile
            new = [each for each in new if _is_new(each, noted.get(each.product))]
            noted.update({each.product: each for each in new})
            if new:
                self._write(noted)
        self._noted = noted
        return new

    def _write(self, noted: dict[str, SeenRelease]) -> None:
        replace_file(self._path, msgspec.json.encode(_Note(self._owner, list(noted.values()), self._whole)))

    def _read(self) -> dict[str, SeenRelease]:
        found = self._load()
        if found is None:
            return {}
        self._whole = found.whole
        return {seen.product: seen for seen in found.seen}

    def _load(self) -> _Note | None:
        if not self._path.exists():
            return None
        try:
            found = msgspec.json.decode(self._path.read_bytes(), type=_Note | list[SeenRelease])
        except (OSError, msgspec.DecodeError, UnicodeError) as problem:
            raise InvalidInput(f"file {str(self._path)!r} cannot be read: {first_line(problem)}") from None
        return _Note(NoteOwner(), found) if isinstance(found, list) else found  # a list: of version 1, without an owner


def _is_new(seen: SeenRelease, noted: SeenRelease | None) -> bool:
    if noted is None or seen.sequence > noted.sequence:
        return True
    if seen.sequence < noted.sequence:
        return False
    return seen.digest != noted.digest or len(seen.lineage) > len(noted.lineage)  # version 1 noted no lineage
