"""Cells side by side on one GPU, with a stand-in for what runs there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hushprice.research.planner import prior
from hushprice.research.sweeps import gpu_executor
from hushprice.research.sweeps.cell import Cell
from hushprice.research.sweeps.gpu_executor import Gpu
from hushprice.research.sweeps.trial_range import TrialRange
from hushprice.simulation import tally
from hushprice.simulation.device import ChosenDevice
from hushprice.simulation.gpu.memory_pool import MemoryBlock, MemoryPool
from hushprice.simulation.gpu.session import GpuSession
from hushprice.simulation.trial import Trials

BYTES = 512  # of a trial
CELLS = [Cell(policy="random", horizon=30 + i) for i in range(5)]


class Device(GpuSession):
    """Counts what runs at once."""

    def __init__(self) -> None:
        super().__init__(plain=True)
        self.lock, self.running, self.most, self.together = threading.Lock(), 0, 0, threading.Event()
        self.wanted = 1
        self.batches: list[int] = []
        self.used: list[str] = []  # streams
        self.free = 100 * BYTES
        self.times_asked = 0
        self.asked: list[int] = []  # bytes, of the driver
        self.memory = MemoryPool(self.allocate, lambda: None)

    def streams(self, count: int, *, urgent: bool = False) -> list[Any]:
        return [f"{urgent} {i}" for i in range(count)]

    def free_bytes(self) -> int:
        self.times_asked += 1
        return self.free

    def allocate(self, size: int) -> SimpleNamespace:
        self.asked.append(size)
        return SimpleNamespace(size=size)

    def enter(self) -> None:
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
            if self.running == self.wanted:
                self.together.set()
        assert self.together.wait(60)

    def leave(self) -> None:
        with self.lock:
            self.running -= 1


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Device:
    found = Device()

    class Runner:
        def __init__(
            self,
            session: GpuSession,
            job: Any,
            *,
            precision: str,
            most: int,
            beside: Sequence[Any],
            stream: str,
            block: MemoryBlock | None,
        ) -> None:
            self.horizon, self.jobs = job.horizon, [job, *beside]
            assert block is None or block.size >= BYTES * most * len(self.jobs)
            assert session is found
            found.used.append(stream)
            found.batches.append(len(self.jobs))

        def run(self, numbers: range, advance: Callable[[int], None]) -> Trials:
            found.enter()
            try:
                if self.horizon == 99:
                    raise ValueError("broken")
                advance(len(self.jobs) * len(numbers) * self.horizon)
                told = np.array([job.seed * 1000.0 + number for job in self.jobs for number in numbers])
                none = tuple(np.zeros(0, dtype=np.int64) for _ in told)
                return Trials(
                    totals=np.zeros((len(told), tally.TOTALS)), regret_at=told[:, None], estimate_periods=none
                )
            finally:
                found.leave()

    monkeypatch.setattr(gpu_executor, "BatchRunner", Runner)
    monkeypatch.setattr(gpu_executor, "AT_ONCE", 3)
    monkeypatch.setattr(gpu_executor, "Precompiler", Compiled)
    monkeypatch.setattr(gpu_executor, "most_trials", lambda job, precision, free: 4 * gpu_executor.SHARES)
    monkeypatch.setattr(gpu_executor, "batch_bytes", lambda job, trials, precision: BYTES * trials)
    monkeypatch.setattr(gpu_executor, "SMALL", 2 * BYTES)
    monkeypatch.setattr(gpu_executor, "process_session", lambda: found)
    return found


class Compiled:
    """All kernels are there, or come when the test says so."""

    late: frozenset[str] = frozenset()  # roles

    def __init__(self, session: Any, precision: str) -> None:
        self.on_ready: Callable[[], None] = lambda: None
        self.jobs: list[Any] = []

    def need(self, jobs: Sequence[Any]) -> None:
        self.jobs += jobs

    def ready(self, kernels: Sequence[str]) -> bool:
        return not any(kernel.partition(" ")[0] in self.late for kernel in kernels)

    def close(self) -> None:
        self.jobs.clear()


def executor() -> Gpu:
    return Gpu(ChosenDevice(device="gpu", library="test"))


def test_cells_run_side_by_side_and_all_come_back(gpu: Device) -> None:
    seen: list[int] = []
    gpu.wanted = 3
    pieces = executor().cut({cell: [range(6)] for cell in CELLS})
    ended = list(executor().run(pieces, seen.append))
    assert {(piece.cell, piece.numbers) for piece, _ in ended} == {(piece.cell, piece.numbers) for piece in pieces}
    assert gpu.most == 3
    assert set(gpu.used) <= {"True 0", "True 1", "True 2"}
    assert seen == sorted(seen)
    assert seen[-1] == 6 * sum(cell.horizon for cell in CELLS)


def test_the_longest_are_urgent(gpu: Device) -> None:
    cells = [Cell(policy="random", horizon=horizon) for horizon in (30, 60, 61, 120)]
    one = executor()
    list(one.run(one.cut({cell: [range(2)] for cell in cells}), lambda done: None))
    assert sorted(queue.partition(" ")[0] for queue in gpu.used) == ["False", "False", "True", "True"]


def test_no_more_than_memory_holds(gpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu.free = 7 * BYTES  # 4 a cell: one, and never two
    pieces = executor().cut({cell: [range(4)] for cell in CELLS})
    assert len(list(executor().run(pieces, lambda done: None))) == len(CELLS)
    assert gpu.most == 1
    assert gpu.asked == [7 * BYTES]  # once
    assert gpu.memory.idle == 7 * BYTES


def test_small_ones_go_first_where_a_large_one_has_to_wait_and_others_do_not(
    gpu: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu.free = 7 * BYTES
    first, second, third, small, last = CELLS
    asked = {first: range(4), second: range(4), third: range(3), small: range(2), last: range(2)}
    executed = executor()
    waiting = [
        executed._work(batches)
        for batches in executed._together(executed.cut({c: [r] for c, r in asked.items()}), 100 * BYTES)
    ]
    gpu.memory.reserve(7 * BYTES)
    begun = all_that_begin(waiting, executed)
    assert [work.batches[0][0].cell for work in begun] == [first, small]
    begun[0].give(gpu.memory)
    assert executed._next(waiting, begun).batches[0][0].cell == second  # type: ignore[union-attr]


def test_one_much_shorter_at_a_time_takes_the_memory_that_a_long_one_waits_for(
    gpu: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    horizons = 100, 100, 21, 20, 10, 10  # four trials each; there is memory for two
    cells = [Cell(policy="random", horizon=horizon, seed=seed) for seed, horizon in enumerate(horizons)]
    waiting = [
        gpu_executor.Work([[TrialRange(cell, range(4))]], (6 if i == 1 else 4) * BYTES, [])
        for i, cell in enumerate(cells)
    ]
    gpu.memory.reserve(9 * BYTES)
    one, running = executor(), list[gpu_executor.Work]()

    def begun() -> int | None:
        work = one._next(waiting, running)
        if work is None:
            return None
        running.append(work)
        return work.batches[0][0].cell.seed

    def end(seed: int) -> None:
        (work,) = [work for work in running if work.batches[0][0].cell.seed == seed]
        running.remove(work)
        work.give(gpu.memory)

    assert [begun(), begun(), begun()] == [0, 3, None]  # 21 is not a fifth of 100
    end(0)
    assert [begun(), begun()] == [None, None]  # memory for another short one is there, but the long one would wait on
    end(3)
    assert [begun(), begun()] == [1, None]


@pytest.mark.parametrize(("first", "begun"), [(4, [98, 97, 95, 93]), (2, [98, 97, 96, 95, 93])])
def test_half_of_the_memory_is_left_for_a_large_one_that_comes_first_and_is_not_compiled_yet(
    gpu: Device, first: int, begun: list[int]
) -> None:
    sizes = {99: first, 90: 1, 98: 4, 97: 4, 96: 4, 95: 2, 94: 7, 93: 2}  # of 20; up to two is small
    waiting = [work_of(size, horizon) for horizon, size in sizes.items()]
    for work in waiting[:2]:
        work.kernels = ["estimate of it"]
    gpu.memory.reserve(20 * BYTES)
    one = executor()
    compiled: Any = one._compiler
    compiled.late = frozenset({"estimate"})
    running = all_that_begin(waiting, one)
    assert [work.horizon for work in running] == begun
    compiled.late = frozenset()
    assert one._next(waiting, running).horizon == 99  # type: ignore[union-attr]


def test_only_one_that_is_large_and_began_before_the_first_that_waits_keeps_others_from_it(gpu: Device) -> None:
    waiting = [work_of(6, 100), work_of(8, 100), work_of(7, 20), work_of(2, 50), work_of(3, 10), work_of(1, 10)]
    gpu.memory.reserve(12 * BYTES)
    # 8 waits, and 7 that may go before it finds no memory; 2 and 1 are small.
    assert [work.bytes // BYTES for work in all_that_begin(waiting, executor())] == [6, 2, 3, 1]


def test_the_longest_lie_at_the_beginning_of_the_memory_and_others_at_the_end(gpu: Device) -> None:
    waiting = [work_of(3, 30), work_of(4, 60), work_of(2, 30), work_of(5, 60)]
    for work in waiting:
        work.urgent = work.horizon == 60
    gpu.memory.reserve(20 * BYTES)
    assert [work.memory.start // BYTES for work in all_that_begin(waiting, executor())] == [17, 0, 15, 4]


def work_of(trials: int, horizon: int) -> gpu_executor.Work:
    cell = Cell(policy="random", horizon=horizon)
    return gpu_executor.Work([[TrialRange(cell, range(trials))]], trials * BYTES, ["advance of it"])


def all_that_begin(waiting: list[gpu_executor.Work], one: Gpu) -> list[gpu_executor.Work]:
    begun: list[gpu_executor.Work] = []
    while (work := one._next(waiting, begun)) is not None:
        begun.append(work)
    return begun


def test_a_batch_larger_than_what_is_held_runs_alone_in_memory_of_its_own(
    gpu: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu.free = BYTES
    pieces = executor().cut({cell: [range(4)] for cell in CELLS})
    assert len(list(executor().run(pieces, lambda done: None))) == len(CELLS)
    assert gpu.most == 1


def test_nobody_takes_what_is_idle_while_a_batch_asks_the_driver_for_memory_of_its_own(gpu: Device) -> None:
    waiting, one = [work_of(9, 30), work_of(1, 30)], executor()
    gpu.memory.reserve(8 * BYTES)  # which the driver has to get back before it can give 9
    (alone,) = all_that_begin(waiting, one)
    assert (alone.bytes, alone.memory) == (9 * BYTES, None)
    (other,) = all_that_begin(waiting, one)
    assert other.memory is not None


def test_what_is_compiled_runs_while_the_rest_is_not(gpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Compiled, "late", frozenset({"release"}))
    made: list[Compiled] = []

    class Late(Compiled):
        def __init__(self, session: Any, precision: str) -> None:
            super().__init__(session, precision)
            made.append(self)

    monkeypatch.setattr(gpu_executor, "Precompiler", Late)
    late, early = Cell(policy="noisy-newton", horizon=50), CELLS[0]
    one = executor()
    ended = one.run(one.cut({late: [range(2)], early: [range(2)]}), lambda done: None)
    assert next(ended)[0].cell == early
    made[0].late = frozenset()
    made[0].on_ready()
    assert [piece.cell for piece, _ in ended] == [late]


def test_one_cell_of_each_kind_that_lacks_results_says_what_to_compile(gpu: Device) -> None:
    cells = [
        Cell(policy="random", horizon=30),
        Cell(policy="random", horizon=40),
        Cell(policy="fixed", horizon=30),
        Cell(policy="paper", horizon=30, dimension=3),
        Cell(policy="nonprivate", horizon=30, width=-1.0),  # refused in its turn
    ]
    one = executor()
    one.expect(cells, lambda cell: cell.policy != "fixed")
    asked = [(job.policy.name, job.horizon) for job in one._compiler.jobs]  # type: ignore[attr-defined]
    assert asked == [("random", 30), ("paper", 30)]
    one.close()
    assert not one._compiler.jobs  # type: ignore[attr-defined]


def test_kernels_that_take_longest_are_begun_first_whatever_the_order_of_the_cells(gpu: Device) -> None:
    one = executor()
    one.expect([Cell(policy=name, horizon=30) for name in ("noisy-newton", "nonprivate", "random")], lambda cell: True)
    asked = [job.policy.name for job in one._compiler.jobs]  # type: ignore[attr-defined]
    assert asked == ["nonprivate", "random", "noisy-newton"]
    one.close()


def test_the_driver_is_not_asked_for_every_cell_how_much_memory_is_free(
    gpu: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu.free = 1000
    monkeypatch.setattr(gpu_executor, "most_trials", lambda job, precision, free: free)
    pieces = executor().cut({cell: [range(4)] for cell in alike_cells(50)})
    assert len(list(executor().run(pieces, lambda done: None))) == 50
    assert gpu.times_asked == 2


def test_an_error_on_the_device_is_an_error_here(gpu: Device) -> None:
    pieces = executor().cut({cell: [range(4)] for cell in [CELLS[0], Cell(policy="random", horizon=99)]})
    with pytest.raises(ValueError, match="broken"):
        list(executor().run(pieces, lambda done: None))
    assert gpu.running == 0


def test_a_stop_reaches_every_thread(gpu: Device) -> None:
    def stop(done: int) -> None:
        raise KeyboardInterrupt

    pieces = executor().cut({cell: [range(40)] for cell in CELLS})
    with pytest.raises(KeyboardInterrupt):
        list(executor().run(pieces, stop))
    assert gpu.running == 0


def alike_cells(count: int, horizon: int = 50, epsilon: float = 1.0) -> list[Cell]:
    markets = prior.markets(1, count=count)
    return [
        Cell(policy="noisy-newton", horizon=horizon, epsilon=epsilon, market=market, seed=seed)
        for seed, market in enumerate(markets)
    ]


def test_cells_that_differ_by_theta_and_seed_share_a_batch_and_get_their_own_trials(
    gpu: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_executor, "most_trials", lambda job, precision, free: 1000 * gpu_executor.SHARES)
    cells, seen = [*alike_cells(5), *alike_cells(2, horizon=51), *alike_cells(2, epsilon=2.0), CELLS[0]], list[int]()
    pieces = executor().cut({cell: [range(3, 7)] for cell in cells})
    ended = list(executor().run(pieces, seen.append))
    assert sorted(gpu.batches) == [1, 2, 2, 5]
    assert {piece.cell for piece, _ in ended} == set(cells)
    for piece, block in ended:
        assert block.numbers == piece.numbers
        assert block.regret_at[:, 0].tolist() == [piece.cell.seed * 1000.0 + number for number in range(3, 7)]
    assert seen[-1] == sum(piece.periods for piece in pieces)


def test_cells_of_other_trials_or_several_pieces_or_too_many_stay_apart(
    gpu: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_executor, "most_trials", lambda job, precision, free: 8 * gpu_executor.SHARES)
    one, two, three, four, five = alike_cells(5)
    asked = {
        one: [range(4)],
        two: [range(1, 5)],
        three: [range(12 * gpu_executor.SHARES)],
        four: [range(2), range(3, 5)],
        five: [range(4)],
    }
    assert sizes(asked) == [[2], [1], [1, 1], [1, 1]]
    assert sizes({cell: [range(4)] for cell in alike_cells(5)}) == [[2], [2], [1]]


def test_cells_of_the_framework_share_a_batch_where_their_arrays_are_alike(
    gpu: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_executor, "most_trials", lambda job, precision, free: 1000 * gpu_executor.SHARES)
    alike = [
        Cell(policy="paper", calibration=how, horizon=64, epsilon=epsilon)
        for how in ("published", "printed")
        for epsilon in (1.0, 2.0)
    ]
    apart = [
        Cell(policy="paper", calibration="tight", horizon=64),
        Cell(policy="paper", calibration="published", horizon=65),
        Cell(policy="random", horizon=64),
        Cell(policy="clairvoyant", horizon=64),
    ]
    assert sizes({cell: [range(4)] for cell in (*alike, *apart)}) == [[4], [1], [1], [1], [1]]


def sizes(asked: dict[Cell, list[range]]) -> list[list[int]]:
    """How many cells are in each batch of each thread."""
    return [[len(batch) for batch in batches] for batches in executor()._together(executor().cut(asked), 1000)]


def test_nothing_to_do(gpu: Device) -> None:
    assert list(executor().run([], lambda done: None)) == []
    executor().close()
