"""What trials leave, on the device while they run: one set of arrays for all batches of a job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from hushprice.simulation import tally
from hushprice.simulation.gpu.session import Workspace
from hushprice.simulation.trial import Job, Trials
from hushprice.types import FloatArray, IntArray


class TrialOutputs(NamedTuple):
    """Arrays on the device, as kernels take them; the first index of totals and regret_at is the trial."""

    checkpoints: Any
    regret_at: Any
    totals: Any
    periods: Any  # of estimates, (estimates, trials): only the rows that are used travel back
    done: Any  # periods that all trials did so far, one entry


def allocate(job: Job, workspace: Workspace, trials: int, estimates: int) -> TrialOutputs:
    """Arrays for so many trials with at most so many estimates each. Trials write all of it that is read."""
    return TrialOutputs(
        checkpoints=workspace.to_device(job.checkpoints),
        regret_at=workspace.empty((trials, job.checkpoints.size), np.float64),
        totals=workspace.empty((trials, tally.TOTALS), np.float64),
        periods=workspace.empty((max(estimates, 1), trials), np.int32),
        done=workspace.empty((1,), np.int64),
    )


def output_bytes(job: Job, estimates: int) -> int:
    """Device memory that they take for one trial."""
    return 8 * (job.checkpoints.size + tally.TOTALS) + 4 * max(estimates, 1)


def host_target(outputs: TrialOutputs, trials: int) -> FloatArray:
    """An array of the host for regret_at, which is the most that travels back.

    New memory is slow when first written to, as slow as what then travels: better while the device works.
    """
    target = np.empty((trials, outputs.regret_at.shape[1]))
    target[...] = 0.0
    return target


def collect(outputs: TrialOutputs, workspace: Workspace, trials: int, target: FloatArray | None = None) -> Trials:
    """The first so many trials, on the host; regret_at in `target`, if there is one (`host_target`)."""
    totals = workspace.to_host(outputs.totals[:trials])
    counts = totals[:, tally.ESTIMATES].astype(np.int64)
    periods = EstimatePeriods(workspace.to_host(outputs.periods[: max(int(counts.max()), 1)]), counts)
    regret_at = workspace.to_host(outputs.regret_at[:trials], target)
    return Trials(totals=totals, regret_at=regret_at, estimate_periods=periods)


class EstimatePeriods(Sequence[IntArray]):
    """The periods of every trial's estimates, cut out of one table when somebody looks."""

    def __init__(self, table: IntArray, counts: IntArray) -> None:
        self._table, self._counts = table, counts  # (estimates, trials or more)

    def __len__(self) -> int:
        return self._counts.size

    @overload
    def __getitem__(self, at: int) -> IntArray: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[IntArray]: ...
    def __getitem__(self, at: int | slice) -> IntArray | Sequence[IntArray]:
        if isinstance(at, slice):
            return EstimatePeriods(self._table[:, : len(self)][:, at], self._counts[at])
        return self._table[: self._counts[at], : len(self)][:, at].astype(np.int64)
