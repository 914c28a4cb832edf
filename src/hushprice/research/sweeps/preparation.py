"""Cells prepared side by side: calibrations are nearly all Python, so many of them go to processes of their own."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import cast

from hushprice.numerics.subprocess_pool import cores, map_in_subprocesses
from hushprice.policies.protocol import Policy
from hushprice.research.sweeps.cell import Cell
from hushprice.simulation.trial import Job

START = 1.0  # seconds until a process can begin
TIGHT, OTHER = 0.13, 0.012  # seconds that a calibration of policy paper takes; other policies take a thousandth


def prepare_all(cells: Sequence[Cell]) -> list[Job]:
    """The job of every cell, in order. Wherever it was prepared, it is the same to the last digit.

    A bad cell is refused as `Cell.prepare` does it, and the first of several.
    """
    built = _built_in_subprocesses([cell for cell in cells if cell.policy == "paper" and not cell.prepared])
    jobs = []
    for cell in cells:
        policy = built.get(cell) if built and not cell.prepared else None
        jobs.append(cell.prepare() if policy is None else cell.prepare_with(policy))
    return jobs


def _built_in_subprocesses(cells: Sequence[Cell]) -> dict[Cell, Policy]:
    """The policies of these cells, from other processes; none where that would take longer, or anything fails there."""
    alike = {cell: dataclasses.replace(cell, seed=0) for cell in cells}  # no calibration reads the seed
    distinct = sorted(dict.fromkeys(alike.values()), key=lambda cell: -_seconds(cell))
    work = sum(map(_seconds, distinct))
    # A quarter of the cores: where cells go to a GPU, its kernels are compiled meanwhile, and that takes longer.
    processes = min(cores(), max(2, cores() // 4), int(2.0 * work / START))
    if processes < 2 or START + work / processes >= work:
        return {}
    shares = [distinct[first::processes] for first in range(processes)]  # dealt out, so that all get as many slow ones
    built_policies = map_in_subprocesses(policies_of, [(share,) for share in shares])
    built: dict[Cell, Policy] = {}
    for share, policies in zip(shares, built_policies, strict=True):
        if policies is None:
            return {}
        built |= zip(share, policies, strict=True)
    return {cell: built[same] for cell, same in alike.items()}


def policies_of(cells: Sequence[Cell]) -> list[Policy]:
    """The policies of cells that name a built-in one, with their noise calculated."""
    return [cast(Policy, cell.prepare().policy) for cell in cells]


def _seconds(cell: Cell) -> float:
    return TIGHT if cell.calibration == "tight" else OTHER
