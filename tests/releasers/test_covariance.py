"""PrivateCov: what is released is the covariance plus the noise its event states, drawn once per record."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from hushprice.accounting.events import ContinualCovariance, Event, NotPrivate, PerturbedEstimate
from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.numerics import tape
from hushprice.numerics.jit import COMPILED
from hushprice.numerics.linear import unpack
from hushprice.releasers import tree
from hushprice.releasers.covariance import CovarianceReleaser, PrivateCov, outers
from hushprice.releasers.noise import Tape
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


def releaser(horizon: int = 100, dimension: int = 3, noise: float = 0.0, source: Any = None) -> PrivateCov:
    event: Event = ContinualCovariance(noise, tree.levels(horizon), dimension) if noise > 0.0 else NotPrivate()
    return PrivateCov(horizon=horizon, dimension=dimension, noise=noise, source=source or Spy(), event=event)


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


def test_outer_packs_the_upper_triangle_row_by_row() -> None:
    packed = np.empty(6)
    outers(np.array([[9.0, 2.0], [9.0, 3.0], [9.0, 5.0]]), 1, 1, packed.reshape(-1, 1))
    np.testing.assert_array_equal(packed, [4.0, 6.0, 10.0, 9.0, 15.0, 25.0])


def test_a_release_is_sealed_and_does_not_move_with_the_tree() -> None:
    private = releaser(noise=2.0)
    first = private.absorb(features(2)[0])
    before = first.packed.copy()
    private.absorb(features(2)[1])
    np.testing.assert_array_equal(first.packed, before)
    with pytest.raises(ValueError, match="read-only"):
        first.packed[0] = 0.0


def test_noise_is_read_off_the_tape_by_period_once_a_record() -> None:
    spy = Spy()
    private, still = releaser(noise=2.0, source=spy), releaser()
    nodes: dict[int, np.ndarray] = {}
    for n, phi in enumerate(features(40), start=1):
        nodes[n] = 2.0 * Tape(7, 0).normals(tape.COVARIANCE_NOISE, n, 6)
        added = private.absorb(phi).packed - still.absorb(phi).packed
        expected = sum(nodes[last] for last in {n >> level << level for level in range(n.bit_length())})
        np.testing.assert_allclose(added, expected, rtol=1e-12, atol=1e-12)
    assert spy.drawn == [(tape.COVARIANCE_NOISE, n, 6) for n in range(1, 41)]


def test_without_noise_nothing_is_drawn() -> None:
    spy = Spy()
    releaser(source=spy).absorb(features(1)[0])
    assert spy.drawn == []


@pytest.mark.parametrize("noise", [0.0, 2.0])
@pytest.mark.parametrize("stop", [0, 1, 15, 16])
def test_a_restored_releaser_goes_on_identically_and_never_draws_again(noise: float, stop: int) -> None:
    source, spy = features(40), Spy()
    steady = releaser(noise=noise)
    for phi in source[:stop]:
        steady.absorb(phi)
    saved = steady.state()
    expected = [steady.absorb(phi).packed for phi in source[stop:]]
    restored = releaser(noise=noise, source=spy)
    restored.restore(saved, stop)
    for n, (phi, packed) in enumerate(zip(source[stop:], expected, strict=True), start=stop + 1):
        release = restored.absorb(phi)
        np.testing.assert_array_equal(release.packed, packed)
        assert release.records == n
    assert [period for _, period, _ in spy.drawn] == (list(range(stop + 1, 41)) if noise > 0.0 else [])


def test_a_saved_state_is_cut_off_from_the_tree() -> None:
    private = releaser()
    saved = private.state()
    private.absorb(features(1)[0])
    assert all(not array.any() for array in saved.values())


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


@pytest.mark.parametrize("horizon", [1, 2, 3, 8, 9])
def test_a_horizon_sums_one_record_less_and_then_refuses_before_drawing(horizon: int) -> None:
    spy = Spy()
    private = releaser(horizon, noise=2.0, source=spy)
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


@pytest.mark.parametrize("noise", [math.nan, math.inf, -1.0])
def test_a_noise_that_is_no_number_is_refused(noise: float) -> None:
    """NaN above all: compared with zero it looks like "no noise"."""
    with pytest.raises(InvalidInput, match=r"^noise must"):
        PrivateCov(horizon=10, dimension=2, noise=noise, source=Spy(), event=NotPrivate())


@pytest.mark.parametrize(
    ("noise", "event"),
    [
        (0.0, ContinualCovariance(2.0, 4, 2)),
        (1.0, ContinualCovariance(2.0, 4, 2)),
        (2.0, ContinualCovariance(2.0, 5, 2)),
        (2.0, ContinualCovariance(2.0, 4, 3)),
        (2.0, PerturbedEstimate(2.0, 1.0, 2)),
    ],
)
def test_an_event_that_describes_another_release_is_refused(noise: float, event: Event) -> None:
    with pytest.raises(InvalidInput, match=r"^event must describe this release"):
        PrivateCov(horizon=10, dimension=2, noise=noise, source=Spy(), event=event)


def test_less_may_be_claimed_than_is_done() -> None:
    private = PrivateCov(horizon=10, dimension=2, noise=2.0, source=Spy(), event=NotPrivate())
    assert private.absorb(np.array([0.1, 0.2])).event == NotPrivate()


def test_nothing_is_shown_and_the_protocol_is_kept() -> None:
    private: CovarianceReleaser = releaser()
    private.absorb(features(1)[0])
    assert repr(private) == "PrivateCov(<sensitive>)"


def added_noise(trials: int, last: int, factor: float = 1.0) -> np.ndarray:
    """What `trials` independent releasers with noise 2 add to the release after record `last`."""
    out = []
    for trial in range(trials):
        private, still = releaser(64, noise=2.0 * factor, source=Tape(9, trial)), releaser(64)
        for phi in features(last):
            noisy, exact = private.absorb(phi), still.absorb(phi)
        out.append(noisy.packed - exact.packed)
    return np.concatenate(out)


@pytest.mark.parametrize("last", [1, 7, 8])
def test_a_release_carries_one_noise_for_each_one_in_the_binary_form_of_n(last: int) -> None:
    noise = added_noise(300 if COMPILED else 100, last)
    scale = 2.0 * math.sqrt(last.bit_count())
    assert stats.kstest(noise, stats.norm(scale=scale).cdf).pvalue > CALM
    assert stats.kstest(noise, stats.norm(scale=scale / 2).cdf).pvalue < ALARM
    assert stats.kstest(noise, stats.norm(scale=scale * 2).cdf).pvalue < ALARM


def test_half_the_noise_would_be_caught() -> None:
    noise = added_noise(300 if COMPILED else 100, 7, factor=0.5)
    assert stats.kstest(noise, stats.norm(scale=2.0 * math.sqrt(3)).cdf).pvalue < ALARM


def test_the_noise_of_different_nodes_and_entries_is_independent() -> None:
    count = 2000 if COMPILED else 400
    noises = np.array([Tape(9, 0).normals(tape.COVARIANCE_NOISE, n, 6) for n in range(1, count + 1)])
    pairs = np.corrcoef(np.hstack([noises[:-1], noises[1:]]).T)[np.triu_indices(12, 1)]
    assert np.abs(pairs).max() < 5 / math.sqrt(count)  # 66 pairs at five deviations: false alarm 4e-5
