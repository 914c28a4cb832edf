"""What an aggregator has published, noted away from its file: which may be set back, copied or damaged.

Shares that wait in an older file, or in a copy that is used beside the first, would be added up a second time, with
other noise. So a file is used in one place, and what the note knows of and the file does not is told at the start.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from hushprice.errors import InvalidInput, first_line
from hushprice.service.shared.seen_releases import NoteOwner, SeenReleasesFile
from hushprice.service.store.values import SeenRelease

_COPY = "both would publish totals of the same shares; to move a file, let nothing be left in its old place"


class PublishedTotals:
    """The number of totals of each product that are out, by the file of this identity."""

    def __init__(self, folder: Path, identity: str, path: Path) -> None:
        self._note = SeenReleasesFile(folder / f"aggregated-{identity}.json")
        owner = NoteOwner(identity, str(path.resolve()))
        self._note.claim(owner, lambda where: is_in(Path(where), identity), advice=_COPY)
        self._there = self._note.whole
        self._note.begin(whole=True)

    def known(self, product: str, published: int) -> int:
        """How many totals are out, where the file knows of so many: more where the note does, or is lost."""
        noted = self._note.noted(product)
        if not self._there and published:
            return published + 1
        return published if noted is None else max(noted.sequence, published)

    def write(self, published: Mapping[str, int]) -> None:
        """Note what is out, before anybody is told."""
        self._note.note(SeenRelease(name, count, 0) for name, count in published.items() if count)


def is_in(path: Path, identity: str) -> bool:
    """Is the file of this identity in a place? Also where nobody can say."""
    if not path.exists():
        return False
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT id FROM identity").fetchone() == (identity,)
    except sqlite3.Error:
        return True


def check_undamaged(connection: sqlite3.Connection) -> None:
    """Refuse a file whose pages do not fit together: what is lost may be that a report is in a total already."""
    try:
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as problem:
        found = first_line(problem)
    if found != "ok":
        raise InvalidInput(f"store: it is damaged ({' '.join(found.split())}); restore a backup")
