"""Trials of a job on a GPU, in batches that fit its memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hushprice.errors import DidNotConverge
from hushprice.simulation import tally
from hushprice.simulation.gpu import trial_outputs
from hushprice.simulation.gpu.cuda import SIMULATED
from hushprice.simulation.gpu.device_facts import errors_in_one_line
from hushprice.simulation.gpu.kernel import Launch
from hushprice.simulation.gpu.memory_pool import MemoryBlock
from hushprice.simulation.gpu.policy_batches import PolicyBatch, batch_bytes, batch_class, kernel_names, most_trials
from hushprice.simulation.gpu.session import GpuSession, Workspace
from hushprice.simulation.trial import Job, Trials

Advance = Callable[[int], None]  # periods done in this batch
AHEAD = 1 if SIMULATED else 16  # launches begun before the host asks for news: else the device waits for it each time


class BatchRunner:
    """One job, compiled, with arrays on the device for `most` trials, used for one batch after another.

    Jobs `beside` it, of the same `batch_key`, take part in every batch with the same trials; `most` is for each.
    """

    def __init__(
        self,
        session: GpuSession,
        job: Job,
        *,
        precision: str,
        most: int,
        beside: Sequence[Job] = (),
        stream: Any = None,
        block: MemoryBlock | None = None,
    ) -> None:
        """Takes a stream of the session and a block of memory that the caller gives back, or its own."""
        self.job, self._jobs, self._session = job, 1 + len(beside), session
        whole = self._jobs * most
        with errors_in_one_line():
            self.workspace = workspace = Workspace(session, stream=stream, block=block)
            if block is None:
                workspace.reserve(batch_bytes(job, whole, precision=precision))
            with session.compile_lock:  # the second thread has what the first one compiled
                self.batch: PolicyBatch = batch_class(job)(
                    [job, *beside], session, workspace, most=whole, single=precision == "single"
                )
                self.outputs = trial_outputs.allocate(job, workspace, whole, self.batch.estimates)
                self._launch_first(set(kernel_names(job, precision)))

    def _launch_first(self, kernels: set[str]) -> None:
        """Launch every kernel for a trial that is over, where they return at once: that compiles and loads them."""
        session, nobody = self._session, range(1)
        with session.launch_lock.shared() if kernels <= session.launched else session.launch_lock.exclusive():
            self.batch.begin(nobody, self.outputs, runs=False)
            for launch in self._launches(nobody):
                launch()
            self.workspace.synchronize()
        session.launched.update(kernels)

    def _launches(self, numbers: range) -> list[Launch]:
        """The launches by which trials go on, and then get their estimates, if their policy makes any."""
        settle = [self.batch.settle(numbers, self.outputs)] if self.batch.settles else []
        return [self.batch.advance(numbers, self.outputs), *settle]

    def run(self, numbers: range, advance: Advance) -> Trials:
        """Those trials of the first job, then of the next, all at once. Between some launches Ctrl-C gets through."""
        trials, shared = self._jobs * len(numbers), self._session.launch_lock.shared
        done, before, target = np.zeros(1, dtype=np.int64), -1, None
        with errors_in_one_line():
            try:
                with shared():
                    self.workspace.copy(done, self.outputs.done)
                    self.batch.begin(numbers, self.outputs)
                    launches = self._launches(numbers)
                while before < done[0] < trials * self.job.horizon:  # where an estimate failed, its trial stays behind
                    before = int(done[0])
                    with shared():
                        self._go_on(launches, self.batch.stretches(before // trials))
                        if target is None:  # the device is at work now
                            target = trial_outputs.host_target(self.outputs, trials)
                        self.workspace.to_host(self.outputs.done, done)
                    advance(int(done[0]))
                with shared():
                    results = trial_outputs.collect(self.outputs, self.workspace, trials, target)
            finally:
                self.workspace.synchronize()  # memory is handed on when nobody writes to it any more
        if np.any(results.totals[:, tally.FAILED] > 0.0):
            raise DidNotConverge("an estimate did not reach its certified tolerance")
        return results

    @staticmethod
    def _go_on(launches: Sequence[Launch], stretches: int) -> None:
        """Go on by so many stretches between estimates, several times."""
        go_on, *settle = launches
        for _ in range(max(1, AHEAD // stretches)):
            for _ in range(stretches):
                go_on()
            for launch in settle:
                launch()


def run_trials(
    session: GpuSession, job: Job, numbers: range, *, precision: str, advance: Advance
) -> tuple[Trials, float]:
    """Those trials, in as many batches as they need, and the seconds that took once kernels were compiled."""
    size = min(most_trials(job, precision=precision, free=session.free_bytes()), len(numbers))
    runner = BatchRunner(session, job, precision=precision, most=size)
    started = time.perf_counter()
    parts, before = [], 0
    for start in range(0, len(numbers), size):
        batch = numbers[start : start + size]

        def progress(done: int, before: int = before) -> None:
            advance(before + done)

        parts.append(runner.run(batch, progress))
        before += len(batch) * job.horizon
    return Trials.joined(parts), time.perf_counter() - started
