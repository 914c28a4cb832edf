"""Everything that runs in numba's CUDA simulator, in one process: it prints what was found as JSON.

Run: NUMBA_ENABLE_CUDASIM=1 python -m tests.simulation.gpu.simulated FOLDER
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from tests.simulation.gpu.agreement import (
    CASES,
    PROBED,
    compare,
    compare_side_by_side,
    job_of,
    jobs_of_the_framework,
    jobs_of_the_prior,
    on_cpu,
)

from hushprice.cli import main
from hushprice.demand.family import LOGISTIC
from hushprice.errors import HushpriceError
from hushprice.price_search import certified, curve, one
from hushprice.research.sweeps.cell import Cell
from hushprice.research.sweeps.executors import open_executor
from hushprice.research.sweeps.gpu_executor import Gpu
from hushprice.research.sweeps.run import run_cells
from hushprice.research.sweeps.store import TrialStore
from hushprice.simulation.device import choose
from hushprice.simulation.gpu import precompile
from hushprice.simulation.gpu.policy_batches import kernel_names, most_trials
from hushprice.simulation.gpu.precompile import compile_one
from hushprice.simulation.gpu.session import GpuSession, process_session
from hushprice.simulation.gpu.substitutes import device_steps
from hushprice.simulation.gpu.trial_batches import BatchRunner
from hushprice.simulation.run import prepare, simulate
from hushprice.simulation.trial import Job

HORIZON, TRIALS = 40, 2  # of those in SLOW one trial
SLOW = ("paper printed", "paper published", "nonprivate", "nonprivate, poisson", "input-perturbation", "fixed")
PROBES = 100  # customers until a batch was a probe in some trial
SINGLE = ("noisy-newton", "paper published", "random")


def agreement() -> dict[str, Any]:
    """Every case in double precision, some in single."""
    found: dict[str, Any] = {}
    for name in CASES:
        job = job_of(name, HORIZON, epsilon=8.0)
        found[name] = compare(job, range(5, 6 if name in SLOW else 5 + TRIALS), "double")._asdict()
    for name in SINGLE:
        numbers = range(1 if name in SLOW else TRIALS)
        found[f"{name}, single"] = compare(job_of(name, HORIZON, epsilon=8.0), numbers, "single")._asdict()
    dimension_20 = job_of("noisy-newton, gaussian", 100, contexts=18, epsilon=8.0)
    found["noisy-newton, d = 20"] = compare(dimension_20, range(1), "double")._asdict()
    probes = job_of("noisy-newton, gaussian", PROBES, epsilon=100.0)
    first = next(number for number in range(100) if shortest(probes, number) < PROBED)
    numbers = range(first, first + 2)
    for precision in ("double", "single"):
        found[f"noisy-newton, probes, {precision}"] = compare(probes, numbers, precision)._asdict()
    found["noisy-newton, probes, double"]["shortest"] = shortest(probes, first)
    customers = job_of("noisy-newton", HORIZON, customers=7)
    found["noisy-newton, one trial's customers"] = compare(customers, range(TRIALS), "double")._asdict()
    return found


def shortest(job: Job, number: int) -> float:
    """By how much, in logarithms, the records of one trial grow in its shortest batch."""
    return float(np.min(np.diff(np.log(on_cpu(job, range(number, number + 1)).estimate_periods[0]))))


def prices(customers: int = 400) -> dict[str, Any]:
    """The price search in single precision beside the certified one, on curves of every kind the search knows."""
    single, rng, lost, kinds = device_steps(True)(one.price_of_one), np.random.default_rng(2), 0.0, set()
    short, long = np.zeros(certified.STACK, dtype=np.float32), np.zeros(certified.STACK)
    for _ in range(customers):
        first, second = rng.uniform(-0.5, 1.5, 2)
        size, up = 10 ** rng.uniform(-5, -1), rng.choice([-1.0, 0.0, 1.0])
        form = (first * second, -first - second, 1.0) if up else (first * first + 1e-3, -2.0 * first, 1.0)
        line = rng.uniform(-0.8, 0.4), rng.uniform(-1.2, 0.1), *((up or 1.0) * size * np.array(form))
        near = [np.float32(number) for number in line]
        found = single(LOGISTIC, np.float32(4.0), np.float32(1.0), *near, short)
        revenue, bonus = curve.Revenue(LOGISTIC, 4.0, *map(float, near[:2])), curve.Bonus(*map(float, near[2:]), 1.0)
        best = certified.best_price(LOGISTIC, 4.0, *map(float, near), 1.0, long)
        top, got = (curve.revenue_at(revenue, p) + curve.bonus_at(bonus, p) for p in (best, float(found)))
        lost = max(lost, float(top - got))
        kinds.add(type(found).__name__)
    return {"lost": lost, "kinds": sorted(kinds)}


def sweeps(folder: Path) -> dict[str, Any]:
    """Cells through the store: in pieces, stopped and gone on with, beside those of the CPU."""
    cells = [Cell(policy="random", horizon=30), Cell(policy="fixed", horizon=30, price=0.5)]
    with mock.patch.object(GpuSession, "free_bytes", return_value=3 * 10**3):
        size = most_trials(cells[0].prepare(), precision="double", free=process_session().free_bytes())
        executor = open_executor(device="gpu")
        assert isinstance(executor, Gpu)
        sizes = [len(piece.numbers) for piece in executor.cut({cells[0]: [range(5)]})]
        stopped: list[Any] = []

        def stop(done: int, whole: int) -> None:
            stopped.append((done, whole))
            if len(stopped) == 2:
                raise KeyboardInterrupt

        with contextlib.suppress(KeyboardInterrupt):
            run_cells(cells, trials=5, store=TrialStore(folder), executor=executor, progress=stop)
        kept = sorted(path.name for path in folder.iterdir())
        progress: list[Any] = []
        first = run_cells(
            cells, trials=5, store=TrialStore(folder), executor=executor, progress=lambda *at: progress.append(at)
        )
    again = run_cells(cells, trials=5, store=TrialStore(folder), executor=_Idle(choose("gpu")))
    here = run_cells(cells, trials=5, store=TrialStore(folder))
    direct = simulate("random", horizon=30, trials=5, device="gpu")
    return {
        "size": size,
        "sizes": sizes,
        "progress": progress,
        "kept when stopped": len(kept),
        "files": len(list(folder.iterdir())),
        "gpu keys": [cell.key_at(executor.chosen) for cell in cells],
        "cpu keys": [cell.key for cell in cells],
        "content": cells[0].content_at(executor.chosen),
        "cpu content": cells[0].content_at(choose("cpu")),
        "said": [first[cells[0]].device, first[cells[0]].precision, here[cells[0]].device],
        "regret": [result[cells[0]].regret.tolist() for result in (first, again, here)] + [direct.regret.tolist()],
        "fixed": [result[cells[1]].regret.tolist() for result in (first, again, here)],
    }


class _Idle(Gpu):
    """Must not be asked to run anything."""

    def run(self, pieces: Any, advance: Any) -> Any:
        assert not pieces
        return super().run(pieces, advance)


def command(*words: str) -> dict[str, Any]:
    """The command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    arguments = mock.patch.object(sys, "argv", ["hushprice", *words])
    with arguments, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


def commands(folder: Path) -> dict[str, Any]:
    """Verbs with --device."""
    small = ("--horizon", "20", "--trials", "3")
    return {
        "simulate": command("simulate", *small, "--device", "gpu", "--format", "json"),
        "single": command("simulate", *small, "--policy", "random", "--device", "gpu", "--precision", "single"),
        "auto": command("simulate", *small, "--policy", "random", "--device", "auto", "--format", "json"),
        "sweep": command(
            "sweep", "--policy", "random", *small, "--device", "gpu", "--format", "json", "--output", str(folder)
        ),
    }


class RecordingSession(GpuSession):
    """Says of every kernel what its launches were given."""

    def __init__(self) -> None:
        super().__init__()
        self.launched_with: list[Any] = []

    def kernels(self, kind: str, makers: Any, shape: Any) -> Any:
        real = super().kernels(kind, makers, shape)
        return {role: RecordedKernel(role, kernel, self.launched_with) for role, kernel in real.items()}


class RecordedKernel:
    """A kernel; what its launches are given goes into a list."""

    def __init__(self, role: str, kernel: Any, given: list[Any]) -> None:
        self.role, self.kernel, self.given = role, kernel, given

    def prepare(self, grid: Any, *arguments: Any) -> Any:
        self.given.append([self.role, kinds(arguments)])
        return self.kernel.prepare(grid, *arguments)


def kinds(value: Any) -> Any:
    """What a compiler knows of arguments."""
    if isinstance(value, tuple):
        return [type(value).__name__, *map(kinds, value)]
    return [np.dtype(value.dtype).str, value.ndim] if hasattr(value, "dtype") else type(value).__name__


def precompiled() -> dict[str, Any]:
    """Each kernel by itself: what is compiled, and whether it is for what a run launches it with."""
    results: dict[str, Any] = {}
    for policy in ("paper", "fixed", "noisy-newton"):
        for precision in ("single", "double"):
            job, session = prepare(policy, horizon=20), RecordingSession()
            BatchRunner(session, job, precision=precision, most=1)
            for name in kernel_names(job, precision):
                compiled: list[Any] = []
                with (
                    mock.patch.object(precompile, "KernelFiles"),
                    mock.patch.object(precompile, "argument_types", lambda given: given),
                    mock.patch.object(precompile.Kernel, "compile", only(compiled)),
                ):
                    assert compile_one(job, precision, name, (9, 0))
                role = name.partition(" ")[0]
                same = len(compiled) > 0 and all([role, each] in session.launched_with for each in compiled)
                results[f"{policy} {precision} {role}"] = same
    return results


def only(compiled: list[Any]) -> Any:
    """Instead of compiling: a list of what that would have been for."""
    return lambda self, types: compiled.append(kinds(types))


def failures() -> dict[str, str]:
    """What the driver says, in one line of ours."""
    job, said = prepare("random", horizon=20), {}

    class Failed(Exception):
        pass

    Failed.__module__ = "numba.cuda.cudadrv.driver"
    for name, text in {"memory": "[2] CUDA_ERROR_OUT_OF_MEMORY\nmore", "other": "[999] unknown\nmore"}.items():
        with mock.patch("hushprice.simulation.gpu.trial_outputs.allocate", side_effect=Failed(text)):
            try:
                simulate_on_gpu(job)
            except HushpriceError as problem:
                said[name] = str(problem)
    return said


def simulate_on_gpu(job: Any) -> None:
    from hushprice.simulation.run import run

    run(job, trials=1, device="gpu")


if __name__ == "__main__":
    started = time.perf_counter()
    places = Path(sys.argv[1])
    (places / "store").mkdir()
    report = {
        "agreement": agreement(),
        "side by side": [
            each._asdict()
            for jobs in (jobs_of_the_prior(3, 60), jobs_of_the_framework(60))
            for each in compare_side_by_side(jobs, range(5, 5 + TRIALS))
        ],
        "prices": prices(),
        "sweeps": sweeps(places / "store"),
        "commands": commands(places / "study"),
        "failures": failures(),
        "precompiled": precompiled(),
    }
    sys.stdout.write(json.dumps({**report, "seconds": time.perf_counter() - started}) + "\n")
