"""Finished parts of a pass in a folder, a file each, so that a pass that was stopped goes on where it was.

The files hold exact sums and counts: raw data, readable by their owner alone. They are named by a digest of the log as
it is, of how it is read, and of `add` with all that it holds, so a changed table or another question finds none.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from hushprice.errors import InvalidInput
from hushprice.logs.digest import KEY_BYTES, new_key
from hushprice.logs.encoding import ReadCounts
from hushprice.logs.passes import Add, Part
from hushprice.logs.rows import Log


class StoredParts:
    """The parts of one pass over one log."""

    def __init__(self, folder: Path, log: Log, add: Add, size: int) -> None:
        identity = getattr(log, "identity", None)
        if identity is None:
            raise InvalidInput("resume needs a log of files: nothing says that another is as it was")
        try:
            asked = pickle.dumps(add)
        except Exception as problem:  # whatever an object's own pickling raises
            raise InvalidInput(f"resume needs an add that can be pickled: {problem}") from None
        about = json.dumps([identity, size, log.partitions], default=str).encode() + asked
        self._folder = private_folder(folder)
        self._name = hashlib.sha256(about).hexdigest()[:32]

    def finished(self, partitions: Iterable[int]) -> dict[int, Part]:
        """The parts that are there."""
        found = {}
        for partition in partitions:
            with suppress(FileNotFoundError):
                kept = json.loads(self._file(partition).read_bytes())
                counts = None if kept["counts"] is None else ReadCounts(**kept["counts"])
                found[partition] = Part(partition, [int(each) for each in kept["sums"]], counts)
        return found

    def keep(self, part: Part) -> None:
        """Write a part, in one piece or not at all."""
        counts = None if part.counts is None else asdict(part.counts)
        written = json.dumps({"sums": [str(each) for each in part.sums], "counts": counts}).encode()
        write_private(self._file(part.partition), written)

    def _file(self, partition: int) -> Path:
        return self._folder / f"{self._name}-{partition}.json"


def folder_key(folder: str | Path) -> bytes:
    """The secret for customers' digests that belongs to a folder of parts, made when it is first asked for."""
    file = private_folder(Path(folder)) / "key"
    if not file.exists():
        write_private(file, new_key())
    key = file.read_bytes()
    if len(key) != KEY_BYTES:
        raise InvalidInput(f"resume folder {str(folder)!r} holds a broken key; remove the folder to begin again")
    return key


def private_folder(folder: Path) -> Path:
    """The folder, made for its owner alone where there is none."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        raise InvalidInput(f"resume folder {str(folder)!r} cannot be made: {problem.strerror or problem}") from None
    return folder


def write_private(file: Path, content: bytes) -> None:
    """A file for its owner alone, in one piece or not at all."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as handle:
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, file)
    except OSError as problem:
        raise InvalidInput(
            f"resume folder {str(file.parent)!r} cannot be written: {problem.strerror or problem}"
        ) from None
    finally:
        with suppress(OSError):
            temporary.unlink()
