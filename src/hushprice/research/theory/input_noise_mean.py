"""subsec:input-perturbation, second point: noise on every input against noise on the mean."""

from __future__ import annotations

import math

import numpy as np

from hushprice.research.theory import runs
from hushprice.research.theory.finding import CheckSize, FindingRow, GrowthCurve, TheoryFinding
from hushprice.research.theory.statistics import MISS, power
from hushprice.types import FloatArray

NAME, LABEL = "input-noise-mean", "subsec:input-perturbation"
INPUT_RATE, OUTPUT_RATE = -0.5, -1.0  # powers of n


def errors(count: int, epsilon: float, *, trials: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """|mean of noisy inputs - mean| and |noisy mean - mean| for numbers in [0, 1]: sensitivity 1, and 1/n."""
    rng = np.random.default_rng([seed, count])
    inputs = np.array([abs(rng.laplace(0.0, 1.0 / epsilon, count).mean()) for _ in range(trials)])
    outputs = np.abs(rng.laplace(0.0, 1.0 / (epsilon * count), trials))
    return inputs, outputs


def check(size: CheckSize) -> TheoryFinding:
    """Both powers of n, and the ratio of the errors, sqrt(4n/pi)."""
    counts = size.pick((100, 400, 1_600, 6_400), (100, 400, 1_600, 6_400, 25_600))
    trials, epsilon = size.pick(2_000, 10_000), 1.0
    inputs, outputs = zip(*(errors(each, epsilon, trials=trials, seed=size.seed) for each in counts), strict=True)
    at_input, at_output = power(counts, inputs), power(counts, outputs)
    holds = at_input.low <= INPUT_RATE <= at_input.high and at_output.low <= OUTPUT_RATE <= at_output.high
    rows: list[FindingRow] = [
        {
            "n": count,
            "noise on inputs": round(float(a.mean()), 6),
            "2 / (sqrt(pi) epsilon sqrt(n))": round(2.0 / (math.sqrt(math.pi * count) * epsilon), 6),
            "noise on the mean": round(float(b.mean()), 6),
            "1 / (epsilon n)": round(1.0 / (epsilon * count), 6),
            "ratio": round(float(a.mean() / b.mean()), 1),
        }
        for count, a, b in zip(counts, inputs, outputs, strict=True)
    ]
    curves: tuple[GrowthCurve, ...] = (
        runs.curve("noise on inputs", "records n", counts, inputs, INPUT_RATE),
        runs.curve("noise on the mean", "records n", counts, outputs, OUTPUT_RATE),
    )
    return TheoryFinding(
        label=LABEL,
        name=NAME,
        statement="Releasing a mean with Laplace noise, the expected error is of order 1/(epsilon sqrt(n)) with noise "
        "on every input and 1/(epsilon n) with noise on the mean.",
        quantity="power of n with noise on inputs (the paper: -1/2)",
        measured=at_input.value,
        bound=INPUT_RATE,
        holds=holds,
        vacuous=False,
        false_alarm=2 * MISS,
        explanation=f"Powers are {at_input} and {at_output}: as stated, for numbers in an interval of length 1. The "
        f"errors differ by sqrt(4n/pi), so noise on inputs is {math.sqrt(4 * counts[-1] / math.pi):.0f} times worse at "
        f"n = {counts[-1]:,}.",
        rows=tuple(rows),
        curves=curves,
    )
