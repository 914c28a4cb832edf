"""Everything that is measured on a GPU, in one command that fits a short loan of the machine.

Steps run in this order, each in a process of its own with a limit, and each leaves its output in the folder: NAME.txt,
and what else it writes. A step that fails or takes too long does not keep the next one from running. Summary last.

    python benchmarks/gpu_all.py --output out                    # all steps, 30 minutes at most
    python benchmarks/gpu_all.py --output out --step speed --step agreement
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLES = ("tab:non-private", "tab:diffeps", "tab:input-perturbation")


def steps(out: Path) -> dict[str, tuple[int, list[str]]]:
    """By name: seconds at most, and the command. The first three need neither polars nor matplotlib."""
    here, verb = str(out), ["-c", "from hushprice.cli import main; main()", "reproduce"]
    gpu = ["--device", "gpu"]
    drawn = ["benchmarks/map.py", *gpu, "--precision", "single", "--store", str(ROOT / "build" / "map")]
    speed = ["benchmarks/gpu.py", "--repeats", "2", "--paper-trials", "65536", "--output", here]
    return {
        "speed": (300, [*speed, "--policy", "paper", "--policy", "noisy-newton"]),
        "cells": (150, ["benchmarks/gpu_cells.py"]),
        "agreement": (300, ["-m", "tests.gpu_full.test_gpu"]),
        "tables": (180, [*verb, *TABLES, "--trials", "1000", *gpu, "--output", f"{here}/tables"]),
        "map": (420, [*drawn, "--output", f"{here}/map"]),
        "all": (600, [*verb, "all", "--trials", "1000", *gpu, "--output", f"{here}/all"]),
    }


def run(name: str, limit: int, command: list[str], out: Path) -> dict[str, object]:
    """One step; how it ended and how long it took."""
    started = time.perf_counter()
    with (out / f"{name}.txt").open("w") as file:
        try:
            code: int | str = subprocess.run(
                [sys.executable, *command], cwd=ROOT, stdout=file, stderr=subprocess.STDOUT, timeout=limit, check=False
            ).returncode
        except subprocess.TimeoutExpired:
            code = f"stopped after {limit} s"
    return {"step": name, "code": code, "seconds": round(time.perf_counter() - started, 1), "command": command}


def main() -> None:
    """Run the steps that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--step", action="append", choices=list(steps(Path())), help="repeat for more; default: all")
    args = parser.parse_args()
    out = args.output.resolve()
    out.mkdir(parents=True, exist_ok=True)
    ended = []
    for name, (limit, command) in steps(out).items():
        if args.step is None or name in args.step:
            ended.append(run(name, limit, command, out))
            print(f"{name}: {ended[-1]['code']}, {ended[-1]['seconds']} s", flush=True)
            print("".join((out / f"{name}.txt").read_text().splitlines(keepends=True)[-12:])[-1500:], flush=True)
            (out / "steps.json").write_text(json.dumps(ended, indent=1) + "\n")


if __name__ == "__main__":
    main()
