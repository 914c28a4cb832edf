"""The Toeplitz factorization against its matrices written out: a release is the exact sum plus a row of B times z.

C is built from the definition, the power series of prod (1 - zero x) / (1 - pole x), and B from C by solving, so
nothing is shared with the cascade under test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import linalg

from hushprice.mechanisms import toeplitz
from hushprice.numerics.jit import COMPILED
from hushprice.privacy import streams
from hushprice.privacy.streams import Toeplitz

LONGEST = 200 if COMPILED else 60
STRATEGIES = {
    "a horizon's": streams.toeplitz(LONGEST + 1),
    "a longer horizon's": streams.toeplitz(1_000_000),
    "the shortest": streams.toeplitz(2),
    "one section": Toeplitz((0.9,), (0.3,)),
    "no memory": Toeplitz((0.0,), (0.0,)),  # C is the identity, so B adds up all noise so far
}
every_strategy = pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES.keys())
Absorb = Callable[..., None]


def factors(strategy: Toeplitz, count: int) -> tuple[np.ndarray, np.ndarray]:
    """B and C, with A = B C the matrix of prefix sums."""
    series = np.zeros(count)
    series[0] = 1.0
    for pole, zero in zip(strategy.poles, strategy.zeros, strict=True):
        ratio = np.concatenate([[1.0], (pole - zero) * pole ** np.arange(count - 1)])  # of one section
        series = np.convolve(series, ratio)[:count]
    C = linalg.toeplitz(series, np.zeros(count))
    B = linalg.solve_triangular(C.T, np.tri(count).T).T  # B C = A
    return B, C


def state(strategy: Toeplitz, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    poles, zeros = np.array(strategy.poles), np.array(strategy.zeros)
    return np.zeros((1, size)), np.zeros((poles.size + 2, size)), poles, zeros


def releases(absorb: Absorb, strategy: Toeplitz, summands: np.ndarray, noises: np.ndarray) -> np.ndarray:
    """Every release of a stream, one row a record."""
    exact, running, poles, zeros = state(strategy, summands.shape[1])
    out = []
    for summand, noise in zip(summands, noises, strict=True):
        absorb(exact, running, poles, zeros, summand, noise.copy())
        out.append(running[0].copy())
    return np.array(out)


def check(absorb: Absorb, strategy: Toeplitz) -> None:
    """Two streams tell everything apart: record n is e_n without noise, or nothing with the noise e_n."""
    units, nothing = np.eye(LONGEST), np.zeros((LONGEST, LONGEST))
    np.testing.assert_array_equal(releases(absorb, strategy, units, nothing), np.tri(LONGEST))
    B, _ = factors(strategy, LONGEST)
    np.testing.assert_allclose(releases(absorb, strategy, nothing, units), B, rtol=1e-9, atol=1e-12)


def halved(*arguments: Any) -> None:
    """Planted: half the noise."""
    toeplitz.absorb(*arguments[:-1], 0.5 * arguments[-1])


def swapped(exact: Any, running: Any, poles: Any, zeros: Any, summand: Any, noise: Any) -> None:
    """Planted: C in place of its inverse."""
    toeplitz.absorb(exact, running, zeros, poles, summand, noise)


def forgetful(exact: Any, running: Any, poles: Any, zeros: Any, summand: Any, noise: Any) -> None:
    """Planted: the sections lose their memory."""
    running[1:-1] = 0.0
    toeplitz.absorb(exact, running, poles, zeros, summand, noise)


def undecoded(exact: Any, running: Any, poles: Any, zeros: Any, summand: Any, noise: Any) -> None:
    """Planted: every release gets fresh noise that is in no later one, so the average of many tells the sum."""
    toeplitz.absorb(exact, running, poles, zeros, summand, np.zeros(noise.size))
    running[0] += noise


@every_strategy
def test_a_release_is_the_exact_sum_plus_a_row_of_b_times_the_noise(strategy: Toeplitz) -> None:
    check(toeplitz.absorb, strategy)


@pytest.mark.parametrize("planted", [halved, swapped, forgetful, undecoded])
def test_planted_mistakes_are_caught(planted: Absorb) -> None:
    with pytest.raises(AssertionError):
        check(planted, streams.toeplitz(LONGEST + 1))


@every_strategy
def test_everything_released_can_be_computed_from_c_x_plus_z_alone(strategy: Toeplitz) -> None:
    """What the proof publishes is C x + z; all releases together are B times that, so they tell no more."""
    generator = np.random.default_rng(3)
    x, z = generator.uniform(-1, 1, (LONGEST, 3)), 5.0 * generator.normal(size=(LONGEST, 3))
    B, C = factors(strategy, LONGEST)
    np.testing.assert_allclose(releases(toeplitz.absorb, strategy, x, z), B @ (C @ x + z), rtol=1e-8, atol=1e-8)


@every_strategy
@pytest.mark.parametrize("count", [1, 2, 17, LONGEST])
def test_the_norms_the_accounting_uses_are_those_of_the_matrices(strategy: Toeplitz, count: int) -> None:
    B, C = factors(strategy, count)
    longest = np.linalg.norm(C, axis=0).max()
    assert longest <= strategy.column_norm(count) <= longest * (1 + 1e-8)
    assert strategy.row_norm(count) == pytest.approx(np.linalg.norm(B, axis=1).max(), rel=1e-8)


def test_the_last_release_has_the_noise_that_was_promised() -> None:
    count, trials = LONGEST, 4000 if COMPILED else 1000
    strategy = streams.toeplitz(count + 1)
    noises = np.random.default_rng(5).normal(size=(count, trials))  # an entry a trial: entries never meet
    last = releases(toeplitz.absorb, strategy, np.zeros((count, trials)), noises)[-1]
    ratio = np.mean(last**2) / strategy.row_norm(count) ** 2
    assert abs(ratio - 1.0) < 5 * np.sqrt(2 / trials)  # false alarm: 6e-7


@every_strategy
@pytest.mark.parametrize("first", [0, 1, 64])
@pytest.mark.parametrize("count", [1, 5, 33])
def test_many_records_at_once_are_the_same_records_one_by_one(strategy: Toeplitz, first: int, count: int) -> None:
    generator = np.random.default_rng(first)
    summands, noises = generator.normal(size=(2, 3, first + count))
    scales = np.array([0.5, 0.3, 7.0])
    one, many = state(strategy, 3), state(strategy, 3)
    for n in range(first):
        for each in (one, many):
            toeplitz.absorb(*each, summands[:, n].copy(), scales * noises[:, n])
    before = []
    for n in range(first, first + count):
        before.append(one[1][0].copy())
        toeplitz.absorb(*one, summands[:, n].copy(), scales * noises[:, n])
    released = np.full((3, count), np.nan)
    columns = summands[:, first:].copy(), noises[:, first:].copy()
    toeplitz.absorb_many(*many, count, *columns, scales, released)
    np.testing.assert_array_equal(released.T, before)
    for mine, theirs in zip(many, one, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_room_behind_the_records_is_neither_read_nor_written() -> None:
    """A chunk's arrays are longer than its last chunk's records."""
    strategy = streams.toeplitz(100)
    summands, noises = np.full((3, 9), np.nan), np.full((4, 9), np.nan)  # noise comes in rows of four
    summands[:, :5], noises[:3, :5] = 1.0, 0.25
    released, wide = np.full((3, 9), -7.0), state(strategy, 3)
    toeplitz.absorb_many(*wide, 5, summands, noises, np.ones(3), released)
    assert np.isfinite(wide[1]).all()
    assert np.isfinite(released[:, :5]).all()
    np.testing.assert_array_equal(released[:, 5:], -7.0)


def test_decoding_needs_what_was_published_and_nothing_else() -> None:
    """The live releaser decodes C x + z: row by row, and one entry at a time."""
    strategy = streams.toeplitz(40)
    B, _ = factors(strategy, 39)
    published = np.random.default_rng(6).normal(size=(39, 2))
    _, running, poles, zeros = state(strategy, 2)
    decoded = [[toeplitz.decode(running, poles, zeros, k, row[k]) for k in range(2)] for row in published]
    np.testing.assert_allclose(decoded, B @ published, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(running[0], 0.0)  # the release's place is not touched
