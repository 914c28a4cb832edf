"""How long one cell of a table takes on a GPU, policy by policy: alone, where its time goes, and all of them at once.

A table's cells have a thousand trials and keep a large GPU busy for a fiftieth. So how long a trial waits for itself
counts, and whether cells really run side by side.

    python benchmarks/gpu_cells.py                      # T = 1e5, d = 2, a minute or two, most of it compilation
"""

from __future__ import annotations

import argparse
import threading
import time
from typing import Any

from gpu import seconds_of_kernels

from hushprice.simulation.gpu import device_facts
from hushprice.simulation.gpu.precompile import precompile
from hushprice.simulation.gpu.session import process_session
from hushprice.simulation.gpu.trial_batches import BatchRunner
from hushprice.simulation.run import prepare
from hushprice.simulation.trial import Job

CELLS = {
    "paper published": ("paper", "published"),
    "paper tight": ("paper", "tight"),
    "nonprivate": ("nonprivate", "tight"),
    "noisy-newton": ("noisy-newton", "tight"),
    "input-perturbation": ("input-perturbation", "tight"),
    "fixed": ("fixed", "tight"),
    "random": ("random", "tight"),
}


def seconds_of(runner: BatchRunner, trials: int) -> float:
    """Of one run."""
    started = time.perf_counter()
    runner.run(range(trials), lambda done: None)
    return time.perf_counter() - started


def in_a_thread(job: Job, args: Any, taken: dict[str, float], name: str) -> threading.Thread:
    """With a stream of its own, as a sweep runs it."""

    def run() -> None:
        started = time.perf_counter()
        runner = BatchRunner(process_session(), job, precision=args.precision, most=args.trials)
        runner.run(range(args.trials), lambda done: None)
        taken[name] = time.perf_counter() - started

    return threading.Thread(target=run)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--horizon", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=2)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--precision", default="single", choices=["double", "single"])
    args = parser.parse_args()
    why = device_facts.trouble()
    if why is not None:
        raise SystemExit(why)
    common = {"horizon": args.horizon, "dimension": args.dimension, "epsilon": 2.0, "seed": 1}
    jobs = {name: prepare(policy, calibration=how, **common) for name, (policy, how) in CELLS.items()}
    started = time.perf_counter()
    precompile(process_session(), list(jobs.values()), precision=args.precision)
    print(f"compiled in {time.perf_counter() - started:.0f} s; seconds of {args.trials} trials, T = {args.horizon:,}:")
    for name, job in jobs.items():
        runner = BatchRunner(process_session(), job, precision=args.precision, most=args.trials)
        alone = [seconds_of(runner, args.trials) for _ in range(2)]
        parts = seconds_of_kernels(runner, range(args.trials))
        spent = ", ".join(f"{part} {each['seconds']:.3f} in {each['launches']}" for part, each in parts.items())
        print(f"  {name:20} {min(alone):8.3f}   (with a wait after each launch: {spent})", flush=True)
    for times in (1, 3):
        taken: dict[str, float] = {}
        threads = [in_a_thread(job, args, taken, f"{name} {i}") for i in range(times) for name, job in jobs.items()]
        started = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(
            f"{len(threads)} cells at once: {time.perf_counter() - started:.3f}, the longest {max(taken.values()):.3f}"
        )


if __name__ == "__main__":
    main()
