"""Noise sources: the tape repeats itself by address, the system never does, and neither claims to be secure."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from typing import Any

import numpy as np
import pytest
from scipy import stats

from hushprice.errors import InvalidInput
from hushprice.numerics import tape
from hushprice.numerics.jit import COMPILED
from hushprice.releasers import noise
from hushprice.releasers.noise import NoiseSource, System, Tape

SOURCES: list[NoiseSource] = [Tape(11, 3), System()]
CALM, ALARM = 1e-3, 1e-9  # a right source fails with probability 1e-3 a test; a wrong one must fail by 1e-9


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


def test_what_a_source_says_of_itself() -> None:
    assert [(source.secure, source.simulated) for source in SOURCES] == [(False, True), (False, False)]
    assert "simulation only" in Tape(0, 0).label
    assert "not yet secure" in System().label
    for source in SOURCES:
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
            source.secure = True  # type: ignore[misc]
    with pytest.raises(TypeError):
        Tape(0, 0, secure=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        System(5)  # type: ignore[call-arg]


@pytest.mark.parametrize("source", SOURCES)
def test_draws_are_what_they_claim(source: NoiseSource, monkeypatch: Any) -> None:
    """Seeded: for the system, the operating system's bytes are replaced and what is made of them is tested."""
    monkeypatch.setattr(noise.secrets, "token_bytes", np.random.default_rng(5).bytes)
    size = 4000 if COMPILED or isinstance(source, System) else 1000
    normals = source.normals(tape.ESTIMATE_NOISE, 1, size)
    assert normals.shape == (size,)
    assert stats.kstest(normals, stats.norm.cdf).pvalue > CALM
    assert stats.kstest(normals, stats.norm(scale=1.5).cdf).pvalue < ALARM
    assert stats.kstest(normals, stats.norm(scale=2 / 3).cdf).pvalue < ALARM
    neighbours = np.corrcoef(normals[:-1], normals[1:])[0, 1]
    halves = np.corrcoef(normals[: size // 2], normals[size // 2 :])[0, 1]
    assert max(abs(neighbours), abs(halves)) < 5 / math.sqrt(size // 2)  # five deviations: 1e-6
    uniforms = np.array([source.uniform(tape.EXPLORATION, period) for period in range(size // 4)])
    assert stats.kstest(uniforms, "uniform").pvalue > CALM
    assert np.all((uniforms > 0.0) & (uniforms < 1.0))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 10])
def test_the_system_gives_as_many_as_asked(count: int) -> None:
    assert System().normals(tape.COVARIANCE_NOISE, 1, count).shape == (count,)


def test_the_system_never_repeats_itself() -> None:
    first, second = System(), System()
    draws = [source.normals(4, 1, 4) for source in (first, second, first, copy.deepcopy(first), copy.copy(second))]
    assert len(np.unique(np.concatenate(draws))) == 20
    assert len({first.uniform(3, 1), second.uniform(3, 1), first.uniform(3, 1)}) == 3


def test_the_system_has_no_state_to_show_or_to_save() -> None:
    assert repr(System()) == "System()"
    restored = pickle.loads(pickle.dumps(System()))
    assert restored.uniform(3, 1) != System().uniform(3, 1)
    assert not hasattr(restored, "__dict__")


@pytest.mark.parametrize("byte", [b"\x00", b"\xff"])
def test_the_most_extreme_bits_give_finite_draws_inside_the_open_interval(byte: bytes, monkeypatch: Any) -> None:
    monkeypatch.setattr(noise.secrets, "token_bytes", lambda count: byte * count)
    assert 0.0 < System().uniform(3, 1) < 1.0
    normals = System().normals(4, 1, 5)
    assert np.all(np.isfinite(normals))
    assert np.all(np.abs(normals) < 8.7)
