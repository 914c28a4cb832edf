"""Files in one piece or not at all: written beside their place, then moved there."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hushprice import extras
from hushprice.errors import InvalidInput

if TYPE_CHECKING:
    import polars
    from matplotlib.figure import Figure


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path that becomes `path` when the block ends well, and vanishes when it does not."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        os.replace(temporary, path)
    except OSError as problem:
        raise InvalidInput(f"output {str(path)!r} cannot be written: {problem.strerror or problem}") from None
    finally:
        with suppress(OSError):
            temporary.unlink()


def check_parquet(path: Path, *others: str) -> None:
    """Refuse a bad output file before any work is done; `others` are endings that will do as well."""
    extras.require("polars")
    if path.suffix not in (".parquet", *others):
        raise InvalidInput(f"output must end in {' or '.join(('.parquet', *others))}, got {str(path)!r}")
    if path.is_dir():
        raise InvalidInput(f"output must be a file, got the folder {str(path)!r}")
    check_folder(path.parent)


def check_picture(path: Path) -> None:
    """Refuse a bad picture file before any work is done."""
    extras.require("matplotlib")
    if path.suffix not in (".svg", ".png"):
        raise InvalidInput(f"picture must end in .svg or .png, got {str(path)!r}")
    if path.is_dir():
        raise InvalidInput(f"picture must be a file, got the folder {str(path)!r}")
    check_folder(path.parent)


def check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written to, or made, before any work is done."""
    there = next(each for each in (folder, *folder.parents) if os.path.exists(each))
    if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        raise InvalidInput(f"output folder {str(folder)!r} cannot be written to: see {str(there)!r}")


def write_parquet(frame: polars.DataFrame, path: Path) -> None:
    """Write a data frame as Parquet, or as CSV where the file is called so, in one piece or not at all."""
    content = io.BytesIO()
    if path.suffix == ".csv":
        frame.write_csv(content)
    else:
        frame.write_parquet(content)
    with whole_file(path) as temporary:
        temporary.write_bytes(content.getvalue())


def write_figure(figure: Figure, path: Path) -> None:
    """Write a picture, in one piece or not at all; the format follows the file's ending."""
    with whole_file(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lstrip("."), dpi=150)
    figure.set_layout_engine("none")  # its parts have their places; to find them takes longer than to draw them again
