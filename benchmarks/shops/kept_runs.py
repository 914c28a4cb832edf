"""Runs kept in a file, a line each. What the file has is not run again: a benchmark may be stopped, and goes on."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
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
    have, until = read(given.file), time.monotonic() + 60.0 * given.minutes
    waiting = [job for job in list(dict.fromkeys(jobs))[which - 1 :: parts] if job not in have]
    given.file.parent.mkdir(parents=True, exist_ok=True)
    with given.file.open("a") as file:
        for count, (job, found) in enumerate(_played(run, waiting, given.workers, until), 1):
            file.write(json.dumps({"job": job, "found": found}) + "\n")  # once, so that two processes may write to it
            file.flush()
            print(f"\r{count} of {len(waiting)}", end="", file=sys.stderr, flush=True)
    every = read(given.file)
    return {job: every[job] for job in jobs if job in every}


def _played(run: Callable[[Job], Any], jobs: list[Job], workers: int, until: float) -> Iterator[tuple[Job, Any]]:
    """Jobs as they end; none begins after `until`."""
    left = itertools.takewhile(lambda job: time.monotonic() < until, jobs)
    if workers == 1:
        yield from ((job, run(job)) for job in left)
        return
    with ProcessPoolExecutor(workers) as pool:
        running = {pool.submit(run, job): job for job in itertools.islice(left, workers)}
        while running:
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(done), done.result()
                running.update((pool.submit(run, job), job) for job in itertools.islice(left, 1))
