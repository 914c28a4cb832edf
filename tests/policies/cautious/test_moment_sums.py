"""The sums of a batch: exact ones equal a slow reference in fractions, and what is published is on the noise's grid."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.policies.cautious.moment_runs import Silent

from hushprice.errors import InvalidInput
from hushprice.noise import System, Tape
from hushprice.numerics import tape
from hushprice.policies.cautious.private import exact_batch
from hushprice.policies.cautious.private.exact_batch import ExactSums
from hushprice.policies.cautious.private.sums import Contributions, IdealSums
from hushprice.privacy.events import LaplaceBatches, grid_of

property_test = settings(deadline=None, derandomize=True, max_examples=40)
EVENT = LaplaceBatches(
    contexts=1,
    least=0.0,
    most=0.1,
    scales=((2.2, 3.3),),
    descriptions=4,
    description_noise=5.0,
    earnings_scale=0.001,  # a grid finer than what numbers are cut to
    holdout_scale=0.7,
    live=True,
)
SIZES = (4, 4, 2)
SCORE_SCALES = np.array([2.2, 3.3, 2.2, 0.0])  # the last number is left out
SCORE_NOISE = SCORE_SCALES * math.sqrt(2.0)
SCALES = (SCORE_SCALES, np.full(4, 5.0), np.array([0.7, 0.001]))


def added(random: np.random.Generator, count: int) -> Contributions:
    return Contributions(*(random.uniform(-1.0, 1.0, size=(count, size)) for size in SIZES))


def exact(source: System | None = None) -> ExactSums:
    return ExactSums(event=EVENT, source=Silent() if source is None else source)


def slow_sum(column: Any, noise: float) -> Fraction:
    """Cut towards zero to 2^-40, added, rounded to the grid with halves up."""
    total = sum((Fraction(math.trunc(Fraction(float(value)) * 2**40), 2**40) for value in column), Fraction(0))
    steps = total / Fraction(grid_of(noise)) + Fraction(1, 2)
    return (steps.numerator // steps.denominator) * Fraction(grid_of(noise))


@property_test
@given(st.integers(0, 2**32 - 1), st.integers(0, 60))
def test_exact_sums_are_those_of_fractions(seed: int, count: int) -> None:
    batch, given_records = exact(), added(np.random.default_rng(seed), count)
    batch.add(given_records)
    released = batch.release(SCORE_NOISE, count)
    for sums, rows, noise in zip(released, given_records, SCALES, strict=True):
        expected = [slow_sum(*each) if each[1] > 0.0 else 0 for each in zip(rows.T, noise.tolist(), strict=True)]
        assert [Fraction(float(value)) for value in sums] == expected


@property_test
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 7))
def test_neither_order_nor_grouping_moves_an_exact_sum(seed: int, count: int, most_rows: int) -> None:
    random = np.random.default_rng(seed)
    given_records, order = added(random, count), random.permutation(count)
    one, many = exact(), exact()
    with pytest.MonkeyPatch.context() as patch:
        one.add(given_records)
        patch.setattr(exact_batch, "_MOST_ROWS", most_rows)
        for some in np.array_split(order, 3):
            many.add(Contributions(*(rows[some] for rows in given_records)))
    assert one.state() == many.state()


def test_rows_added_in_one_go_stay_below_64_bits() -> None:
    assert exact_batch._MOST_ROWS << exact_batch.UNIT_BITS <= 2**60


def test_live_releases_are_on_their_grids_and_never_the_same() -> None:
    batch = exact(System())
    first, second = (batch.release(SCORE_NOISE, 1) for _ in range(2))
    for one, other, scales in zip(first, second, SCALES, strict=True):
        for value, again, scale in zip(one, other, scales, strict=True):
            if scale == 0.0:
                assert value == again == 0.0
                continue
            assert (value / grid_of(scale)).is_integer()
            assert (again / grid_of(scale)).is_integer()
            assert value != again
            assert abs(value) < 80.0 * scale  # of Laplace noise wrong once in 10^34


def test_ideal_sums_have_the_noise_they_state() -> None:
    """With the sums taken away, what is left is made of the tape's normals: Laplace, normal, Laplace."""
    given_records, source = added(np.random.default_rng(1), 9), Tape(5, 2)
    batch = IdealSums(sizes=SIZES, noise=(5.0, (3.0, 7.0)), source=source)
    batch.add(given_records)
    released, again = np.concatenate(batch.release(SCORE_NOISE, 9)), np.concatenate(batch.release(SCORE_NOISE, 10))
    noise = released - np.concatenate([rows.sum(axis=0) for rows in given_records])
    normals = source.normals(tape.ESTIMATE_NOISE, 9, 4 + 4 * 6)
    a, b, c, d = normals[4:].reshape(4, 6)
    laplace = 0.5 * (a * a + b * b - c * c - d * d)
    expected = [
        *(SCORE_SCALES * laplace[:4]),
        *(5.0 * normals[:4]),
        *(np.array([3.0, 7.0]) * math.sqrt(0.5) * laplace[4:]),
    ]
    assert noise == pytest.approx(expected, abs=1e-9)
    assert not np.any((released == again) & (np.concatenate(SCALES) > 0.0))


def test_ideal_laplace_noise_has_its_law() -> None:
    """Kolmogorov and Smirnov, seeded: sound noise fails once in 10^6, and a scale a fifth too small always."""
    batch = IdealSums(sizes=(8, 0, 2), noise=(5.0, (3.0, 7.0)), source=Tape(5, 3))
    drawn = np.concatenate([batch.release(np.full(8, math.sqrt(2.0)), n)[0] for n in range(1, 1001)])
    assert stats.kstest(drawn, "laplace").pvalue > 1e-6
    assert stats.kstest(0.8 * drawn, "laplace").pvalue < 1e-12


@pytest.mark.parametrize("live", [False, True])
def test_a_saved_batch_is_taken_up_where_it_was(live: bool) -> None:
    def batch() -> Any:
        return exact() if live else IdealSums(sizes=SIZES, noise=(5.0, (3.0, 7.0)), source=Tape(5, 2))

    random = np.random.default_rng(2)
    first, second = added(random, 5), added(random, 4)
    whole, saved, taken_up = batch(), batch(), batch()
    whole.add(first)
    saved.add(first)
    taken_up.restore(saved.state())
    for each in (whole, taken_up):
        each.add(second)
    for one, other in zip(whole.release(SCORE_NOISE, 9), taken_up.release(SCORE_NOISE, 9), strict=True):
        assert np.array_equal(one, other)
    whole.begin()
    assert whole.state() == batch().state()
    for state in (b"", b"\xc1", saved.state()[:-1]):
        with pytest.raises(InvalidInput, match=r"^the saved batch"):
            taken_up.restore(state)
    assert "sensitive" in repr(whole)


def test_a_saved_batch_that_is_not_finite_is_refused() -> None:
    batch = IdealSums(sizes=SIZES, noise=(5.0, (3.0, 7.0)), source=Tape(5, 2))
    with pytest.raises(InvalidInput, match=r"^the saved batch must be finite$"):
        batch.restore(np.full(sum(SIZES), math.nan).tobytes())


def test_exact_sums_are_for_live_events_alone() -> None:
    with pytest.raises(InvalidInput, match=r"^event must be for live noise, got"):
        ExactSums(event=replace(EVENT, live=False), source=System())
