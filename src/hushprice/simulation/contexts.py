"""Who arrives: independent draws, oblivious adversarial streams, or a file.

Every stream is a function of (seed, trial, period), so it is fixed before the first price, as the paper's oblivious
adversary is. All entries lie in [-1, 1].
"""

from __future__ import annotations

from typing import NamedTuple

from hushprice.numerics import tape
from hushprice.numerics.functions import log
from hushprice.numerics.jit import merged, step
from hushprice.types import FloatArray

UNIFORM = 0
GAUSSIAN = 1
SEGMENTS = 2
FILE = 3
SORTED = 4
CORNERS = 5
BLOCKS = 6
LATE = 7

KINDS: dict[str, int] = {
    "uniform": UNIFORM,  # independent, uniform on the cube
    "gaussian": GAUSSIAN,  # independent, correlated normal with deviation 1/2, clipped to the cube
    "segments": SEGMENTS,  # independent, one of a few customer profiles
    "file": FILE,  # rows of a file in order, again from the top when they run out
    "sorted": SORTED,  # a drift: every entry sweeps the cube once over the horizon
    "corners": CORNERS,  # the corners of the cube in turn
    "blocks": BLOCKS,  # k equal stretches of time; each lights up one new entry and darkens the rest
    "late": LATE,  # like blocks, but the stretches begin right after the last k - 1 powers of two before the horizon
}


class Stream(NamedTuple):
    """A context stream as the kernels take it."""

    kind: int
    size: int  # k
    horizon: int
    table: FloatArray  # SEGMENTS: (profiles, k); FILE: (rows, k); GAUSSIAN: (k, k) lower factor; else (1, k)
    weights: FloatArray  # SEGMENTS: cumulative shares; else (1,)


@merged
def fill(stream: Stream, seed: int, trial: int, start: int, count: int, out: FloatArray) -> None:
    """Contexts of the periods start .. start + count - 1 into out[entry, i]."""
    k = stream.size
    if stream.kind == UNIFORM or stream.kind == SORTED:
        for j in range(0, k, 2):
            for i in range(count):
                first, second = tape.uniforms(seed, trial, start + i, tape.CONTEXTS, j // 2)
                out[j, i] = 2.0 * first - 1.0
                if j + 1 < k:
                    out[j + 1, i] = 2.0 * second - 1.0
        if stream.kind == SORTED:
            for j in range(k):
                sign = 1.0 if j % 2 == 0 else -1.0
                for i in range(count):
                    share = (start + i - 1 + 0.5 * (out[j, i] + 1.0)) / stream.horizon
                    out[j, i] = sign * (2.0 * share - 1.0)
    elif stream.kind == GAUSSIAN:
        _fill_gaussian(stream, seed, trial, start, count, out)
    else:
        for i in range(count):
            _fill_one(stream, seed, trial, start + i, i, out)


@step
def _fill_gaussian(stream: Stream, seed: int, trial: int, start: int, count: int, out: FloatArray) -> None:
    k = stream.size
    for i in range(count):
        tape.take_normals(seed, trial, start + i, tape.CONTEXTS, out[:k, i])
    for last in range(k):  # from the bottom up, because an entry is made of those above it
        j = k - 1 - last
        for i in range(count):
            total = 0.0
            for m in range(j + 1):
                total += stream.table[j, m] * out[m, i]
            out[j, i] = min(max(0.5 * total, -1.0), 1.0)


@step
def _fill_one(stream: Stream, seed: int, trial: int, period: int, i: int, out: FloatArray) -> None:
    k = stream.size
    draw, _ = tape.uniforms(seed, trial, period, tape.CONTEXTS, 0)
    if stream.kind == CORNERS:
        for j in range(k):
            out[j, i] = 1.0 if ((period - 1) >> (j % 62)) & 1 else -1.0
    elif stream.kind == BLOCKS or stream.kind == LATE:
        if stream.kind == BLOCKS:
            lit = (period - 1) * k // stream.horizon
        else:
            lit = max(0, k - 1 - (_doubling(stream.horizon) - _doubling(period)))
        for j in range(k):
            out[j, i] = 2.0 * draw - 1.0 if j == lit else 0.0
    else:
        row = (period - 1) % stream.table.shape[0]
        if stream.kind == SEGMENTS:
            row = 0
            while row < stream.weights.size - 1 and draw > stream.weights[row]:
                row += 1
        for j in range(k):
            out[j, i] = stream.table[row, j]


@step
def _doubling(period: int) -> int:
    """The e with 2^e < period <= 2^(e+1); -1 for the first period."""
    e = -1
    while (1 << (e + 1)) < period:
        e += 1
    return e


@step
def perturb(contexts: FloatArray, scale: float, seed: int, trial: int, start: int, count: int, out: FloatArray) -> None:
    """contexts + Laplace(scale) per entry: what an input-perturbation policy sees."""
    for j in range(contexts.shape[0]):
        for i in range(count):
            draw, _ = tape.uniforms(seed, trial, start + i, tape.INPUT_NOISE, j)
            centred = draw - 0.5
            size = -scale * log(1.0 - 2.0 * abs(centred))  # above zero: draws are never 0 or 1
            out[j, i] = contexts[j, i] + (size if centred >= 0.0 else -size)
