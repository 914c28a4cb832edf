"""How the noise of a continual sum is arranged: the binary tree, or a Toeplitz factorization with a few buffers.

Releasing every prefix sum of x_1, x_2, ... means publishing A x, A lower triangular with ones. Both arrangements factor
A = B C, publish C x + z with independent Gaussian z, and let everybody multiply by B. One record enters column n of C,
so the sensitivity of the whole stream is that of one record times the longest column of C, and a released sum carries
noise of the length of a row of B. docs/proofs/continual_release.md has the argument, adaptive inputs included.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from hushprice import checks
from hushprice.errors import InvalidInput

SECTIONS = 5
# 1 - pole and 1 - zero alternate along a curve from about 1/steps to about 1, evenly spaced in the logarithm but for
# two bends. The four numbers were fitted once so that the noise stays within 1.1 % of the best Toeplitz factorization
# for 100 to 1e6 steps; they decide how much noise there is, never whether it is enough.
_LOW, _HIGH, _TWIST, _BEND = -0.81, -0.35, -0.04, 0.31
_ROUNDING, _UNIT = 1e-9, 2.0**-53  # column norms are raised by these shares, once and a step, for floating point


@dataclass(frozen=True, slots=True)
class Tree:
    """C has a row for every node: a record enters at most one node of each level."""

    levels: int

    def __post_init__(self) -> None:
        checks.whole(1, levels=self.levels)

    def column_norm(self, steps: int) -> float:
        """sqrt(levels): one 1 a level."""
        _check_tree(self, steps)
        return math.sqrt(self.levels)

    def row_norm(self, steps: int) -> float:
        """The prefix with the most nodes: the most ones in the binary digits of any n <= steps."""
        _check_tree(self, steps)
        steps = int(steps)
        return math.sqrt(max(steps.bit_length() - 1, steps.bit_count()))


@dataclass(frozen=True, slots=True)
class Toeplitz:
    """C is the Toeplitz matrix of prod_b (1 - zero_b x) / (1 - pole_b x): a cascade of first-order sections.

    Close to 1 / sqrt(1 - x), the best of all Toeplitz factorizations (Fichtenberger, Henzinger and Upadhyay 2023), but
    with one number of memory a section instead of all the past (McMahan et al., "A hassle-free algorithm for private
    learning in practice", 2024).
    """

    poles: tuple[float, ...]
    zeros: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.poles or len(self.poles) != len(self.zeros):
            raise InvalidInput(f"poles and zeros must be equally many, got {len(self.poles)} and {len(self.zeros)}")
        for pole, zero in zip(self.poles, self.zeros, strict=True):
            if not 0.0 <= zero <= pole < 1.0:  # then every section, so every entry of C, is non-negative
                raise InvalidInput(f"a section needs 0 <= zero <= pole < 1, got zero {zero!r} and pole {pole!r}")

    def column_norm(self, steps: int) -> float:
        """The first column is the longest: the others are the same numbers, cut off earlier."""
        raised = 1.0 + _ROUNDING + _UNIT * (len(self.poles) + 1) * steps
        return _response_norm(self.poles, self.zeros, steps) * raised

    def row_norm(self, steps: int) -> float:
        """The last row of B is the longest: the others are the same numbers, cut off earlier."""
        return _response_norm((*self.zeros, 1.0), (*self.poles, 0.0), steps)


Strategy = Tree | Toeplitz


def tree(horizon: int) -> Tree:
    """The tree over the T - 1 records a horizon ever sums: m = ceil(log2 T) levels (alg:private-cov), at least 1.

    >>> tree(100_000).levels, tree(2).levels, tree(1).levels
    (17, 1, 1)
    """
    checks.whole(1, horizon=horizon)
    return Tree(max(1, (int(horizon) - 1).bit_length()))


def toeplitz(horizon: int) -> Toeplitz:
    """The factorization for the T - 1 records a horizon ever sums."""
    steps = steps_of(horizon)
    low = math.log(1.0 / steps) + _LOW
    high = max(_HIGH, low)
    t = np.arange(2 * SECTIONS) / (2 * SECTIONS - 1)
    along = t + _TWIST * t * (1 - t) * (1 - 2 * t) + _BEND * t * (1 - t)
    roots = 1.0 - np.exp(low + (high - low) * along)
    return Toeplitz(tuple(map(float, roots[0::2])), tuple(map(float, roots[1::2])))


def steps_of(horizon: int) -> int:
    """How many records a horizon ever sums: nothing is priced after the last one; at least 1."""
    checks.whole(1, horizon=horizon)
    return max(1, int(horizon) - 1)


@functools.lru_cache(maxsize=256, typed=True)
def _response_norm(poles: tuple[float, ...], zeros: tuple[float, ...], steps: int) -> float:
    """The length of the first `steps` coefficients of prod (1 - zero x) / (1 - pole x).

    Section by section, since the products of polynomials would cancel: with one number of memory each, s_j, the signal
    after section j is signal + (pole_j - zero_j) s_j, and s_j becomes pole_j s_j + signal. So coefficient i is
    gain' M^(i-1) 1, and sum_i M^i 1 1' M'^i comes by doubling, for a billion steps as fast as for ten.
    """
    checks.whole(1, steps=steps)
    gain = np.array(poles) - np.array(zeros)
    memory = np.diag(poles) + np.tril(np.ones((gain.size, 1)) * gain, -1)
    gram, power = np.zeros_like(memory), np.eye(gain.size)
    for bit in bin(steps - 1)[2:]:
        gram = gram + power @ gram @ power.T
        power = power @ power
        if bit == "1":
            gram = memory @ gram @ memory.T + 1.0
            power = power @ memory
    return math.sqrt(1.0 + float(gain @ gram @ gain))


def _check_tree(strategy: Tree, steps: int) -> None:
    checks.whole(1, steps=steps)
    if steps >> strategy.levels:
        raise InvalidInput(f"a tree of {strategy.levels} levels holds {2**strategy.levels - 1} records, got {steps!r}")
