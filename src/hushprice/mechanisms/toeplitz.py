"""Continual sums by a Toeplitz factorization with one number of memory a section (privacy/streams.py).

Published is C x + z, and everybody may multiply by B = A inv(C). In real numbers that is the sum so far plus (B z)_n,
so here, where noise is ideal, z alone goes through B: the inverse cascade, then a running sum. The live releaser
(whole_numbers.py) filters x and decodes what was published, because its noise lives on a grid.

The state is two arrays the caller owns, shaped like the tree's: exact[0] is the exact sum (sensitive), running[0] the
release, running[1 + j] the memory of section j, and the last row of running the noise so far.
"""

from __future__ import annotations

from hushprice.numerics.jit import inlined, merged, step
from hushprice.types import FloatArray


@inlined
def decode(running: FloatArray, poles: FloatArray, zeros: FloatArray, k: int, signal: float) -> float:
    """Entry k of B times what was published so far, `signal` the newest: running[1:] is the memory it needs."""
    sections = poles.size
    for j in range(sections):
        memory = running[1 + j, k]
        running[1 + j, k] = zeros[j] * memory + signal
        signal += (zeros[j] - poles[j]) * memory
    running[1 + sections, k] += signal
    return running[1 + sections, k]


@inlined
def absorb(
    exact: FloatArray,
    running: FloatArray,
    poles: FloatArray,
    zeros: FloatArray,
    summand: FloatArray,
    noise: FloatArray,
) -> None:
    """Add the next record and its noise, both (size,): `decode` for all entries together. The noise is used up."""
    sections, signal = poles.size, noise
    for j in range(sections):  # a GPU has this loop once, not once an entry
        zero, gap = zeros[j], zeros[j] - poles[j]
        for k in range(signal.size):
            memory = running[1 + j, k]
            running[1 + j, k] = zero * memory + signal[k]
            signal[k] += gap * memory
    for k in range(signal.size):
        running[1 + sections, k] += signal[k]
        exact[0, k] += summand[k]
        running[0, k] = exact[0, k] + running[1 + sections, k]


@merged
def look(
    exact: FloatArray,
    running: FloatArray,
    poles: FloatArray,
    zeros: FloatArray,
    noise: float,
    scales: FloatArray,
    normals: FloatArray,
    out: FloatArray,
) -> None:
    """Release sums as they stand, exact (size,): for blocks of records, summed before they are looked at."""
    for k in range(exact.size):
        out[k] = exact[k] + decode(running, poles, zeros, k, noise * scales[k] * normals[k])


@step
def absorb_many(
    exact: FloatArray,
    running: FloatArray,
    poles: FloatArray,
    zeros: FloatArray,
    count: int,
    summands: FloatArray,
    noise: FloatArray,
    scales: FloatArray,
    released: FloatArray,
) -> None:
    """`absorb` the next `count` records, one column each, and note in `released` what was known before each."""
    for k in range(summands.shape[0]):
        for i in range(count):
            released[k, i] = running[0, k]
            exact[0, k] += summands[k, i]
            running[0, k] = exact[0, k] + decode(running, poles, zeros, k, scales[k] * noise[k, i])
