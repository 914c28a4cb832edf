"""What every constant of noisy-newton is worth: each changed alone, on ten demand vectors that they were chosen on.

Constants that the compiled trial reads are changed in a copy of the source, which compiles anew (half a minute each).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":  # run as a program: find the package this file is part of
    sys.path[0] = str(HERE.parent)

import numpy as np  # noqa: E402

import hushprice  # noqa: E402
from hushprice.policies.newton import noise  # noqa: E402
from hushprice.policies.newton import rules as policy  # noqa: E402
from hushprice.simulation.run import prepare, run_trials, summarize  # noqa: E402
from hushprice.simulation.trial import Trials  # noqa: E402
from newton.common import TRAINING, Row, interval, markdown  # noqa: E402
from newton.instances import market_of  # noqa: E402

HORIZON, TRIALS = 10**5, 4
EPSILONS = (0.1, 1.0)
MARKETS = (
    ("main", 1, "uniform", False),
    ("main", 2, "skewed rows", False),
    ("intercept", 2, "uniform", True),
    ("main", 4, "uniform, theta_p >= 0.6", True),
)
VARIANTS: dict[str, tuple[float, ...]] = {
    "TRUST": (0.0, 0.2, 0.4),
    "BONUS": (0.0, 0.1, 1.0),
    "SPREAD": (0.0, 0.2, 0.5),
    "PROBE": (0.0, 0.125, 0.5),
    "REACH": (1.0, 3.0),
    "CLEAR": (0.25, 4.0),
    "NEAR": (0.125, 0.5),
    "CAP": (0.175, 0.7, 1.0),
    "PATIENCE": (0.15, 0.6),
    "SHORTEST": (2, 8),
    "CURVATURE_SHARE": (0.125, 0.5),
    "TRIGGER": (1.5, 6.0),
    "DISPERSION": (0.0, 0.2),
    "GROWTH": (1.25, 2.0),
    "KNOWN": (0.9, 1.0),
    "PRECISION": (1.0, 4.0),
    "NOISE_SHARE": (0.0, 1.0),
    "SPARE": (0.5, 2.0),
    "BLOCKS": (0.0625, 0.25),
}
COMPILED = ("GROWTH", "KNOWN", "PRECISION", "NOISE_SHARE", "SPARE", "BLOCKS")


def regrets() -> list[list[float]]:
    """A list a market and a budget: the mean regret of each training theta. No warm-up: one kernel is all it takes."""
    found = []
    for eps in EPSILONS:
        for instance in MARKETS:
            means = []
            for seed in TRAINING:
                job = prepare(
                    "noisy-newton", market=market_of(seed, *instance), horizon=HORIZON, epsilon=2 * eps, seed=seed
                )
                run = summarize(job, Trials.of(run_trials(job, range(TRIALS), os.cpu_count() or 1, None)), 1.0)
                means.append(float(run.regret.mean()))
            found.append(means)
    return found


def home(name: str) -> ModuleType:
    """The module a constant stands in."""
    return noise if name == "CURVATURE_SHARE" else policy


def under(constants: Mapping[str, float], find: Callable[[], list[list[float]]], program: str) -> list[list[float]]:
    """What `find` finds with other constants. `program` prints the same as JSON, for those that are compiled."""
    other = {name: value for name, value in constants.items() if value != getattr(home(name), name)}
    if any(name in COMPILED for name in other):
        return recompiled(other, program)
    before = {name: getattr(home(name), name) for name in other}
    try:
        set_constants(other)
        return find()
    finally:
        set_constants(before)


def set_constants(constants: Mapping[str, float]) -> None:
    """In this process. Noise is calibrated anew."""
    for name, value in constants.items():
        setattr(home(name), name, value)
    noise.calibrate.cache_clear()


def recompiled(constants: Mapping[str, float], program: str) -> list[list[float]]:
    """What a program prints with a copy of the source in build/newton, in a process of its own."""
    folder = HERE.parents[1] / "build" / "newton" / "-".join(f"{name}-{value:g}" for name, value in constants.items())
    shutil.rmtree(folder, ignore_errors=True)
    source = Path(hushprice.__file__).parent
    shutil.copytree(source, folder / "hushprice", ignore=shutil.ignore_patterns("__pycache__"))
    for name, value in constants.items():
        file = folder / "hushprice" / Path(str(home(name).__file__)).relative_to(source)
        text, count = re.subn(rf"^{name} = \S+", f"{name} = {value!r}", file.read_text(), flags=re.MULTILINE)
        if count != 1:
            raise ValueError(f"{name} must stand once in {file.name}, found {count} times")
        file.write_text(text)
    given = {**os.environ, "PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / "kernels")}
    done = subprocess.run([sys.executable, program], env=given, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def measure() -> Iterator[Row]:
    """One row a variant: how regret changes against the constants as they are."""
    base = regrets()
    for name, values in VARIANTS.items():
        now = getattr(home(name), name)
        for value in values:
            other = under({name: value}, regrets, __file__)
            each = (np.mean(other, axis=1) / np.mean(base, axis=1)).tolist()
            row = {"name": name, "now": now, "value": value, "changes": summary(base, other), "markets": each}
            print(line(row), np.round(each, 2), flush=True)
            yield row


def summary(base: list[list[float]], other: list[list[float]]) -> list[list[float]]:
    """For each budget: the mean over markets of log(regret after / regret before), with its interval over thetas."""
    before, after = np.array(base), np.array(other)
    found = []
    for number in range(len(EPSILONS)):
        rows = slice(number * len(MARKETS), (number + 1) * len(MARKETS))

        def change(picked: np.ndarray, rows: slice = rows) -> float:
            ratios = after[rows][:, picked].mean(axis=1) / before[rows][:, picked].mean(axis=1)
            return float(np.exp(np.log(ratios).mean()))

        found.append([change(np.arange(len(TRAINING))), *interval(change, len(TRAINING))])
    return found


def line(row: Row) -> list[str]:
    """A row as the table shows it."""
    return [
        f"`{row['name']}`",
        f"{row['now']:g}",
        f"{row['value']:g}",
        *(
            f"{100 * (at - 1):+.0f} ({100 * (low - 1):+.0f}, {100 * (high - 1):+.0f})"
            for at, low, high in row["changes"]
        ),
    ]


def table(rows: list[Row]) -> str:
    """The Markdown table, of the changes that are beyond chance at one budget at least."""
    telling = [row for row in rows if any(low > 1.0 or high < 1.0 for _, low, high in row["changes"])]
    return markdown(["constant", "is", "changed to", *(f"eps = {eps:g}, %" for eps in EPSILONS)], map(line, telling))


def misses(rows: list[Row]) -> list[str]:
    """Constants that would be better changed, beyond chance, at one budget and no worse at the other."""
    return [
        f"{row['name']} = {row['value']:g} would be better: {', '.join(line(row)[3:])}"
        for row in rows
        if any(high < 1.0 for _, _, high in row["changes"]) and all(at < 1.01 for at, _, _ in row["changes"])
    ]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(regrets()))
