"""The releases of one batch: exact sums plus the stated noise; live ones on a grid, as far apart as was paid for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice.errors import InvalidInput
from hushprice.mechanisms import whole_numbers
from hushprice.mechanisms.exact_sums import in_unit_balls
from hushprice.noise import System, Tape
from hushprice.numerics.jit import COMPILED
from hushprice.numerics.linear import packed_size
from hushprice.policies.newton.noise import column_norm, strategy
from hushprice.policies.newton.private import exact_batches
from hushprice.policies.newton.private.batches import IdealBatch
from hushprice.policies.newton.private.exact_batches import ExactBatch
from hushprice.policies.newton.private.scores import ROWS
from hushprice.privacy.events import Batches, grid_of
from hushprice.types import FloatArray

EVENT = Batches(dimension=3, score_noise=1.3, curvature_noise=1.6, levels=6, live=True)
Contribution = tuple[FloatArray, float, float]  # phi, and what it is multiplied by in the score and the curvature


WILD = [(math.nan, 1.0), (1.0, math.inf), (1e300, 1e300), (1.0, -5.0), (-math.inf, 0.0)]


class Silent(System):
    """The system's noise, left out."""

    def integers(self, scale: float, count: int) -> list[int]:
        return [0] * count


def contributions(seed: int, count: int, d: int = 3) -> list[Contribution]:
    """Records as far from each other as they can be: scores of length 1 and psi of length 1, a little past it too."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        phi = rng.normal(size=d)
        phi *= rng.choice([0.2, 1.0]) / np.linalg.norm(phi)
        norm = float(np.linalg.norm(phi))
        made.append(
            (phi, float(rng.choice([-1.0, 0.3, 1.0 + 1e-9])) / norm, float(rng.choice([0.1, 1.0 + 1e-9])) / norm**2)
        )
    return made


def add(batch: Any, each: Contribution) -> None:
    phi, pull, turn = each
    work = np.zeros((ROWS, 1))
    work[2:, 0] = pull, turn
    batch.add(phi.reshape(-1, 1), work)


def add_all(batch: Any, all_of_them: list[Contribution]) -> None:
    work = np.zeros((ROWS, len(all_of_them)))
    work[2] = [pull for _, pull, _ in all_of_them]
    work[3] = [turn for _, _, turn in all_of_them]
    batch.add(np.array([phi for phi, _, _ in all_of_them]).T.copy(), work)


def ideal(**noise: float) -> IdealBatch:
    given: dict[str, float] = {"score_noise": 0.0, "curvature_noise": 0.0} | noise
    return IdealBatch(dimension=3, source=Tape(1, 1), **given)


@pytest.mark.parametrize("level", [0, 2, 5])
def test_without_noise_both_release_the_sums(level: int) -> None:
    batches = [ideal(), ExactBatch(event=EVENT, source=Silent())]
    sums, score = np.zeros((3, 3)), np.zeros(3)
    for batch in batches:
        batch.begin(level)
    for block in range(2**level):
        for each in contributions(block, 7):
            for batch in batches:
                add(batch, each)
            sums += each[2] * np.outer(each[0], each[0])
            score += each[1] * each[0]
        for batch in batches:
            np.testing.assert_allclose(batch.look(block), sums[np.triu_indices(3)], rtol=1e-6, atol=1e-6)
    for batch in batches:
        np.testing.assert_allclose(batch.score(2**level), score, rtol=1e-6, atol=1e-6)


def test_ideal_noise_is_the_stated_noise() -> None:
    """One block: the decoder leaves the noise as it is."""
    draws = 4000 if COMPILED else 400
    batch = ideal(score_noise=2.0, curvature_noise=3.0)
    looks, released = np.empty((draws, 6)), np.empty((draws, 3))
    for n in range(draws):
        batch.begin(0)
        looks[n], released[n] = batch.look(n + 1), batch.score(n + 1)
    off = np.where(np.isin(np.arange(6), [0, 3, 5]), 1.0, math.sqrt(0.5))
    error = 6.0 / math.sqrt(2 * draws)
    np.testing.assert_allclose(looks.std(axis=0), 3.0 * column_norm(0) * off, rtol=error)
    np.testing.assert_allclose(released.std(axis=0), 2.0, rtol=error)


def test_live_noise_is_the_stated_noise_and_on_its_grid() -> None:
    draws = 300
    batch = ExactBatch(event=EVENT, source=System())
    looks, released = np.empty((draws, 6)), np.empty((draws, 3))
    for n in range(draws):
        batch.begin(0)
        looks[n], released[n] = batch.look(0), batch.score(0)
    off = np.where(np.isin(np.arange(6), [0, 3, 5]), 1.0, math.sqrt(0.5))
    error = 6.0 / math.sqrt(2 * draws)
    np.testing.assert_allclose(looks.std(axis=0), EVENT.curvature_noise * column_norm(0) * off, rtol=error)
    np.testing.assert_allclose(released.std(axis=0), EVENT.score_noise, rtol=error)
    steps = released / grid_of(EVENT.score_noise)
    np.testing.assert_array_equal(steps, np.round(steps))


def published(monkeypatch: pytest.MonkeyPatch, level: int, blocks: list[list[Contribution]]) -> tuple[Any, Any]:
    """What a batch publishes before noise: C x row by row, and the score; both as they are, on their grids."""
    batch = ExactBatch(event=EVENT, source=Silent())
    batch.begin(level)
    signals: list[float] = []
    real = whole_numbers.toeplitz.decode

    def decode(running: Any, poles: Any, zeros: Any, k: int, signal: float) -> float:
        signals.append(signal)
        return float(real(running, poles, zeros, k, signal))

    with monkeypatch.context() as patch:
        patch.setattr(whole_numbers.toeplitz, "decode", decode)
        for block in blocks:
            for each in block:
                add(batch, each)
            batch.look(0)
    return np.array(signals), batch.score(0)


@pytest.mark.parametrize("kind", ["ideal", "exact"])
def test_records_added_together_are_the_sums_of_records_added_one_by_one(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact_batches, "MOST_TERMS", 7)
    made = contributions(3, 40)
    if kind == "exact":
        made[5:9] = [(phi, *factors) for (phi, _, _), factors in zip(made[5:9], WILD, strict=False)]
    together, one_by_one = (ideal() if kind == "ideal" else ExactBatch(event=EVENT, source=Silent()) for _ in range(2))
    add_all(together, made[:1])
    add_all(together, made[1:])
    for each in made:
        add(one_by_one, each)
    assert together.state() == one_by_one.state()


@pytest.mark.parametrize("level", [0, 1, 4])
@pytest.mark.parametrize("seed", range(6))
def test_one_record_moves_a_batch_by_no_more_than_what_is_paid_for(
    level: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounding included: loss._of_batches charges two grid steps a number."""
    rng = np.random.default_rng(seed)
    blocks = [contributions(100 * seed + block, 3) for block in range(2**level)]
    at = int(rng.integers(2**level))
    phi, pull, turn = blocks[at][1]
    turned = np.linalg.qr(np.column_stack([phi, rng.normal(size=(3, 2))]))[0]
    opposite = (-phi, pull, turn) if seed % 2 else (turned[:, 1], 1.0, 1.0 + 1e-9)
    changed = [
        [opposite if (b, n) == (at, 1) else each for n, each in enumerate(block)] for b, block in enumerate(blocks)
    ]
    rows, score = published(monkeypatch, level, blocks)
    other_rows, other_score = published(monkeypatch, level, changed)
    column = column_norm(level)
    numbers = packed_size(3) * 2**level
    grid, score_grid = grid_of(EVENT.curvature_noise * column), grid_of(EVENT.score_noise)
    assert np.linalg.norm(rows - other_rows) <= math.sqrt(2.0) * column + 2.0 * grid * math.sqrt(numbers)
    assert np.linalg.norm(score - other_score) <= 2.0 + 2.0 * score_grid * math.sqrt(3.0)
    assert np.linalg.norm(rows - other_rows) + np.linalg.norm(score - other_score) > 0.0
    # and in units of curvature_noise that is within what the accountant adds
    assert grid / column <= 2.0 * grid_of(EVENT.curvature_noise)


@settings(deadline=None)
@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=5))
def test_a_vector_is_held_to_the_unit_ball_exactly(values: list[float]) -> None:
    whole = whole_numbers.in_unit_ball(np.clip(values, -2.0, 2.0))
    assert sum(value * value for value in whole) <= 1 << (2 * whole_numbers.UNIT_BITS)


@settings(deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.floats(-12.0, 18.0), st.booleans())
def test_what_is_held_to_the_unit_ball_stays_on_its_line(seed: int, d: int, power: float, near: bool) -> None:
    """loss._CUT pays for 3 units of 2^-40 a number, in each of two worlds: scores and psi are multiples of phi."""
    rng = np.random.default_rng(seed)
    line = rng.normal(size=d)
    line /= np.linalg.norm(line)
    length = 1.0 + 1e-12 * power if near else 10.0**power
    (held,) = {
        tuple(whole_numbers.in_unit_ball(length * line)),
        tuple(in_unit_balls(length * line[:, None])[:, 0].tolist()),
    }
    vector = np.array(held, dtype=float) * 2.0**-whole_numbers.UNIT_BITS
    off = vector - min(length, 1.0) * line
    assert np.linalg.norm(off) <= 3.0 * 2.0**-whole_numbers.UNIT_BITS * math.sqrt(d) * (1.0 + 1e-3)


def test_a_score_too_long_is_shortened_along_its_line() -> None:
    for add_to in (add, lambda batch, each: add_all(batch, [each, each])):
        batch = ExactBatch(event=EVENT, source=Silent())
        add_to(batch, (np.array([0.6, -0.3, 0.1]), 1e300, 1e300))
        score = batch.score(0)
        np.testing.assert_allclose(score / np.linalg.norm(score), np.array([0.6, -0.3, 0.1]) / 0.46**0.5, atol=1e-8)


@pytest.mark.parametrize("factors", WILD)
def test_what_a_family_of_ones_own_makes_of_a_record_is_held_to_its_bounds(factors: tuple[float, float]) -> None:
    batch = ExactBatch(event=EVENT, source=Silent())
    add(batch, (np.array([0.6, -0.8, 0.0]), *factors))
    assert np.linalg.norm(batch.score(0)) <= 1.0 + 2.0 * grid_of(EVENT.score_noise)  # rounded to it once more
    packed = batch.look(0)
    matrix = np.zeros((3, 3))
    matrix[np.triu_indices(3)] = packed
    matrix += np.triu(matrix, 1).T
    assert np.linalg.norm(matrix) <= 1.0 + 1e-9
    assert np.all(np.diag(matrix) >= 0.0)


def test_noise_is_drawn_before_the_sums_are_looked_at() -> None:
    class Failing(System):
        def integers(self, scale: float, count: int) -> list[int]:
            raise OSError("no randomness")

    batch = ExactBatch(event=EVENT, source=Failing())
    for each in contributions(1, 5):
        add(batch, each)
    before = batch.state()
    for release in (batch.look, batch.score):
        with pytest.raises(OSError, match="no randomness"):
            release(0)
    assert batch.state() == before


def test_live_noise_is_of_the_scale_its_level_asks_for() -> None:
    asked: list[float] = []

    class Asked(Silent):
        def integers(self, scale: float, count: int) -> list[int]:
            asked.append(scale)
            return [0] * count

    batch = ExactBatch(event=EVENT, source=Asked())
    for level in (0, 3, 6):
        batch.begin(level)
        batch.look(0)
        noise = EVENT.curvature_noise * strategy(level).column_norm(2**level)
        assert asked.pop() * grid_of(noise) == noise
    batch.score(0)
    assert asked.pop() * grid_of(EVENT.score_noise) == EVENT.score_noise


def test_an_event_for_simulated_noise_is_refused() -> None:
    with pytest.raises(InvalidInput, match="event must be for live noise"):
        ExactBatch(event=Batches(dimension=3, score_noise=1.0, curvature_noise=1.0, levels=0), source=System())


@pytest.mark.parametrize("kind", ["ideal", "exact"])
def test_a_batch_is_restored_as_it_was(kind: str) -> None:
    def fresh() -> Any:
        return ideal() if kind == "ideal" else ExactBatch(event=EVENT, source=Silent())

    batch, other = fresh(), fresh()
    batch.begin(3)
    for each in contributions(2, 9):
        add(batch, each)
        batch.look(0)
        add(batch, each)
    other.restore(batch.state(), 3)
    assert other.state() == batch.state()
    np.testing.assert_array_equal(other.look(0), batch.look(0))
    np.testing.assert_array_equal(other.score(0), batch.score(0))
    assert repr(batch).endswith("(<sensitive>)")


def test_a_state_of_something_else_is_refused() -> None:
    batch = ExactBatch(event=EVENT, source=Silent())
    batch.restore(batch.state(), 0)
    other = ExactBatch(
        event=Batches(dimension=2, score_noise=1.0, curvature_noise=1.0, levels=0, live=True), source=Silent()
    )
    for state in (b"", b"\x80", ideal().state(), other.state(), batch.state().replace(b"0 0 0", b"0 x 0")):
        with pytest.raises(InvalidInput, match="the saved batch"):
            batch.restore(state, 0)
    nan = np.full(len(ideal().state()) // 8, np.nan).tobytes()
    for state in (b"", nan):
        with pytest.raises(InvalidInput, match="the saved batch"):
            ideal().restore(state, 0)
    batch._decoded[:] = np.nan
    with pytest.raises(InvalidInput, match="the saved batch must be finite"):
        ExactBatch(event=EVENT, source=Silent()).restore(batch.state(), 0)
