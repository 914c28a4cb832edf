"""A benchmark that was stopped goes on where it was, and two processes may share its runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.shops import kept_runs

JOBS = [("elastic", 1.0, number) for number in range(5)]


def options(path: Path, *given: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    kept_runs.add_options(parser, str(path))
    return parser.parse_args(["--workers", "1", *given])


def test_what_the_file_has_is_not_run_again(tmp_path: Path) -> None:
    asked: list[kept_runs.Job] = []

    def run(job: kept_runs.Job) -> list[float]:
        asked.append(job)
        return [job[2], 0.5]

    given = options(tmp_path / "build" / "runs.jsonl")
    assert kept_runs.play(run, JOBS[:2], given) == {JOBS[0]: [0, 0.5], JOBS[1]: [1, 0.5]}
    assert kept_runs.play(run, JOBS, given) == {job: [job[2], 0.5] for job in JOBS}
    assert asked == JOBS


def test_parts_share_all_runs_and_none_begins_when_time_is_over(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    assert kept_runs.play(len, JOBS, options(path, "--minutes", "0")) == {}
    first = kept_runs.play(len, JOBS, options(path, "--part", "1/2"))
    assert list(first) == JOBS[::2]
    assert kept_runs.play(len, JOBS, options(path, "--part", "2/2")) == dict.fromkeys(JOBS, 3)
