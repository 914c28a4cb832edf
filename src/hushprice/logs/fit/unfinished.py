"""The releases of a fit that is not finished, on disk before anything uses them: none is ever drawn twice.

Beside fit.json lies fit.json.part while the fit runs. Noise is drawn, the release is written and synced, and only then
is the next pass planned by it. Whoever starts the same fit again takes the releases that are there.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import numpy as np

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.types import FloatArray


class _Part(msgspec.Struct, forbid_unknown_fields=True):
    asked: str  # a digest of everything that the fit was asked for
    releases: list[list[float]]


class Unfinished:
    """The releases so far of the fit that will be `output`."""

    def __init__(self, output: Path, asked: str) -> None:
        self._path = output.with_name(f"{output.name}.part")
        self._part = _Part(asked, [])
        if self._path.exists():
            self._part = self._read()
            if self._part.asked != asked:
                raise InvalidInput(
                    f"{str(self._path)!r} is of another fit, with another log, product or budget: finish that one, "
                    "or choose another output"
                )

    @property
    def releases(self) -> list[FloatArray]:
        """Those that are there."""
        return [checks.vector(len(each), releases=each) for each in self._part.releases]

    def keep(self, released: FloatArray) -> None:
        """Write one more, and return when it is on the disk."""
        self._part.releases.append([float(each) for each in np.asarray(released)])
        beside = self._path.with_name(f"{self._path.name}.new")
        try:
            with open(beside, "wb") as file:
                file.write(msgspec.json.encode(self._part))
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, self._path)
            folder = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as problem:
            raise InvalidInput(f"fit {str(self._path)!r} cannot be written: {problem}") from None

    def remove(self) -> None:
        """The fit is in its own file."""
        with suppress(FileNotFoundError):
            self._path.unlink()

    def _read(self) -> _Part:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_Part)
        except (OSError, msgspec.DecodeError) as problem:
            raise InvalidInput(f"fit {str(self._path)!r} cannot be read: {problem}") from None


@contextmanager
def locked(output: Path) -> Iterator[None]:
    """Inside, no other process works on this output: two would draw noise for the same releases twice."""
    path = output.with_name(f"{output.name}.lock")
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as problem:
        raise InvalidInput(f"output {str(output)!r} cannot be written: {problem.strerror or problem}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Where its owner has removed it meanwhile, a third may have the next one.
        if not os.path.samestat(os.fstat(lock), os.stat(path)):
            raise FileNotFoundError
    except OSError:
        os.close(lock)
        raise InvalidInput(f"output {str(output)!r} is being written by another process") from None
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            path.unlink()
        os.close(lock)
