"""Files in one piece or not at all: written beside their place, then moved there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hushprice.errors import InvalidInput

if TYPE_CHECKING:
    import polars
    from matplotlib.figure import Figure


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path that becomes `path` when the block ends well, and vanishes when it does not."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            yield temporary
            os.replace(temporary, path)
        except OSError as problem:
            raise InvalidInput(f"output {str(path)!r} cannot be written: {problem.strerror or problem}") from None
    finally:
        temporary.unlink(missing_ok=True)


def write_parquet(frame: polars.DataFrame, path: Path) -> None:
    """A data frame as Parquet."""
    with whole_file(path) as temporary:
        frame.write_parquet(temporary)


def write_figure(figure: Figure, path: Path) -> None:
    """A picture; the format follows the file's ending."""
    with whole_file(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lstrip(".") or "png", dpi=150)
