"""Trials of a job on a GPU, in batches that fit its memory."""

from __future__ import annotations

import functools
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Sequence

import numpy as np

from hushprice.errors import DidNotConverge
from hushprice.policies.protocol import LEARNING, Policy
from hushprice.simulation import tally
from hushprice.simulation.change import world_of
from hushprice.simulation.gpu import device, framework, newton
from hushprice.simulation.gpu import kept as rooms
from hushprice.simulation.gpu.ahead import kernels_of
from hushprice.simulation.gpu.gate import Gate
from hushprice.simulation.gpu.memory import Piece
from hushprice.simulation.gpu.replay import Replay
from hushprice.simulation.gpu.shape import shape_of
from hushprice.simulation.gpu.toolkit import MEMORY, SIMULATED, lend, stream, wait
from hushprice.simulation.trial import Job, Trials, plan_of

Advance = Callable[[int], None]  # periods done in this batch
MOST = 131_072  # trials of a batch: with more, a large GPU gets no faster
LEARNING_MOST = 32_768  # of alg:framework: with twice as many a large GPU was slower by a fortieth
SMALL = 1 << 22  # bytes for what a job has besides its trials' rooms; what does not fit takes memory of its own
AHEAD = 1 if SIMULATED else 16  # turns begun before the host asks for news: else the device waits for it each time
_COMPILING = threading.Lock()  # the second thread finds what the first one compiled
GATE, _LOADED = Gate(), set[str]()  # kernels that this process has launched


class Runner:
    """One job, compiled, with rooms on the device for `most` trials, used for one batch after another.

    Jobs `beside` it, of the same `kin`, take part in every batch with the same trials; `most` is for each.
    """

    def __init__(
        self, job: Job, *, precision: str, most: int, beside: Sequence[Job] = (), piece: Piece | None = None
    ) -> None:
        """With a `piece` of memory that the caller takes back, or one of its own."""
        self.job, single = job, precision == "single"
        policy, self._jobs = _policy(job), 1 + len(beside)
        whole = self._jobs * most
        own: list[Piece] = []
        if piece is None and not SIMULATED:
            with device.in_one_line():
                piece = MEMORY.take(bytes_of(job, whole, precision=precision))
            own = [piece]
        for pieces in (own, lend(piece)):
            weakref.finalize(self, MEMORY.give, pieces)
        with _COMPILING, device.in_one_line():
            kind = framework.Turns if policy.newton is None else newton.Turns
            self.turns: framework.Turns | newton.Turns = kind(job, policy, most=whole, single=single, beside=beside)
            self.kept = rooms.rooms(job, whole, self.turns.estimates)
            kernels, nobody = set(kernels_of(job, precision)), range(1)  # a trial that is over: kernels return at once
            with GATE.shared() if kernels <= _LOADED else GATE.alone():
                self.turns.begin(nobody, self.kept, goes_on=False)
                self.turns.advance(nobody, self.kept)
                if self.turns.settles:
                    self.turns.settle(nobody, self.kept)
                wait()
            _LOADED.update(kernels)

    def run(self, numbers: range, advance: Advance) -> Trials:
        """Those trials of the first job, then of the next, all at once. Between some turns Ctrl-C gets through."""
        trials = self._jobs * len(numbers)
        done, before, place = np.zeros(1, dtype=np.int64), -1, None
        with device.in_one_line():
            try:
                with GATE.shared():
                    self.kept.done.copy_to_device(done, stream=stream())
                    self.turns.begin(numbers, self.kept)
                    go_on = Replay(functools.partial(self.turns.advance, numbers, self.kept))
                    settle = functools.partial(self.turns.settle, numbers, self.kept)
                    then = [Replay(settle)] if self.turns.settles else []
                while before < done[0] < trials * self.job.horizon:  # where an estimate failed, its trial stays behind
                    before = int(done[0])
                    many = self.turns.stretches(before // trials)
                    with GATE.shared():
                        for _ in range(max(1, AHEAD // many)):
                            for _ in range(many):
                                go_on()
                            for each in then:
                                each()
                        place = rooms.place_for(self.kept, trials) if place is None else place  # it is at work now
                        self.kept.done.copy_to_host(done, stream=stream())
                        wait()
                    advance(int(done[0]))
                with GATE.shared():
                    found = rooms.take(self.kept, trials, place)
            finally:
                wait()  # memory is handed on when nobody writes to it any more
        if np.any(found.totals[:, tally.FAILED] > 0.0):
            raise DidNotConverge("an estimate did not reach its certified tolerance")
        return found


def kin(job: Job) -> Hashable | None:
    """Jobs of one kin can run side by side; None: this one cannot.

    They differ by theta and seed alone, and those of alg:framework by their plans too, as far as its rooms are alike.
    """
    policy = _policy(job)
    world = world_of(job.market, job.horizon, None, job.customers)
    tables = world.stream.table.tobytes(), world.stream.table.shape, world.stream.weights.tobytes()
    market = job.horizon, shape_of(world, single=False), world.slope, world.bound, world.customers, tables
    if policy.newton is not None:
        return policy.newton, market
    if policy.code != LEARNING:
        return None
    plan = plan_of(policy, job.horizon, job.market.dimension)
    return plan.exact.shape, plan.running.shape, plan.poles.size, market


def fits(job: Job, *, precision: str, free: int | None = None) -> int:
    """How many trials a batch may have: what free memory holds (by default the device's), and no more than helps."""
    policy, single = _policy(job), precision == "single"
    kind = framework if policy.newton is None else newton
    each = kind.bytes_each(job, policy, single)
    most = MOST
    if policy.newton is None and policy.code == LEARNING:
        most = LEARNING_MOST
    return max(1, min(most, (device.free_bytes() if free is None else free) // each))


def bytes_of(job: Job, trials: int, *, precision: str) -> int:
    """Device memory that so many trials take at once."""
    policy = _policy(job)
    kind = framework if policy.newton is None else newton
    return SMALL + trials * kind.bytes_each(job, policy, precision == "single")


def run_trials(job: Job, numbers: range, *, precision: str, advance: Advance) -> tuple[Trials, float]:
    """Those trials, in as many batches as they need, and the seconds that took once kernels were compiled."""
    size = min(fits(job, precision=precision), len(numbers))
    runner = Runner(job, precision=precision, most=size)
    started = time.perf_counter()
    parts, before = [], 0
    for start in range(0, len(numbers), size):
        batch = numbers[start : start + size]

        def told(done: int, before: int = before) -> None:
            advance(before + done)

        parts.append(runner.run(batch, told))
        before += len(batch) * job.horizon
    return Trials.joined(parts), time.perf_counter() - started


def _policy(job: Job) -> Policy:
    assert isinstance(job.policy, Policy)  # places.unfit said so
    return job.policy
