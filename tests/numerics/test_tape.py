"""The tape against the published Philox vectors, and its draws against the distributions they claim.

Statistical tests have fixed seeds. A right tape fails one of them with probability 1e-3 (once, when the seed is
chosen); a wrong one must fail by p < 1e-9.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hushprice.numerics import tape
from hushprice.numerics.jit import COMPILED

SIZE = 100_000 if COMPILED else 5_000
CALM, ALARM = 1e-3, 1e-9
STREAMS = [
    tape.CONTEXTS,
    tape.DEMAND,
    tape.EXPLORATION,
    tape.COVARIANCE_NOISE,
    tape.ESTIMATE_NOISE,
    tape.INPUT_NOISE,
]

addresses = st.tuples(
    st.integers(0, 2**63 - 1),  # seed
    st.integers(0, 2**32 - 1),  # trial
    st.integers(0, 2**63 - 1),  # period
    st.sampled_from(STREAMS),
    st.integers(0, 2**16 - 1),  # index
)


def words(*hexadecimal: str) -> list[np.uint64]:
    return [np.uint64(int(word, 16)) for word in hexadecimal]


def normal_rows(seed: int, trial: int, start: int, count: int, rows: int) -> np.ndarray:
    out = np.full((-(-rows // 4) * 4, count), np.nan)
    tape.fill_normals(seed, trial, tape.COVARIANCE_NOISE, start, count, rows, out)
    return out[:rows]


# philox4x32-10 in kat_vectors of the Random123 distribution, version 1.09
@pytest.mark.parametrize(
    ("counter", "key", "answer"),
    [
        ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
)
def test_philox_gives_the_published_answers(counter: str, key: str, answer: str) -> None:
    low, high = words(*key.split())
    assert list(tape.philox(low | high << np.uint64(32), *words(*counter.split()))) == words(*answer.split())


@settings(deadline=None, derandomize=True, max_examples=200)
@given(addresses, addresses)
def test_two_addresses_share_no_draw(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    # Philox permutes counters under one key, so distinct addresses of one seed can never give the same block.
    same_seed = (one[0], *other[1:])
    assert (tape.block(*one) == tape.block(*same_seed)) == (one == same_seed)


def test_neighbouring_addresses_differ_in_every_coordinate() -> None:
    blocks = {
        tape.block(*address) for address in itertools.product((0, 1, 2**32), (0, 1), (0, 1, 2**32), STREAMS, (0, 1))
    }
    assert len(blocks) == 3 * 2 * 3 * len(STREAMS) * 2


def test_stream_names_are_distinct() -> None:
    assert len(set(STREAMS)) == len(STREAMS)


def test_uniforms_never_reach_zero_or_one() -> None:
    none, full = np.uint64(0), np.uint64(0xFFFFFFFF)
    assert tape.unit(none, none) == 2.0**-53
    assert tape.unit(full, full) == 1.0 - 2.0**-53


def test_uniforms_are_symmetric_around_one_half() -> None:
    # The complement of the random bits gives exactly the complement of the uniform: no bias from rounding.
    full = np.uint64(0xFFFFFFFF)
    for high, low in np.random.default_rng(1).integers(0, 2**32, (200, 2), dtype=np.uint64):
        assert tape.unit(high, low) + tape.unit(full - high, full - low) == 1.0


def test_uniforms_are_uniform_and_the_two_of_a_pair_unrelated() -> None:
    pairs = np.array([tape.uniforms(7, 3, period, tape.DEMAND, 0) for period in range(SIZE)])
    for column in pairs.T:
        assert stats.kstest(column, "uniform").pvalue > CALM
        assert stats.kstest(column**1.3, "uniform").pvalue < ALARM  # a wrong law would be caught
    assert stats.pearsonr(pairs[:, 0], pairs[:, 1]).pvalue > CALM


def test_uniform_is_the_first_of_the_pair() -> None:
    assert tape.uniform(7, 3, 11, tape.DEMAND) == tape.uniforms(7, 3, 11, tape.DEMAND, 0)[0]


def test_normals_are_standard_and_the_four_of_a_block_unrelated() -> None:
    rows = normal_rows(11, 0, 0, SIZE, 4)
    for row in rows:
        assert stats.kstest(row, "norm").pvalue > CALM
        assert stats.kstest(1.3 * row, "norm").pvalue < ALARM  # a wrong scale would be caught
        assert stats.kstest(row + 0.2, "norm").pvalue < ALARM  # a wrong mean would be caught
    for one, other in itertools.combinations(rows, 2):
        assert stats.pearsonr(one, other).pvalue > CALM
        assert stats.pearsonr(one**2, other**2).pvalue > CALM  # Box and Muller share a radius; it must not show


def test_normals_of_neighbouring_trials_periods_and_streams_are_unrelated() -> None:
    base = normal_rows(11, 0, 0, SIZE, 1)[0]
    later, other_trial, other_seed = (normal_rows(*at, SIZE, 1)[0] for at in [(11, 0, 1), (11, 1, 0), (12, 0, 0)])
    out = np.empty((4, SIZE))
    tape.fill_normals(11, 0, tape.INPUT_NOISE, 0, SIZE, 1, out)
    for other in (later, other_trial, other_seed, out[0]):
        assert stats.pearsonr(base, other).pvalue > CALM


@settings(deadline=None, derandomize=True, max_examples=30)
@given(st.integers(0, 2**40), st.integers(1, 9), st.integers(0, 40), st.integers(1, 40))
def test_a_draw_depends_on_its_address_and_not_on_the_chunk(start: int, rows: int, left: int, right: int) -> None:
    whole = normal_rows(5, 2, start, left + right, rows)
    np.testing.assert_array_equal(whole[:, :left], normal_rows(5, 2, start, left, rows))
    np.testing.assert_array_equal(whole[:, left:], normal_rows(5, 2, start + left, right, rows))
    for row, column in itertools.product(range(rows), (0, left + right - 1)):
        single = tape.normals(5, 2, start + column, tape.COVARIANCE_NOISE, row // 4)[row % 4]
        assert whole[row, column] == single


def test_drawing_more_rows_shifts_nobody_elses_luck() -> None:
    np.testing.assert_array_equal(normal_rows(5, 2, 9, 20, 11)[:3], normal_rows(5, 2, 9, 20, 3))


@pytest.mark.skipif(not COMPILED, reason="there is nothing compiled to compare with")
def test_the_compiled_tape_repeats_the_plain_source_bit_for_bit() -> None:
    compiled, plain = normal_rows(3, 1, 2**33, 50, 8), np.empty((8, 50))
    tape.fill_normals.py_func(3, 1, tape.COVARIANCE_NOISE, 2**33, 50, 8, plain)
    np.testing.assert_array_equal(compiled, plain)
    assert tape.normals(3, 1, 7, tape.DEMAND, 0) == tape.normals.py_func(3, 1, 7, tape.DEMAND, 0)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 9])
def test_normals_of_one_period_are_those_of_a_stretch(count: int) -> None:
    out = np.full(count, np.nan)
    for period in (1, 77, 2**40):
        tape.take_normals(9, 2, period, tape.COVARIANCE_NOISE, out)
        assert out.tolist() == normal_rows(9, 2, period, 1, count)[:, 0].tolist()
