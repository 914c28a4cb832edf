"""Noise sources: the tape repeats itself by address; the system draws exact discrete Gaussians and never repeats.

The system's randomness cannot be seeded, so its statistical tests fail sound noise with probability FALSE_ALARM each:
21 of them, in each of the two runs of `make test`, are a false alarm in twenty million.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hushprice import noise
from hushprice.errors import InvalidInput
from hushprice.noise import NoiseSource, System, Tape
from hushprice.numerics import tape
from hushprice.numerics.jit import COMPILED
from hushprice.privacy.events import grid_of

SOURCES: list[NoiseSource] = [Tape(11, 3), System()]
SEEDED, ALARM = 1e-3, 1e-9  # a right tape fails a seeded test with probability 1e-3; a wrong source must fail by 1e-9
FALSE_ALARM = 1e-9
DRAWS = 4000  # with which a scale wrong by half is ten deviations from passing at ALARM; with 1500 it was three


# ---- the tape -------------------------------------------------------------------------------------------------------


def test_the_tape_is_addressed_by_seed_trial_stream_and_period() -> None:
    draws = {
        (seed, trial, stream, period): tuple(Tape(seed, trial).normals(stream, period, 5))
        for seed in (0, 11, 2**63 - 1)
        for trial in (0, 2**32 - 1)
        for stream in (tape.COVARIANCE_NOISE, tape.ESTIMATE_NOISE)
        for period in (1, 2)
    }
    assert len(set(draws.values())) == len(draws) == 24
    for (seed, trial, stream, period), drawn in draws.items():
        assert tuple(Tape(seed, trial).normals(stream, period, 5)) == drawn


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 9])
def test_the_tape_gives_what_the_compiled_steps_read(count: int) -> None:
    expected = [value for index in range(3) for value in tape.normals(11, 3, 7, tape.ESTIMATE_NOISE, index)][:count]
    np.testing.assert_array_equal(Tape(11, 3).normals(tape.ESTIMATE_NOISE, 7, count), expected)
    assert Tape(11, 3).uniform(tape.EXPLORATION, 7) == tape.uniform(11, 3, 7, tape.EXPLORATION)


def test_the_tape_adds_its_normals() -> None:
    values = np.array([1.0, -2.0, 0.5])
    added = Tape(11, 3).add(values, 2.0, tape.OUTPUT_NOISE, 7)
    np.testing.assert_array_equal(added, values + 2.0 * Tape(11, 3).normals(tape.OUTPUT_NOISE, 7, 3))


@pytest.mark.parametrize(
    ("seed", "trial", "name"),
    [
        (-1, 0, "seed"),
        (2**63, 0, "seed"),
        (1.5, 0, "seed"),
        (math.nan, 0, "seed"),
        (0, -1, "trial"),
        (0, 2**32, "trial"),
    ],
)
def test_the_tape_refuses_what_is_no_address(seed: Any, trial: Any, name: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{name} must"):
        Tape(seed, trial)


def test_the_tape_is_normal() -> None:
    size = DRAWS if COMPILED else 1000
    normals = Tape(11, 3).normals(tape.ESTIMATE_NOISE, 1, size)
    assert stats.kstest(normals, stats.norm.cdf).pvalue > SEEDED
    assert stats.kstest(normals, stats.norm(scale=1.5).cdf).pvalue < ALARM
    assert stats.kstest(normals, stats.norm(scale=2 / 3).cdf).pvalue < ALARM
    assert abs(np.corrcoef(normals[:-1], normals[1:])[0, 1]) < 5 / math.sqrt(size)


# ---- the system -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [2.0**32, 1.37 * 2.0**32, 2.0**33])
def test_the_system_draws_discrete_gaussians_of_the_scale_asked_for(scale: float) -> None:
    """At 2^32 grid steps a deviation the law of Kolmogorov's test is the normal one; wrong scales are rejected."""
    drawn = np.array(System().integers(scale, DRAWS), dtype=float)
    for factor in (2 / 3, 3 / 2):
        assert stats.kstest(drawn, stats.norm(scale=factor * scale).cdf).pvalue < ALARM
    assert stats.kstest(drawn, stats.norm(scale=scale).cdf).pvalue > FALSE_ALARM
    # Twenty cells of equal probability.
    cells = np.floor(20 * stats.norm.cdf(drawn / scale)).astype(int)
    assert stats.chisquare(np.bincount(cells, minlength=20)).pvalue > FALSE_ALARM
    # The square tells the scale more sharply: chi-square with as many degrees as draws.
    square = float(np.sum((drawn / scale) ** 2))
    assert min(stats.chi2.cdf(square, DRAWS), stats.chi2.sf(square, DRAWS)) > FALSE_ALARM
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 6 / math.sqrt(DRAWS)


def test_the_system_draws_every_digit() -> None:
    """Low digits of a discrete Gaussian this wide are uniform and independent of the high ones: no float had them."""
    drawn = System().integers(2.0**32, DRAWS)
    assert all(isinstance(value, int) for value in drawn)
    for shift in (0, 8, 16):
        digits = np.array([(value >> shift) & 15 for value in drawn])
        assert stats.chisquare(np.bincount(digits, minlength=16)).pvalue > FALSE_ALARM
    odd = np.array([value & 1 for value in drawn], dtype=bool)
    sizes = np.abs(np.array(drawn, dtype=float))
    assert stats.ks_2samp(sizes[odd], sizes[~odd]).pvalue > FALSE_ALARM


@pytest.mark.parametrize("deviation", [1e-9, 0.75, 252.0, 1e12])
def test_added_noise_has_the_deviation_asked_for(deviation: float) -> None:
    values = np.linspace(-3.0, 3.0, DRAWS) * deviation
    drawn = System().add(values, deviation, tape.ESTIMATE_NOISE, 1) - values
    assert stats.kstest(drawn, stats.norm(scale=deviation).cdf).pvalue > FALSE_ALARM
    for factor in (2 / 3, 3 / 2):
        assert stats.kstest(drawn, stats.norm(scale=factor * deviation).cdf).pvalue < ALARM


@settings(max_examples=40)
@given(st.lists(st.floats(-2.0, 2.0), max_size=4), st.floats(1e-12, 1e12))
def test_what_the_system_returns_is_on_its_grid(values: list[float], deviation: float) -> None:
    """Whatever went in: no digit below the grid is left. A float holds it if it is below 2^53 steps."""
    drawn = System().add(np.array(values), deviation, tape.OUTPUT_NOISE, 1)
    assert drawn.shape == (len(values),)
    steps = drawn / grid_of(deviation)
    np.testing.assert_array_equal(steps, np.rint(steps))


def test_values_are_rounded_to_the_nearest_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "_measurement", lambda scale: lambda zeros: zeros)
    grid = grid_of(1.0)
    added = System().add(np.array([0.2, 0.5, 0.51, -1.7, 3.0]) * grid, 1.0, tape.OUTPUT_NOISE, 1)
    np.testing.assert_array_equal(added, np.array([0.0, 0.0, 1.0, -2.0, 3.0]) * grid)


@pytest.mark.parametrize("deviation", [0.0, -1.0, math.nan, math.inf, "1"])
def test_a_deviation_that_is_none_is_refused(deviation: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^noise must be a positive number"):
        System().add(np.zeros(2), deviation, tape.ESTIMATE_NOISE, 1)


@pytest.mark.parametrize(
    "scale", [0.0, -(2.0**32), 1.0, 2.0**32 * (1 - 1e-12), 2.0**33 * (1 + 1e-12), math.nan, math.inf]
)
def test_a_scale_the_proof_does_not_cover_is_refused(scale: float) -> None:
    with pytest.raises(InvalidInput, match=r"^scale must lie in"):
        System().integers(scale, 1)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 10])
def test_the_system_gives_as_many_as_asked(count: int) -> None:
    assert len(System().integers(2.0**32, count)) == count


def test_the_system_never_repeats_itself() -> None:
    """Neither by address nor by copy: 24 numbers of 33 bits, two agree once in 3e7 runs."""
    first, second = System(), System()
    sources = (first, second, first, copy.deepcopy(first), copy.copy(second), pickle.loads(pickle.dumps(first)))
    draws = [source.add(np.zeros(4), 1.0, tape.ESTIMATE_NOISE, 1) for source in sources]
    assert len(np.unique(np.concatenate(draws))) == 24
    assert len({source.uniform(tape.EXPLORATION, 1) for source in sources}) == 6


def test_the_system_has_no_state_to_show_or_to_save() -> None:
    assert repr(System()) == "System()"
    assert not hasattr(System(), "__dict__")
    assert System.__slots__ == ()
    assert System() == System()


def laplace_pvalue(drawn: np.ndarray, scale: float) -> float:
    """Of the discrete Laplace law, in 40 cells of equal chance: P(K >= k) = q^k / (1 + q), q = e^(-1/scale)."""
    q = math.exp(-1.0 / scale)
    levels = np.arange(1, 40) / 40

    def quantile(level: float) -> float:  # a cell's end; steps are 2^-32 of the scale, and no cell notices one
        return -scale * math.copysign(1.0, level - 0.5) * math.log(2.0 * min(level, 1.0 - level))

    ends = np.array([math.floor(quantile(level)) for level in levels])
    at_most = np.where(ends >= 0, 1.0 - q ** (ends + 1.0) / (1.0 + q), q ** (-1.0 * ends) / (1.0 + q))
    chances = np.diff(np.concatenate([[0.0], at_most, [1.0]]))
    counts = np.bincount(np.searchsorted(ends, drawn, side="left"), minlength=40)
    return float(stats.chisquare(counts, chances * drawn.size).pvalue)


@pytest.mark.parametrize("scale", [2.0**32, 1.37 * 2.0**32, 2.0**33])
def test_live_laplace_integers_have_the_discrete_laplace_law(scale: float) -> None:
    """Chi-squared. Exact noise fails once in 1 / FALSE_ALARM calls; a scale a tenth off passes as seldom."""
    drawn = np.array(System().laplace_integers(scale, 20_000))
    assert laplace_pvalue(drawn, scale) > FALSE_ALARM
    assert laplace_pvalue(drawn, 0.9 * scale) < FALSE_ALARM
    assert laplace_pvalue(drawn, 1.1 * scale) < FALSE_ALARM
    assert laplace_pvalue(np.round(System().integers(2.0**32, 20_000)), 2.0**31.5) < FALSE_ALARM  # nor is it Gaussian
    assert len({*drawn.tolist()}) > 19_900  # of 2^33 and more


@pytest.mark.parametrize("scale", [2.0**31, 2.0**34, 0.0, -(2.0**32), math.nan, math.inf])
def test_laplace_integers_of_a_scale_that_no_grid_has_are_refused(scale: float) -> None:
    with pytest.raises(InvalidInput, match=r"^scale must"):
        System().laplace_integers(scale, 1)


def test_uniforms_lie_in_the_open_interval_whatever_the_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    uniforms = np.array([System().uniform(tape.EXPLORATION, period) for period in range(1000)])
    assert stats.kstest(uniforms, "uniform").pvalue > FALSE_ALARM
    for byte in (b"\x00", b"\xff"):
        monkeypatch.setattr(noise.secrets, "token_bytes", lambda count, byte=byte: byte * count)
        assert 0.0 < System().uniform(tape.EXPLORATION, 1) < 1.0


# ---- both -----------------------------------------------------------------------------------------------------------


def test_what_a_source_says_of_itself() -> None:
    assert [(source.secure, source.simulated) for source in SOURCES] == [(False, True), (True, False)]
    assert "not private" in Tape(0, 0).label
    assert "operating system" in System().label
    for source in SOURCES:
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
            source.secure = True  # type: ignore[misc]
    with pytest.raises(TypeError):
        Tape(0, 0, secure=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        System(5)  # type: ignore[call-arg]
