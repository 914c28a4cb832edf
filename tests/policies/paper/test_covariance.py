"""PrivateCov: what is released is the covariance plus the noise its event states, drawn once a record."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import linalg, stats

from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.mechanisms.continual_sum import empty_state, scales_of, sections_of
from hushprice.noise import Tape
from hushprice.numerics import tape
from hushprice.numerics.jit import COMPILED
from hushprice.numerics.linear import unpack
from hushprice.policies.paper.private.covariance import CovarianceReleaser, PrivateCov, outers
from hushprice.privacy import streams
from hushprice.privacy.events import (
    FROBENIUS,
    TRIANGLE,
    CovarianceStream,
    Event,
    NotPrivate,
    PerturbedEstimate,
    grid_of,
)
from hushprice.privacy.streams import Strategy, Toeplitz, Tree
from hushprice.releases import CovarianceRelease

CALM, ALARM = 1e-3, 1e-9  # a right releaser fails a seeded test with probability 1e-3; a wrong one must fail by 1e-9


class Spy:
    """A tape that remembers what was drawn from it."""

    label, secure, simulated = "spy", False, True

    def __init__(self, seed: int = 7) -> None:
        self.tape = Tape(seed, 0)
        self.drawn: list[tuple[int, int, int]] = []

    def normals(self, stream: int, period: int, count: int) -> np.ndarray:
        self.drawn.append((stream, period, count))
        return self.tape.normals(stream, period, count)

    def uniform(self, stream: int, period: int) -> float:
        raise AssertionError("a covariance needs no uniforms")


def event_of(
    horizon: int = 100, dimension: int = 3, noise: float = 2.0, name: str = "tree", layout: str = TRIANGLE
) -> CovarianceStream:
    strategy: Strategy = streams.tree(horizon) if name == "tree" else streams.toeplitz(horizon)
    steps = streams.steps_of(horizon)
    return CovarianceStream(strategy=strategy, steps=steps, dimension=dimension, noise=noise, layout=layout)


def releaser(
    horizon: int = 100,
    dimension: int = 3,
    noise: float = 0.0,
    source: Any = None,
    name: str = "tree",
    layout: str = TRIANGLE,
) -> PrivateCov:
    event: Event = event_of(horizon, dimension, noise, name, layout) if noise > 0.0 else NotPrivate()
    return PrivateCov(horizon=horizon, dimension=dimension, source=source or Spy(), event=event)


both_strategies = pytest.mark.parametrize("name", ["tree", "toeplitz"])
both_layouts = pytest.mark.parametrize("layout", [TRIANGLE, FROBENIUS])


def features(count: int, dimension: int = 3) -> np.ndarray:
    return np.random.default_rng(4).uniform(-1, 1, (count, dimension)) / math.sqrt(dimension)


def full(release: CovarianceRelease, dimension: int = 3) -> np.ndarray:
    matrix = np.empty((dimension, dimension))
    unpack(release.packed, dimension, matrix)
    return matrix


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
def test_without_noise_every_release_is_the_covariance(dimension: int) -> None:
    private, source = releaser(dimension=dimension), features(99, dimension)
    for n, phi in enumerate(source, start=1):
        release = private.absorb(phi)
        matrix = full(release, dimension)
        np.testing.assert_allclose(matrix, source[:n].T @ source[:n], rtol=1e-13, atol=1e-14)
        np.testing.assert_array_equal(matrix, matrix.T)
        assert (release.records, release.event) == (n, NotPrivate())


@both_strategies
@both_layouts
@pytest.mark.parametrize("noise", [0.0, 2.0])
def test_many_at_once_release_what_one_after_the_other_does(name: str, layout: str, noise: float) -> None:
    """To the last digits: the two kernels may fuse a multiplication with an addition, or not."""
    single, many = (releaser(noise=noise, source=Tape(7, 3), name=name, layout=layout) for _ in range(2))
    phi = features(99)
    expected = np.array([single.absorb(each).packed for each in phi])
    first = many.absorb_many(phi[:6].T.copy())
    middle = many.absorb(phi[6]).packed
    released = np.vstack([first, middle, many.absorb_many(phi[7:].T.copy())])
    np.testing.assert_allclose(released, expected, rtol=1e-13, atol=1e-13)
    with pytest.raises(BudgetExhausted, match="99 records are all"):
        many.absorb_many(phi[:1].T.copy())


def test_many_at_once_are_refused_before_anything_changes() -> None:
    private = releaser(noise=2.0, source=Tape(7, 3))
    empty = private.state()
    with pytest.raises(BudgetExhausted):
        private.absorb_many(features(100).T.copy())
    with pytest.raises(InvalidInput, match=r"^phi must have 3 rows, got shape"):
        private.absorb_many(features(5))
    assert private.state() == empty
    with pytest.raises(InvalidInput, match=r"^source must give the noise of many periods"):
        releaser(noise=2.0).absorb_many(features(2).T.copy())


def test_outer_packs_the_upper_triangle_row_by_row() -> None:
    packed = np.empty(6)
    outers(np.array([[9.0, 2.0], [9.0, 3.0], [9.0, 5.0]]), 1, 1, packed.reshape(-1, 1))
    np.testing.assert_array_equal(packed, [4.0, 6.0, 10.0, 9.0, 15.0, 25.0])


@both_strategies
def test_a_release_is_sealed_and_does_not_move_with_the_stream(name: str) -> None:
    private = releaser(noise=2.0, name=name)
    first = private.absorb(features(2)[0])
    before = first.packed.copy()
    private.absorb(features(2)[1])
    np.testing.assert_array_equal(first.packed, before)
    with pytest.raises(ValueError, match="read-only"):
        first.packed[0] = 0.0


@both_layouts
def test_noise_is_read_off_the_tape_by_period_once_a_record(layout: str) -> None:
    spy, scales = Spy(), scales_of(2.0, layout == FROBENIUS, 3)
    private, still = releaser(noise=2.0, source=spy, layout=layout), releaser()
    nodes: dict[int, np.ndarray] = {}
    for n, phi in enumerate(features(40), start=1):
        nodes[n] = scales * Tape(7, 0).normals(tape.COVARIANCE_NOISE, n, 6)
        added = private.absorb(phi).packed - still.absorb(phi).packed
        expected = sum(nodes[last] for last in {n >> level << level for level in range(n.bit_length())})
        np.testing.assert_allclose(added, expected, rtol=1e-12, atol=1e-12)
    assert spy.drawn == [(tape.COVARIANCE_NOISE, n, 6) for n in range(1, 41)]


@both_layouts
def test_a_toeplitz_stream_carries_b_times_the_noise_of_the_tape(layout: str) -> None:
    spy, scales = Spy(), scales_of(2.0, layout == FROBENIUS, 3)
    private, still = releaser(noise=2.0, source=spy, name="toeplitz", layout=layout), releaser()
    added = np.array([private.absorb(phi).packed - still.absorb(phi).packed for phi in features(40)])
    z = np.array([scales * Tape(7, 0).normals(tape.COVARIANCE_NOISE, n, 6) for n in range(1, 41)])
    np.testing.assert_allclose(added, b_of(streams.toeplitz(100), 40) @ z, rtol=1e-9, atol=1e-9)
    assert spy.drawn == [(tape.COVARIANCE_NOISE, n, 6) for n in range(1, 41)]


def b_of(strategy: Toeplitz, count: int) -> np.ndarray:
    """B = A inv(C), with C the power series of prod (1 - zero x) / (1 - pole x)."""
    series = np.eye(count)[0]
    for pole, zero in zip(strategy.poles, strategy.zeros, strict=True):
        section = np.concatenate([[1.0], (pole - zero) * pole ** np.arange(count - 1)])
        series = np.convolve(series, section)[:count]
    return np.linalg.solve(linalg.toeplitz(series, np.zeros(count)).T, np.tri(count).T).T


@both_strategies
def test_a_releaser_is_told_its_strategy_by_its_event(name: str) -> None:
    """The same tape, the same records, other noise; and without noise one answer."""
    noisy = releaser(noise=2.0, name=name)
    other = releaser(noise=2.0, name="toeplitz" if name == "tree" else "tree")
    mine, theirs = [[each.absorb(phi).packed for phi in features(5)][-1] for each in (noisy, other)]
    assert np.abs(mine - theirs).min() > 1e-3


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_frobenius_noise_has_the_same_size_in_every_direction_of_matrix_space(dimension: int) -> None:
    """The length of the noise's projection on a symmetric M of Frobenius norm 1 is `noise`, whatever M."""
    scales = np.empty((dimension, dimension))
    unpack(scales_of(3.0, True, dimension), dimension, scales)
    generator = np.random.default_rng(1)
    for root in generator.normal(size=(5, dimension, dimension)):
        M = root + root.T
        M /= np.linalg.norm(M)
        weights = np.triu(M) + np.triu(M, 1)  # <N, M> sums an off-diagonal entry of the triangle twice
        assert np.linalg.norm(weights * scales) == pytest.approx(3.0, rel=1e-12)
    np.testing.assert_array_equal(np.diag(scales), 3.0)
    np.testing.assert_array_equal(scales_of(3.0, False, dimension), 3.0)


def test_rooms_are_empty_and_sections_belong_to_toeplitz_alone() -> None:
    tree, toeplitz = streams.tree(100), streams.toeplitz(100)
    assert [room.shape for room in empty_state(tree, 3)] == [(7, 6), (8, 6)]
    assert [room.shape for room in empty_state(toeplitz, 3)] == [(1, 6), (streams.SECTIONS + 2, 6)]
    assert not any(room.any() for strategy in (tree, toeplitz) for room in empty_state(strategy, 3))
    assert [each.size for each in sections_of(tree)] == [0, 0]
    assert [tuple(each) for each in sections_of(toeplitz)] == [toeplitz.poles, toeplitz.zeros]


def test_without_noise_nothing_is_drawn() -> None:
    spy = Spy()
    releaser(source=spy).absorb(features(1)[0])
    assert spy.drawn == []


@both_strategies
@pytest.mark.parametrize("noise", [0.0, 2.0])
@pytest.mark.parametrize("stop", [0, 1, 15, 16])
def test_a_restored_releaser_goes_on_identically_and_never_draws_again(name: str, noise: float, stop: int) -> None:
    source, spy = features(40), Spy()
    steady = releaser(noise=noise, name=name)
    for phi in source[:stop]:
        steady.absorb(phi)
    saved = steady.state()
    expected = [steady.absorb(phi).packed for phi in source[stop:]]
    restored = releaser(noise=noise, source=spy, name=name)
    restored.restore(saved, stop)
    for n, (phi, packed) in enumerate(zip(source[stop:], expected, strict=True), start=stop + 1):
        release = restored.absorb(phi)
        np.testing.assert_array_equal(release.packed, packed)
        assert release.records == n
    assert [period for _, period, _ in spy.drawn] == (list(range(stop + 1, 41)) if noise > 0.0 else [])


@both_strategies
def test_a_saved_state_is_cut_off_from_the_stream(name: str) -> None:
    private = releaser(noise=2.0, name=name)
    saved = private.state()
    private.absorb(features(1)[0])
    assert saved == bytes(len(saved))
    assert private.state() != saved


@both_strategies
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_state_that_is_not_finite_is_refused(name: str, value: float) -> None:
    private = releaser(noise=2.0, name=name)
    numbers = np.frombuffer(private.state(), dtype="<f8").copy()
    numbers[-1] = value
    with pytest.raises(InvalidInput, match=r"^the saved covariance must be finite$"):
        private.restore(numbers.tobytes(), 1)
    assert private.absorb(features(1)[0]).records == 1


def test_a_state_of_the_other_strategy_or_cut_short_is_refused() -> None:
    private = releaser(noise=2.0)
    for state in (releaser(noise=2.0, name="toeplitz").state(), private.state()[:-1], b""):
        with pytest.raises(InvalidInput, match="another horizon"):
            private.restore(state, 1)


@pytest.mark.parametrize(
    ("horizon", "dimension", "count", "message"),
    [
        (1000, 3, 5, "another horizon"),
        (100, 2, 5, "another horizon"),
        (100, 3, 100, "another horizon"),
        (100, 3, -1, "count must"),
        (100, 3, math.nan, "count must"),
    ],
)
def test_a_foreign_state_is_refused(horizon: int, dimension: int, count: Any, message: str) -> None:
    private = releaser()
    with pytest.raises(InvalidInput, match=message):
        private.restore(releaser(horizon, dimension).state(), count)
    assert private.absorb(features(1)[0]).records == 1


@both_strategies
@pytest.mark.parametrize("horizon", [1, 2, 3, 8, 9])
def test_a_horizon_sums_one_record_less_and_then_refuses_before_drawing(name: str, horizon: int) -> None:
    spy = Spy()
    private = releaser(horizon, noise=2.0, source=spy, name=name)
    for phi in features(horizon - 1):
        private.absorb(phi)
    with pytest.raises(
        BudgetExhausted, match=f"{horizon - 1} records are all that a horizon of {horizon} periods sums"
    ):
        private.absorb(features(1)[0])
    assert len(spy.drawn) == horizon - 1


@pytest.mark.parametrize("shape", [(2,), (4,), (3, 1), ()])
def test_features_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput, match=r"^phi must have 3 entries, got shape"):
        releaser().absorb(np.full(shape, 0.1))


@pytest.mark.parametrize("noise", [math.nan, math.inf, -1.0, 0.0])
def test_a_noise_that_is_no_number_is_refused(noise: float) -> None:
    """NaN above all: compared with zero it looks like "no noise"."""
    with pytest.raises(InvalidInput, match=r"^noise must"):
        event_of(10, 2, noise)


ESTIMATE = PerturbedEstimate(
    dimension=2,
    noise=2.0,
    ridge=1.0,
    gradient=4.0,
    difference=5.0,
    curvature=4.0,
    distance=1e-6,
    output_noise=1e-3,
)


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (event_of(11, 2), "event must describe this release"),
        (event_of(9, 2), "event must describe this release"),
        (event_of(10, 3), "event must describe this release"),
        (event_of(11, 2, name="toeplitz"), "event must describe this release"),
        (replace(event_of(10, 2), grid=grid_of(2.0)), "event must describe this release"),  # a tape has no grid
        (ESTIMATE, "event must be a CovarianceStream or NotPrivate"),
        (None, "event must be a CovarianceStream or NotPrivate"),
    ],
)
def test_an_event_that_describes_another_release_is_refused(event: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{message}, got"):
        PrivateCov(horizon=10, dimension=2, source=Tape(7, 0), event=event)


@pytest.mark.parametrize(("horizon", "dimension", "field"), [(0, 2, "horizon"), (10, 0, "dimension")])
def test_a_stream_needs_a_horizon_and_a_dimension(horizon: int, dimension: int, field: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{field} must"):
        PrivateCov(horizon=horizon, dimension=dimension, source=Tape(7, 0), event=NotPrivate())


@both_strategies
@both_layouts
def test_every_release_carries_the_event_that_was_paid_for(name: str, layout: str) -> None:
    event = event_of(name=name, layout=layout)
    private = PrivateCov(horizon=100, dimension=3, source=Tape(7, 0), event=event)
    assert [private.absorb(phi).event for phi in features(3)] == 3 * [event]


def test_nothing_is_shown_and_the_protocol_is_kept() -> None:
    private: CovarianceReleaser = releaser()
    private.absorb(features(1)[0])
    assert repr(private) == "PrivateCov(<sensitive>)"


def added_noise(trials: int, last: int, factor: float = 1.0, name: str = "tree", layout: str = TRIANGLE) -> np.ndarray:
    """What independent releasers with noise 2 add to the release after record `last`: a row a trial."""
    out = []
    for trial in range(trials):
        private, still = releaser(64, 3, 2.0 * factor, Tape(9, trial), name, layout), releaser(64)
        for phi in features(last):
            noisy, exact = private.absorb(phi), still.absorb(phi)
        out.append(noisy.packed - exact.packed)
    return np.array(out)


TRIALS = 300 if COMPILED else 100


def refuse_other_scales(noise: np.ndarray, scale: float) -> None:
    """The noise is N(0, scale^2), and a test of this size tells it from half or twice as much."""
    assert stats.kstest(noise.ravel(), stats.norm(scale=scale).cdf).pvalue > CALM
    assert stats.kstest(noise.ravel(), stats.norm(scale=scale / 2).cdf).pvalue < ALARM
    assert stats.kstest(noise.ravel(), stats.norm(scale=scale * 2).cdf).pvalue < ALARM


@pytest.mark.parametrize("last", [1, 7, 8])
def test_a_release_carries_one_noise_for_each_one_in_the_binary_form_of_n(last: int) -> None:
    refuse_other_scales(added_noise(TRIALS, last), 2.0 * math.sqrt(last.bit_count()))


@pytest.mark.parametrize("last", [1, 7, 8])
def test_a_toeplitz_release_carries_the_noise_of_its_row_of_b(last: int) -> None:
    refuse_other_scales(added_noise(TRIALS, last, name="toeplitz"), 2.0 * streams.toeplitz(64).row_norm(last))


@both_strategies
def test_off_diagonal_entries_of_a_frobenius_stream_carry_half_the_variance(name: str) -> None:
    rows, columns = np.triu_indices(3)
    strategy: Tree | Toeplitz = streams.tree(64) if name == "tree" else streams.toeplitz(64)
    noise, scale = added_noise(2 * TRIALS, 7, name=name, layout=FROBENIUS), 2.0 * strategy.row_norm(7)
    refuse_other_scales(noise[:, rows == columns], scale)
    refuse_other_scales(noise[:, rows != columns], scale * math.sqrt(0.5))


def test_half_the_noise_would_be_caught() -> None:
    noise = added_noise(TRIALS, 7, factor=0.5)
    assert stats.kstest(noise.ravel(), stats.norm(scale=2.0 * math.sqrt(3)).cdf).pvalue < ALARM


def test_the_noise_of_different_nodes_and_entries_is_independent() -> None:
    count = 2000 if COMPILED else 400
    noises = np.array([Tape(9, 0).normals(tape.COVARIANCE_NOISE, n, 6) for n in range(1, count + 1)])
    pairs = np.corrcoef(np.hstack([noises[:-1], noises[1:]]).T)[np.triu_indices(12, 1)]
    assert np.abs(pairs).max() < 5 / math.sqrt(count)  # 66 pairs at five deviations: false alarm 4e-5
