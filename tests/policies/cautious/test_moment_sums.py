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
from tests.policies.cautious.moment_runs import Silent

from hushprice.errors import InvalidInput
from hushprice.noise import System, Tape
from hushprice.numerics import tape
from hushprice.policies.cautious.private import exact_batch
from hushprice.policies.cautious.private.exact_batch import ExactSums
from hushprice.policies.cautious.private.sums import Contributions, IdealSums
from hushprice.privacy.events import MomentBatches, grid_of

property_test = settings(deadline=None, derandomize=True, max_examples=40)
EVENT = MomentBatches(
    scores=3,
    descriptions=4,
    largest=0.1,
    own=(0.5,),
    noise=2.0,
    description_noise=5.0,
    earnings_noise=0.001,  # a grid finer than what numbers are cut to
    live=True,
)
SIZES = (3, 4, 2)
SCORE_NOISE = 2.2


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
    for sums, rows, noise in zip(released, given_records, (SCORE_NOISE, 5.0, 0.001), strict=True):
        assert [Fraction(float(value)) for value in sums] == [slow_sum(column, noise) for column in rows.T]


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
    for one, other, noise in zip(first, second, (SCORE_NOISE, 5.0, 0.001), strict=True):
        steps = np.concatenate([one, other]) / grid_of(noise)
        assert np.array_equal(steps, np.round(steps))
        assert not np.any(one == other)
        assert np.all(np.abs(one) < 12.0 * noise)  # wrong once in 10^31


def test_ideal_sums_have_the_noise_they_state() -> None:
    """With the tape's normals taken away, what is left is the sum."""
    given_records, source = added(np.random.default_rng(1), 9), Tape(5, 2)
    batch = IdealSums(sizes=SIZES, noise=(5.0, 7.0), source=source)
    batch.add(given_records)
    released, again = np.concatenate(batch.release(SCORE_NOISE, 9)), np.concatenate(batch.release(SCORE_NOISE, 10))
    deviations = np.repeat((SCORE_NOISE, 5.0, 7.0), SIZES)
    plain = IdealSums(sizes=SIZES, noise=(0.0, 0.0), source=source)
    plain.add(given_records)
    noise = (released - np.concatenate(plain.release(0.0, 9))) / deviations
    assert np.allclose(
        np.concatenate(plain.release(0.0, 9)), np.concatenate([rows.sum(axis=0) for rows in given_records])
    )
    assert noise == pytest.approx(source.normals(tape.ESTIMATE_NOISE, 9, sum(SIZES)), abs=1e-9)
    assert not np.any(released == again)


@pytest.mark.parametrize("live", [False, True])
def test_a_saved_batch_is_taken_up_where_it_was(live: bool) -> None:
    def batch() -> Any:
        return exact() if live else IdealSums(sizes=SIZES, noise=(5.0, 7.0), source=Tape(5, 2))

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
    batch = IdealSums(sizes=SIZES, noise=(5.0, 7.0), source=Tape(5, 2))
    with pytest.raises(InvalidInput, match=r"^the saved batch must be finite$"):
        batch.restore(np.full(sum(SIZES), math.nan).tobytes())


def test_exact_sums_are_for_live_events_alone() -> None:
    with pytest.raises(InvalidInput, match=r"^event must be for live noise, got"):
        ExactSums(event=replace(EVENT, live=False), source=System())
