"""What trials leave, on the device while they run: one set of rooms for all batches of a job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from hushprice.simulation import tally
from hushprice.simulation.gpu.toolkit import new, on_device, stream, wait
from hushprice.simulation.trial import Job, Trials
from hushprice.types import FloatArray, IntArray


class Kept(NamedTuple):
    """Arrays on the device, as kernels take them; the first index of totals and regret_at is the trial."""

    checkpoints: Any
    regret_at: Any
    totals: Any
    periods: Any  # of estimates, (estimates, trials): only the rows that are used travel back
    done: Any  # periods that all trials did so far, one entry


def rooms(job: Job, trials: int, estimates: int) -> Kept:
    """Room for so many trials with at most so many estimates each. Trials write all of it that is read."""
    return Kept(
        checkpoints=on_device(job.checkpoints),
        regret_at=new((trials, job.checkpoints.size), np.float64),
        totals=new((trials, tally.TOTALS), np.float64),
        periods=new((max(estimates, 1), trials), np.int32),
        done=new((1,), np.int64),
    )


def bytes_kept(job: Job, estimates: int) -> int:
    """Device memory that they take for one trial."""
    return 8 * (job.checkpoints.size + tally.TOTALS) + 4 * max(estimates, 1)


def place_for(kept: Kept, trials: int) -> FloatArray:
    """On the host, for regret_at, which is the most that travels back.

    New memory is slow when first written to, as slow as what then travels: better while the device works.
    """
    found = np.empty((trials, kept.regret_at.shape[1]))
    found[...] = 0.0
    return found


def take(kept: Kept, trials: int, place: FloatArray | None = None) -> Trials:
    """The first so many trials, on the host; regret_at in `place`, if there is one (`place_for`)."""
    totals = host(kept.totals[:trials])
    counts = totals[:, tally.ESTIMATES].astype(np.int64)
    found = Periods(host(kept.periods[: max(int(counts.max()), 1)]), counts)
    return Trials(totals=totals, regret_at=host(kept.regret_at[:trials], place), estimate_periods=found)


class Periods(Sequence[IntArray]):
    """Of every trial the periods of its estimates, cut out of one table when somebody looks."""

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
            return Periods(self._table[:, : len(self)][:, at], self._counts[at])
        return self._table[: self._counts[at], : len(self)][:, at].astype(np.int64)


def host(values: Any, place: FloatArray | None = None) -> Any:
    """An array of the device. Through this thread's own queue: the common one would wait for other threads' work."""
    found = values.copy_to_host(place, stream=stream())
    wait()
    return found
