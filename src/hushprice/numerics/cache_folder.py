"""Where compiled code is kept, if the usual folder cannot be written to: a container's user often has no home."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from pathlib import Path

_USER = os.getuid() if hasattr(os, "getuid") else 0


def writable(folder: Path) -> Path:
    """The folder, made where it is missing; or one for this user alone among temporary files, with a copy of it.

    The copy is for an image whose compiled code was made by another user, when it was built.
    """
    if _can_write(folder):
        return folder
    own = _own_folder() / folder.name
    if folder.is_dir() and not own.exists():
        with contextlib.suppress(OSError):  # what cannot be read is compiled again
            copied = Path(tempfile.mkdtemp(dir=own.parent))
            _copy(folder, copied)
            copied.rename(own)
    return own


def _copy(folder: Path, to: Path) -> None:
    """The content alone: folders that cannot be written to would stay so in `shutil.copytree`."""
    for each in sorted(folder.rglob("*")):
        copy = to / each.relative_to(folder)
        if each.is_dir():
            copy.mkdir()
        else:
            shutil.copyfile(each, copy)


def _can_write(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _own_folder() -> Path:
    """One that nobody else can put code into: compiled code is run as it is."""
    folder = Path(tempfile.gettempdir(), f"hushprice-{_USER}")
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == _USER and not found.st_mode & 0o022:
            return folder
    return Path(tempfile.mkdtemp(prefix="hushprice-"))
