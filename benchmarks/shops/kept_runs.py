"""Runs kept in a file, a line each. What the file has is not run again: a benchmark may be stopped, and goes on."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

Job = tuple[Any, ...]  # of texts and numbers


def add_options(parser: argparse.ArgumentParser, file: str) -> None:
    """How a benchmark's runs are played and where they are kept."""
    parser.add_argument("--file", type=Path, default=Path(file), help="where runs are kept")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--part", type=_part, default=(1, 1), metavar="K/N", help="the K-th of N parts of all runs")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no run after so long")


def _part(text: str) -> tuple[int, int]:
    which, _, parts = text.partition("/")
    if not 1 <= int(which) <= int(parts):
        raise argparse.ArgumentTypeError(f"must be K/N with K in 1 to N, got {text!r}")
    return int(which), int(parts)


def read(path: Path) -> dict[Job, Any]:
    """What each run of a file found."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {tuple(each["job"]): each["found"] for each in map(json.loads, lines)}


def play(run: Callable[[Job], Any], jobs: list[Job], given: argparse.Namespace) -> dict[Job, Any]:
    """What each job found, from the file or played now; what time did not suffice for is missing."""
    which, parts = given.part
    have = read(given.file)
    waiting = [job for job in list(dict.fromkeys(jobs))[which - 1 :: parts] if job not in have]
    given.file.parent.mkdir(parents=True, exist_ok=True)
    begun, count = time.monotonic(), len(waiting)
    with ProcessPoolExecutor(given.workers) as pool, given.file.open("a") as file:
        running: dict[Future[Any], Job] = {}
        while waiting or running:
            late = time.monotonic() - begun > 60.0 * given.minutes
            while waiting and not late and len(running) < given.workers:
                job = waiting.pop(0)
                running[pool.submit(run, job)] = job
            if not running:
                break
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                # One write, so that two processes may add to one file.
                file.write(json.dumps({"job": running.pop(done), "found": done.result()}) + "\n")
                file.flush()
            print(f"\r{count - len(waiting) - len(running)} of {count}", end="", file=sys.stderr, flush=True)
    found = read(given.file)
    return {job: found[job] for job in jobs if job in found}
