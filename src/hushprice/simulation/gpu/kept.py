"""What trials leave, on the device while they run: one set of rooms for all batches of a job."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hushprice.simulation import room
from hushprice.simulation.gpu.toolkit import cuda, stream, wait
from hushprice.simulation.trial import Job, Trials


class Kept(NamedTuple):
    """Arrays on the device, as kernels take them; the first index of totals and regret_at is the trial."""

    checkpoints: Any
    regret_at: Any
    totals: Any
    periods: Any  # of estimates, (estimates, trials): only the rows that are used travel back
    done: Any  # periods that all trials did so far, one entry


def rooms(job: Job, trials: int, estimates: int) -> Kept:
    """Room for so many trials with at most so many estimates each. Trials write all of it that is read."""
    new = cuda.device_array
    return Kept(
        checkpoints=cuda.to_device(job.checkpoints, stream=stream()),
        regret_at=new((trials, job.checkpoints.size), dtype=np.float64),
        totals=new((trials, room.TOTALS), dtype=np.float64),
        periods=new((max(estimates, 1), trials), dtype=np.int32),
        done=new(1, dtype=np.int64),
    )


def bytes_kept(job: Job, estimates: int) -> int:
    """Device memory that they take for one trial."""
    return 8 * (job.checkpoints.size + room.TOTALS) + 4 * max(estimates, 1)


def take(kept: Kept, trials: int) -> Trials:
    """The first so many trials, on the host."""
    totals = host(kept.totals[:trials])
    counts = totals[:, room.ESTIMATES].astype(np.int64)
    used = max(int(counts.max()), 1)
    periods = host(kept.periods[:used])[:, :trials].T.astype(np.int64)
    found = tuple(row[:count] for row, count in zip(periods, counts.tolist(), strict=True))
    return Trials(totals=totals, regret_at=host(kept.regret_at[:trials]), estimate_periods=found)


def host(values: Any) -> Any:
    """An array of the device. Through this thread's own queue: the common one would wait for other threads' work."""
    found = values.copy_to_host(stream=stream())
    wait()
    return found
