"""How fast trials run on a GPU, beside all CPU cores, one core, and a plain NumPy loop, in trial-periods a second.

It prints a table, what each kernel takes of the GPU, and last one line of JSON with all of it. It needs numba-cuda and
neither polars nor opendp. Compilation is timed apart; every rate is the best of some repeats, host work included.

    python benchmarks/gpu.py                                     # T = 1e5, 65,536 trials of noisy-newton
    python benchmarks/gpu.py --horizon 20000 --trials 8192 --paper-trials 1024
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import naive
import numpy as np

from hushprice.simulation.gpu import device_facts
from hushprice.simulation.gpu.policy_batches import most_trials
from hushprice.simulation.gpu.precompile import precompile
from hushprice.simulation.gpu.session import Workspace, process_session
from hushprice.simulation.gpu.trial_batches import BatchRunner
from hushprice.simulation.run import prepare, run
from hushprice.simulation.trial import Job

POLICIES = {"noisy-newton": "tight", "paper": "published", "random": "tight"}
HEADS = ("GPU single", "GPU double", "all cores", "one core", "NumPy")
CPU_PERIODS = 20_000_000  # enough for a steady rate of all cores
UNUSED = {"registers": 0, "local_bytes": 0, "shared_bytes": 0}  # a policy without estimates never launches some


def job_of(policy: str, horizon: int, dimension: int) -> Job:
    """The paper's instance, eps1 = eps2 = 1."""
    return prepare(policy, calibration=POLICIES[policy], horizon=horizon, dimension=dimension, epsilon=2.0, seed=1)


def on_gpu(job: Job, trials: int, precision: str, repeats: int) -> dict[str, Any]:
    """Rate, compilation, the share of turns, and what the kernels take."""
    most = min(trials, most_trials(job, precision=precision, free=process_session().free_bytes()))
    started = time.perf_counter()
    runner = BatchRunner(process_session(), job, precision=precision, most=most)
    compiled = time.perf_counter() - started
    times, turns = [], [0]

    def count(done: int) -> None:
        turns[0] += 1

    for _ in range(repeats):
        turns[0] = 0
        started = time.perf_counter()
        for first in range(0, trials, most):
            runner.run(range(first, min(first + most, trials)), count)
        times.append(time.perf_counter() - started)
    return {
        "kernel_seconds": seconds_of_kernels(runner, range(min(most, trials))) if precision == "single" else {},
        "periods_per_second": job.horizon * trials / min(times),
        "seconds": times,
        "compile_seconds": compiled,
        "batch": most,
        "turns": turns[0],
        "kernels": {name: kernel.resources() or UNUSED for name, kernel in runner.batch.kernels.items()},
    }


class Timed:
    """A kernel that is waited for after every launch, and how long that took in all."""

    def __init__(self, kernel: Any, workspace: Workspace) -> None:
        self.kernel, self.workspace, self.seconds, self.launches = kernel, workspace, 0.0, 0

    def prepare(self, grid: Any, *arguments: Any) -> Any:
        """A launch, as a kernel prepares it."""
        launch = self.kernel.prepare(grid, *arguments)

        def call() -> None:
            self.workspace.synchronize()
            started = time.perf_counter()
            launch()
            self.workspace.synchronize()
            self.seconds += time.perf_counter() - started
            self.launches += 1

        return call


def seconds_of_kernels(runner: BatchRunner, numbers: range) -> dict[str, Any]:
    """Where the time of one batch goes, launch by launch; the sum is a little longer than without waiting."""
    batch, outputs, workspace = runner.batch, runner.outputs, runner.workspace
    real, whole = batch.kernels, len(numbers) * runner.job.horizon
    timed = {name: Timed(kernel, workspace) for name, kernel in real.items()}
    batch.kernels = timed  # type: ignore[assignment]
    try:
        workspace.copy(np.zeros(1, dtype=np.int64), outputs.done)
        batch.begin(numbers, outputs)
        launches = [batch.advance(numbers, outputs), *([batch.settle(numbers, outputs)] if batch.settles else [])]
        while int(workspace.to_host(outputs.done)[0]) < whole:
            for launch in launches:
                launch()
    finally:
        batch.kernels = real
    return {name: {"seconds": each.seconds, "launches": each.launches} for name, each in timed.items()}


def occupancy(registers: int, threads: int = 128, most: int = 65_536) -> int:
    """Warps of an SM that has this many registers, as far as registers bound them; 64 is full."""
    return min(64, most // max(1, registers * threads) * threads // 32) if registers else 0


def compile_all(jobs: Sequence[Job]) -> None:
    """Kernels of both precisions in processes of their own, and meanwhile the CPU's in this one."""
    started = time.perf_counter()
    with ThreadPoolExecutor(2) as pool:
        ended = [
            pool.submit(precompile, process_session(), jobs, precision=precision) for precision in ("single", "double")
        ]
        for job in jobs:
            run(job, trials=1, workers=1)
        for each in ended:
            each.result()
    print(f"compiled in {time.perf_counter() - started:.0f} s")


def on_cpu(job: Job, workers: int) -> float:
    """Trial-periods a second."""
    trials = max(workers, workers * (CPU_PERIODS // 16 // job.horizon) or 1)
    run(job, trials=workers, workers=workers)
    return max(run(job, trials=trials, workers=workers).periods_per_second for _ in range(3))


def numpy_loop(policy: str, horizon: int, dimension: int) -> float | None:
    """Of benchmarks/naive.py, which knows the paper's algorithm alone."""
    if policy != "paper":
        return None
    short = min(horizon, 20_000)
    return short / naive.run(short, dimension, 1.0, short**-2.0, "published", 1).seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--horizon", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=2)
    parser.add_argument("--trials", type=int, default=65_536, help="of noisy-newton and random")
    parser.add_argument("--paper-trials", type=int, default=4096)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, help="a folder for the line of JSON, as gpu.json")
    parser.add_argument("--policy", action="append", choices=list(POLICIES), help="repeat for more; default: all")
    args = parser.parse_args()
    why = device_facts.trouble()
    if why is not None:
        raise SystemExit(why)
    cores = len(os.sched_getaffinity(0))
    report: dict[str, Any] = {"device": device_facts.name(), "library": device_facts.library(), "cores": cores}
    report |= {"numpy": np.__version__, "python": platform.python_version(), **vars(args), "rows": []}
    compile_all([job_of(policy, args.horizon, args.dimension) for policy in args.policy or POLICIES])
    print(f"{device_facts.name()}, {device_facts.library()}, {cores} cores; d = {args.dimension}, T = {args.horizon:,}")
    print(f"{'trial-periods a second':24}" + "".join(f" {head:>12}" for head in HEADS))
    for policy in args.policy or POLICIES:
        job, trials = (
            job_of(policy, args.horizon, args.dimension),
            args.paper_trials if policy == "paper" else args.trials,
        )
        row: dict[str, Any] = {"policy": policy, "calibration": POLICIES[policy], "trials": trials}
        for precision, repeats in (("single", args.repeats), ("double", 1)):
            row[precision] = on_gpu(job, trials, precision, repeats)
            print(f"  {policy} {precision}: {row[precision]['periods_per_second']:.3g}", flush=True)
        row |= {"all_cores": on_cpu(job, cores), "one_core": on_cpu(job, 1)}
        row["numpy"] = numpy_loop(policy, args.horizon, args.dimension)
        report["rows"].append(row)
        rates = (row["single"]["periods_per_second"], row["double"]["periods_per_second"], row["all_cores"])
        shown = "".join(f" {rate:12.3g}" for rate in (*rates, row["one_core"]))
        print(f"{policy:24}{shown} {'-' if row['numpy'] is None else format(row['numpy'], '.3g'):>12}", flush=True)
    print("\nwhat a kernel takes: registers and local bytes a thread, shared bytes a block, warps an SM; seconds")
    for row in report["rows"]:
        for precision in ("single", "double"):
            for name, each in row[precision]["kernels"].items():
                spent = row[precision]["kernel_seconds"].get(name, {"seconds": math.nan, "launches": 0})
                sizes = f"{each['registers']:4} {each['local_bytes']:6} {each['shared_bytes']:6}"
                sizes += f" {occupancy(each['registers']):3} warps, {spent['seconds']:8.3f} s in {spent['launches']}"
                print(f"  {row['policy']:14} {precision:7} {name:9} {sizes}")
            print(f"  {row['policy']:14} {precision:7} {'compiled':9} {row[precision]['compile_seconds']:.1f} s")
    print(json.dumps(report, default=str))
    if args.output is not None:
        args.output.mkdir(parents=True, exist_ok=True)
        (args.output / "gpu.json").write_text(json.dumps(report, default=str, indent=1) + "\n")


if __name__ == "__main__":
    main()
