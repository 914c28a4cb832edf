"""Ranges of trials: a cell's missing trials, cut so that many workers stay busy and a lost one costs little."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hushprice.research.sweeps.block import Block
from hushprice.research.sweeps.cell import Cell
from hushprice.simulation.trial import Job

LARGEST = 4_000_000  # periods of a compiled job in one range: seconds of work
SMALLEST = 200_000  # below, handing ranges out would cost more than running them
PER_SLOT = 4  # ranges a worker gets, so that the last ones end together
PLAIN = 1000  # periods that compiled code runs while plain Python runs one

Missing: TypeAlias = Mapping[Cell, Sequence[range]]  # trials that a store lacks


@dataclass(frozen=True, eq=False)
class TrialRange:
    """Some consecutive trials of one cell."""

    cell: Cell
    numbers: range

    @property
    def periods(self) -> int:
        return len(self.numbers) * self.cell.horizon

    @property
    def cost(self) -> int:
        """What it takes, in periods of compiled code."""
        return len(self.numbers) * trial_cost(self.cell.prepare())


def trial_cost(job: Job) -> int:
    """What one trial takes, in periods of compiled code at d = 2."""
    return max(1, job.horizon * job.market.dimension // 2) * (1 if job.engine == "compiled" else PLAIN)


def gaps(blocks: Sequence[Block], trials: int) -> list[range]:
    """The trials below `trials` that no block holds; blocks come in order."""
    missing: list[range] = []
    reached = 0
    for block in blocks:
        if block.numbers.start > reached:
            missing.append(range(reached, block.numbers.start))
        reached = max(reached, block.numbers.stop)
    return [*missing, range(reached, trials)] if reached < trials else missing


def cut(missing: Missing, slots: int) -> list[TrialRange]:
    """Ranges of trials that cover what is missing. How it is cut changes no result.

    The longest come first, so that workers end together. A long run keeps the order of the cells, so that the first of
    them can be read early: there no range is long beside the whole, except a trial longer than the largest range.
    """
    whole = sum(len(numbers) * trial_cost(cell.prepare()) for cell, ranges in missing.items() for numbers in ranges)
    target = min(LARGEST, max(SMALLEST, whole // (PER_SLOT * slots)))
    trial_ranges = []
    for cell, ranges in missing.items():
        size = max(1, target // trial_cost(cell.prepare()))
        for numbers in ranges:
            trial_ranges += [TrialRange(cell, numbers[at : at + size]) for at in range(0, len(numbers), size)]
    usual = target if target == LARGEST else 0
    return sorted(trial_ranges, key=lambda trial_range: -trial_range.cost if trial_range.cost > usual else 0)
