"""Peers and ours on the same customers: regret and rounds a second, in one table.

    make peers                                                      # sets up both environments first
    python benchmarks/peers/run_all.py --python build/peers-venv/bin/python
    python benchmarks/peers/run_all.py --table                      # the table of the last run again

This program runs in our environment. Every peer runs in the other one, in a process of its own, on one thread. Rows
are written as they come; `--only NAME` measures anew the rows that contain NAME.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import ours
from export import paper_instance
from instance import Instance

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
ADAPTERS = {  # cheap ones first
    "gittins": "run_gittins.py",
    "vowpalwabbit": "run_vw.py",
    "coba": "run_coba.py",
    "river": "run_river.py",
    "bayesianbandits": "run_bayesianbandits.py",
    "mabwiser": "run_mabwiser.py",
}
DIMENSIONS = (2, 3)
HORIZON, TRIALS, SEED = 100_000, 3, 0
COLUMNS = ((2, ours.SHORT), (2, HORIZON), (3, HORIZON))  # what the table shows
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}

Row = dict[str, Any]  # name, private, settings, runs: {dimension: trials}, problem


def adapter(python: str, script: str, *arguments: str, limit: float = 60.0) -> tuple[list[Any], str]:
    """The JSON lines an adapter prints, and why it stopped early if it did."""
    command = [python, str(HERE / script), *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, env={**os.environ, **ONE_THREAD}, check=False
        )
    except FileNotFoundError:
        return [], "no environment for peers: make peers"
    except subprocess.TimeoutExpired:
        return [], f"stopped after {limit:.0f} s"
    problem = "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no message"])[-1]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith(("[", "{"))], problem


def peer_rows(python: str, name: str, files: dict[int, Path], only: str, limit: float) -> list[Row]:
    """One row a method of a peer; a peer that does not start has one row, which says why."""
    listed, problem = adapter(python, ADAPTERS[name])
    if not listed:
        return [{"name": name, "private": "no", "settings": "", "runs": {}, "problem": problem}]
    rows = []
    for method, settings in listed[0].items():
        row: Row = {"name": f"{name}: {method}", "private": "no", "settings": settings, "runs": {}, "problem": ""}
        if only not in row["name"]:
            continue
        for dimension, file in files.items():
            given = (str(file), "--method", method, "--limit", str(limit))
            # A trial's limit is in CPU seconds; on a busy machine the wall's clock may run several times as fast.
            row["runs"][str(dimension)], problem = adapter(python, ADAPTERS[name], *given, limit=10 * TRIALS * limit)
            row["problem"] = row["problem"] or problem
        print(line_of(row), flush=True)
        rows.append(row)
    return rows


def our_rows(group: str, instances: dict[int, Instance], only: str, limit: float) -> list[Row]:
    """Ours: the simulator's rows with the yardsticks, or the live pricers'."""
    rows = []
    for name, policy, calibration, private in ours.SIMULATED if group == "simulated" else ours.LIVE:
        if only not in name:
            continue
        measure = ours.simulated if group == "simulated" else ours.live
        if name.endswith("without its noise"):
            measure = functools.partial(ours.simulated, noise=False)
        runs = {str(d): measure(policy, calibration, each, SEED, limit) for d, each in instances.items()}
        rows.append({"name": name, "private": private, "settings": "defaults", "runs": runs, "problem": ""})
        print(line_of(rows[-1]), flush=True)
    for name, risk, private in ours.SHOPS if group == "simulated" else ():
        if only in name:
            runs = {str(d): ours.shop(risk, each, SEED) for d, each in instances.items()}
            rows.append({"name": name, "private": private, "settings": "defaults", "runs": runs, "problem": ""})
            print(line_of(rows[-1]), flush=True)
    name = "clairvoyant on the peers' 20 prices"
    if group == "simulated" and only in name:
        runs = {str(d): ours.on_the_grid(each) for d, each in instances.items()}
        rows.append({"name": name, "private": "a yardstick", "settings": "", "runs": runs, "problem": ""})
    return rows


def regret_cell(trials: list[list[Row]], rounds: int, longest: bool) -> str:
    """Mean and standard error over trials of the regret after that many rounds; a cut run says where it ended."""
    values = [1e4 * each["regret"] for trial in trials for each in trial if each["rounds"] == rounds]
    if len(values) == len(trials) and values:
        error = np.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
        return f"{np.mean(values):.2f} ± {error:.2f}"
    cut = [each for trial in trials for each in trial if each["cut"]]
    if cut and (longest or all(each["rounds"] < rounds for each in cut)):
        return f"{1e4 * np.mean([each['regret'] for each in cut]):.2f} (cut at {min(e['rounds'] for e in cut):,})"
    if values:
        return f"{np.mean(values):.2f} ({len(values)} of {len(trials)} trials)"
    return "not run" if longest else "-"


def speed(row: Row) -> float | None:
    """Rounds a CPU second over the longest run of every trial; a yardstick is no method to be timed."""
    ends = [trial[-1] for trials in row["runs"].values() for trial in trials if trial]
    if row["private"] == "a yardstick" or not ends:
        return None
    return float(sum(end["rounds"] for end in ends) / sum(end["seconds"] for end in ends))


def line_of(row: Row) -> str:
    """One line of the Markdown table."""
    private = row["private"].partition(",")[0]
    if row["problem"]:
        return f"| {row['name']} | {private} | did not run: {row['problem']} | | | |"
    cells = [
        regret_cell(row["runs"].get(str(dimension), []), rounds, rounds == HORIZON) for dimension, rounds in COLUMNS
    ]
    rate = speed(row)
    shown = "-" if rate is None else f"{float(f'{rate:.2g}'):,.0f}"
    return f"| {row['name']} | {private} | {' | '.join(cells)} | {shown} |"


def table(rows: list[Row]) -> str:
    """The Markdown table, best regret at d = 2, T = 10,000 first."""

    def key(row: Row) -> float:
        found = [trial[0]["regret"] for trial in row["runs"].get("2", []) if trial]
        return float(np.mean(found)) if found else math.inf

    heads = [f"d = {d}, T = {t:,}" for d, t in COLUMNS]
    head = f"| method | private | {' | '.join(heads)} | rounds/s |\n|---|---|{'---:|' * (len(heads) + 1)}"
    return "\n".join([head, *(line_of(row) for row in sorted(rows, key=key))])


def main() -> None:
    """Measure, write the results, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default="build/peers-venv/bin/python", help="of the peers' environment")
    parser.add_argument("--instances", type=Path, default=Path("build/peers"), help="folder for the instances")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--limit", type=float, default=120.0, help="CPU seconds a trial")
    parser.add_argument("--only", default="", help="measure the rows whose name contains this")
    parser.add_argument("--table", action="store_true", help="print the table of the results there are")
    given = parser.parse_args()
    kept: dict[str, Row] = {}
    if (given.only or given.table) and given.results.exists():
        kept = {row["name"]: row for row in json.loads(given.results.read_text())["rows"]}
    if given.table:
        print(table(list(kept.values())))
        return
    instances = {d: paper_instance(d, horizon=HORIZON, trials=TRIALS, seed=SEED) for d in DIMENSIONS}
    files = {d: given.instances / f"d{d}.npz" for d in DIMENSIONS}
    for dimension, instance in instances.items():
        instance.save(files[dimension])
    for name in ("simulated", *ADAPTERS, "live"):
        if name not in ADAPTERS:
            rows = our_rows(name, instances, given.only, given.limit)
        elif given.only.partition(":")[0] not in name:
            continue
        else:
            rows = peer_rows(given.python, name, files, given.only, given.limit)
        kept.update({row["name"]: row for row in rows})
        setting = {"horizon": HORIZON, "trials": TRIALS, "seed": SEED, "limit": given.limit}
        given.results.write_text(json.dumps({"setting": setting, "rows": list(kept.values())}, indent=1) + "\n")
    print(f"\n{table(list(kept.values()))}")


if __name__ == "__main__":
    sys.exit(main())
