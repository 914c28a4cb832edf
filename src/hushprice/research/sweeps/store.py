"""Finished trials in a folder: one file a range, whole or absent, found again by the hash of its cell's content."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hushprice.errors import InvalidInput
from hushprice.research.sweeps.block import Block, Damaged
from hushprice.simulation.atomic_file import check_folder, whole_file

_NAME = re.compile(r"([0-9a-f]{64})\.(\d+)-(\d+)\.trials")


class TrialStore:
    """A folder of result files. Nothing in it is ever changed or deleted; other files in it are left alone."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        check_folder(self.folder)
        self._stored: dict[str, set[tuple[int, int]]] = {}
        if self.folder.is_dir():
            for name in os.listdir(self.folder):
                if match := _NAME.fullmatch(name):
                    self._stored.setdefault(match[1], set()).add((int(match[2]), int(match[3])))

    def make(self) -> None:
        """Make the folder and try it out, before there is anything to lose."""
        trial = self.folder / f".trial.{os.getpid()}.tmp"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            trial.touch()
            trial.unlink()
        except OSError as problem:
            why = problem.strerror or problem
            raise InvalidInput(f"output folder {str(self.folder)!r} cannot be written to: {why}") from None

    def path(self, key: str, numbers: range) -> Path:
        """Where the result of those trials lies, or would."""
        return self.folder / f"{key}.{numbers.start}-{numbers.stop}.trials"

    def load(self, key: str, trials: int) -> list[Block]:
        """Stored blocks that together hold as much as possible of the trials 0 .. trials - 1, in order."""
        blocks: list[Block] = []
        reached = 0
        for first, stop in sorted(self._stored.get(key, ()), key=lambda each: (each[0], -each[1])):
            if stop > reached and first < trials:
                blocks.append(self._read(key, range(first, stop)))
                reached = stop
        return blocks

    def write(self, key: str, block: Block, setting: dict[str, Any]) -> None:
        """Keep a block, in one piece or not at all; it is on the disk when this returns."""
        with whole_file(self.path(key, block.numbers)) as temporary, open(temporary, "wb") as file:
            file.write(block.encode(key, setting))
            file.flush()
            os.fsync(file.fileno())
        self._stored.setdefault(key, set()).add((block.numbers.start, block.numbers.stop))

    def _read(self, key: str, numbers: range) -> Block:
        path = self.path(key, numbers)
        try:
            block = Block.decode(path.read_bytes(), key)
            if block.numbers != numbers:
                raise Damaged("it holds other trials than its name says")
            return block
        except OSError as problem:
            raise InvalidInput(f"result file {str(path)!r} cannot be read: {problem.strerror or problem}") from None
        except Damaged as problem:
            raise InvalidInput(
                f"result file {str(path)!r} is damaged: {problem}; take it away and run again to replace it"
            ) from None
