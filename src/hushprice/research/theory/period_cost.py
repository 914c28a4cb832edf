"""The time-complexity remark: a period costs O(d^3 ln T), besides the estimates."""

from __future__ import annotations

import time

import numpy as np

from hushprice.research.theory import sample_releases
from hushprice.research.theory.finding import CheckSize, FindingRow, GrowthCurve, TheoryFinding
from hushprice.research.theory.statistics import MISS, MeanInterval, all_of, at_most, power
from hushprice.simulation.run import prepare, run
from hushprice.types import FloatArray

NAME, LABEL = "period-cost", "remark (time complexity)"
RATE = 3.0  # power of d
NO_ESTIMATES = 1e12  # a ridge under which no determinant doubles


def nanoseconds(dimension: int, horizon: int, *, repeats: int, seed: int) -> FloatArray:
    """Time of one period, covariance and doubling test included, estimates left out: the faster half of the runs."""
    market = sample_releases.plain_market(dimension)
    job = prepare(
        "paper",
        calibration="published",
        market=market,
        horizon=horizon,
        epsilon=2.0,
        ridge=NO_ESTIMATES,
        seed=seed,
    )
    run(job, trials=1, workers=1)  # the first one reads compiled code
    times = []
    for _ in range(2 * repeats):
        started = time.process_time()  # of this process alone: others may be at work on the machine
        run(job, trials=1, workers=1)
        times.append(1e9 * (time.process_time() - started) / horizon)
    return np.sort(times)[:repeats]  # what slows a run down is never the algorithm


def check(size: CheckSize) -> TheoryFinding:
    """Time of a period against d, and against T at d = 2."""
    dimensions = size.pick((4, 8, 13), (3, 4, 6, 9, 13))
    horizon, repeats = size.pick(20_000, 100_000), size.pick(4, 8)
    times = [nanoseconds(each, horizon, repeats=repeats, seed=size.seed) for each in dimensions]
    slope = power(dimensions, times)
    horizons = (horizon, 4 * horizon, 16 * horizon)
    in_time = [nanoseconds(2, each, repeats=repeats, seed=size.seed) for each in horizons]
    in_horizon = power(horizons, in_time)
    answers = [at_most(slope, RATE), at_most(MeanInterval(in_horizon.value, in_horizon.low, in_horizon.value), 0.5)]
    rows: list[FindingRow] = [
        {"d": d, "T": t, "ns a period": round(float(np.median(each)), 1), "fastest": round(float(each.min()), 1)}
        for d, t, each in [
            *((d, horizon, each) for d, each in zip(dimensions, times, strict=True)),
            *((2, t, each) for t, each in zip(horizons, in_time, strict=True)),
        ]
    ]
    return TheoryFinding(
        label=LABEL,
        name=NAME,
        statement="The algorithm takes O(d^3 T ln T) time, besides O(d ln T) maximum-likelihood fits.",
        quantity="power of d in the time of a period",
        measured=slope.value,
        bound=RATE,
        holds=all_of(answers),
        vacuous=False,
        false_alarm=MISS,
        explanation=f"A period grows like d to the {slope} up to d = {max(dimensions)}, below d^3: the determinant is "
        f"the only cubic part and is small. In T it grows like T to the {in_horizon}: a running tree sum costs O(1) on "
        "average.",
        rows=tuple(rows),
        curves=(
            GrowthCurve(
                name="time of a period",
                axis="dimension d",
                x=tuple(map(float, dimensions)),
                y=tuple(float(each.mean()) for each in times),
                error=tuple(float(each.std(ddof=1)) / repeats**0.5 for each in times),
                rate=RATE,
            ),
        ),
    )
