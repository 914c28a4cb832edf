"""ExactCov: the ideal releaser in whole numbers, on its grid, held to the unit ball, and never drawn twice."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.mechanisms import whole_numbers
from hushprice.mechanisms.exact_covariance import ExactCov
from hushprice.mechanisms.whole_numbers import outer
from hushprice.noise import System
from hushprice.policies.paper.private.covariance import PrivateCov
from hushprice.privacy.events import FROBENIUS, LAYOUTS, TRIANGLE, CovarianceStream, grid_of
from hushprice.privacy.streams import Toeplitz, toeplitz, tree
from hushprice.types import FloatArray

STEPS = 20
STRATEGIES = [tree, toeplitz]
FINITE = st.floats(-1e150, 1e150)
THREE = st.lists(FINITE | st.floats(-1.0, 1.0), min_size=3, max_size=3)


class Script:
    """Rows of standard normals, as whole numbers of the scale asked for or as they are."""

    def __init__(self, rows: FloatArray) -> None:
        self.rows, self.asked = rows, 0

    def integers(self, scale: float, count: int) -> list[int]:
        self.asked += 1
        return [round(scale * float(value)) for value in self.rows[self.asked - 1, :count]]

    def normals(self, stream: int, period: int, count: int) -> FloatArray:
        return self.rows[period - 1, :count]


def event(make: Any = toeplitz, *, noise: float = 4.0, layout: str = FROBENIUS, dimension: int = 3) -> CovarianceStream:
    return CovarianceStream(
        strategy=make(STEPS + 1), steps=STEPS, dimension=dimension, noise=noise, layout=layout, grid=grid_of(noise)
    )


def features(count: int = STEPS, dimension: int = 3) -> FloatArray:
    phi = np.random.default_rng(9).normal(size=(count, dimension))
    return phi / np.maximum(1.0, np.linalg.norm(phi, axis=1, keepdims=True))


def quiet(dimension: int = 3) -> FloatArray:
    return np.zeros((STEPS + 1, dimension * (dimension + 1) // 2))


def releaser(made: CovarianceStream, source: Any) -> ExactCov:
    return ExactCov(event=made, source=source)


@pytest.mark.parametrize("noise", [1e-3, 4.0, 1e9])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("make", STRATEGIES)
def test_it_is_the_ideal_releaser(make: Any, layout: str, noise: float) -> None:
    """Without noise the sums themselves, with noise what PrivateCov makes of the same: up to the grid's rounding."""
    made = event(make, noise=noise, layout=layout)
    ideal_event = replace(made, grid=0.0)
    for rows in (quiet(), np.random.default_rng(3).normal(size=(STEPS, 6))):
        source: Any = Script(rows)
        live = releaser(made, source)
        ideal = PrivateCov(horizon=STEPS + 1, dimension=3, source=source, event=ideal_event)
        for n, phi in enumerate(features(), start=1):
            release, expected = live.absorb(phi), ideal.absorb(phi)
            np.testing.assert_allclose(release.packed, expected.packed, rtol=1e-6, atol=1e-6 * max(1.0, 1e-3 * noise))
            assert (release.records, release.event) == (n, made)


def test_the_filter_rounds_once_what_fractions_compute_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """C x in exact arithmetic, then one rounding to the grid: what is published is at most 0.500001 steps away."""
    made = event(dimension=2)
    strategy = made.strategy
    assert isinstance(strategy, Toeplitz)
    published: list[float] = []
    monkeypatch.setattr(whole_numbers.toeplitz, "decode", lambda *given: published.append(given[-1]) or 0.0)
    live = releaser(made, Script(quiet(2)))
    memory = [[Fraction(0)] * 3 for _ in strategy.poles]
    farthest = 0.0
    for phi in features(dimension=2):
        live.absorb(phi)
        cut = [Fraction(math.trunc(Fraction(float(value)) * 2**40), 2**40) for value in phi]
        root = Fraction(math.isqrt(2 << 400), 1 << 200)
        for k, signal in enumerate((cut[0] * cut[0], root * cut[0] * cut[1], cut[1] * cut[1])):
            for kept, pole, zero in zip(memory, strategy.poles, strategy.zeros, strict=True):
                held = kept[k]
                kept[k] = Fraction(pole) * held + signal
                signal += (Fraction(pole) - Fraction(zero)) * held
            steps = Fraction(published[-3 + k]) / Fraction(made.grid)
            assert steps.denominator == 1
            farthest = max(farthest, abs(float(steps - signal / Fraction(made.grid))))
    assert 0.3 < farthest <= 0.5 + 1e-6


@given(st.lists(FINITE, min_size=1, max_size=4), st.booleans())
def test_features_never_leave_the_unit_ball(phi: list[float], scaled: bool) -> None:
    """Exactly, as whole numbers, for anything finite, and for vectors a rounding error off the sphere."""
    given_phi = np.array(phi)
    size = float(np.linalg.norm(given_phi))
    if scaled and 1e-150 < size < 1e150:
        given_phi = given_phi / size
    row = outer(given_phi, 80, False)  # 2^-80 is the grid of products of features cut to 2^-40: nothing is rounded
    corner, diagonal = 0, 0
    for i in range(len(phi)):
        diagonal += row[corner]
        corner += len(phi) - i
    assert 0 <= diagonal <= 1 << 80
    if scaled and 1e-150 < size < 1e150:
        assert diagonal > (1 << 80) * (1.0 - 1e-11)


@settings(max_examples=60)
@given(THREE, THREE, st.sampled_from([20, 30, 90]))
def test_rounded_rows_are_within_the_sensitivity(phi: list[float], other: list[float], shift: int) -> None:
    """sqrt(2) when replaced, 1 when zeroed out, and half a grid step a number for each of two roundings."""
    for frobenius in (False, True):
        first, second = (np.array(outer(np.array(each), shift, frobenius), dtype=float) for each in (phi, other))
        rounding = math.sqrt(6.0)
        assert np.linalg.norm(first - second) <= math.sqrt(2.0) * 2.0**shift * (1.0 + 1e-12) + rounding
        assert np.linalg.norm(first) <= 2.0**shift * (1.0 + 1e-12) + rounding


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_are_the_products_in_their_layout(layout: str) -> None:
    frobenius = layout == FROBENIUS
    phi = np.array([0.5, -0.25, 0.125])
    expected = np.outer(phi, phi)[np.triu_indices(3)]
    if frobenius:
        expected = expected * np.array([1, math.sqrt(2), math.sqrt(2), 1, math.sqrt(2), 1])
    for shift in (30, 78, 95):
        np.testing.assert_allclose(
            np.array(outer(phi, shift, frobenius), dtype=float) / 2.0**shift, expected, rtol=1e-8
        )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("make", STRATEGIES)
def test_what_is_released_is_made_of_multiples_of_the_grid(make: Any, layout: str, monkeypatch: Any) -> None:
    """For the tree the release itself; for the filter what is handed to the public decoder."""
    made, published = event(make, layout=layout), []
    decode = whole_numbers.toeplitz.decode

    def spied(memory: Any, poles: Any, zeros: Any, k: int, signal: float) -> float:
        published.append(signal)
        return float(decode(memory, poles, zeros, k, signal))

    monkeypatch.setattr(whole_numbers.toeplitz, "decode", spied)
    live = releaser(made, System())
    rows, columns = np.triu_indices(3)
    for phi in features():
        packed = live.absorb(phi).packed
        if make is tree:
            published.extend(packed if layout == TRIANGLE else packed[rows == columns])
    steps = np.array(published) / made.grid
    np.testing.assert_array_equal(steps, np.rint(steps))
    assert steps.size == STEPS * (3 if (make, layout) == (tree, FROBENIUS) else 6)


@pytest.mark.parametrize("make", STRATEGIES)
def test_a_restart_changes_nothing_and_draws_nothing(make: Any) -> None:
    made, rows = event(make), np.random.default_rng(5).normal(size=(STEPS, 6))
    whole = releaser(made, Script(rows))
    expected = [whole.absorb(phi).packed for phi in features()]
    for stop in (0, 1, 7, 16, STEPS):
        source: Any = Script(rows)
        first = releaser(made, source)
        seen = [first.absorb(phi).packed for phi in features()[:stop]]
        second = releaser(made, source)
        second.restore(first.state(), stop)
        assert source.asked == stop
        assert second.state() == first.state()
        seen += [second.absorb(phi).packed for phi in features()[stop:]]
        np.testing.assert_array_equal(seen, expected)
        assert source.asked == STEPS


@pytest.mark.parametrize("make", STRATEGIES)
def test_past_the_horizon_is_refused_before_noise_is_drawn(make: Any) -> None:
    source: Any = Script(quiet())
    live = releaser(event(make), source)
    for phi in features():
        live.absorb(phi)
    before = live.state()
    with pytest.raises(BudgetExhausted, match=f"^{STEPS} records are all"):
        live.absorb(np.zeros(3))
    assert source.asked == STEPS
    assert live.state() == before


@pytest.mark.parametrize("phi", [np.zeros(2), np.zeros((3, 1)), np.array([0.1, math.nan, 0.0]), np.full(3, math.inf)])
def test_a_record_that_is_none_is_refused_before_noise_is_drawn(phi: FloatArray) -> None:
    source: Any = Script(quiet())
    live = releaser(event(), source)
    with pytest.raises(InvalidInput, match=r"^phi must"):
        live.absorb(phi)
    assert source.asked == 0


def test_ideal_noise_is_not_for_live_use() -> None:
    with pytest.raises(InvalidInput, match=r"^event must have a grid"):
        releaser(replace(event(), grid=0.0), System())


def test_noise_is_asked_for_at_the_scale_of_the_event() -> None:
    asked: list[tuple[float, int]] = []

    class Spy:
        def integers(self, scale: float, count: int) -> list[int]:
            asked.append((scale, count))
            return [0] * count

    for noise in (1e-3, 4.0, 1e9):
        made = event(noise=noise)
        releaser(made, Spy()).absorb(np.ones(3))
        assert asked[-1] == (noise / made.grid, 6)
        assert 2.0**32 <= asked[-1][0] < 2.0**33


@pytest.mark.parametrize("make", STRATEGIES)
def test_a_state_of_something_else_is_refused_and_changes_nothing(make: Any) -> None:
    live = releaser(event(make), Script(np.ones((STEPS, 6))))
    for phi in features(5):
        live.absorb(phi)
    good = live.state()
    fields = msgspec.msgpack.decode(good)
    key = "public" if make is tree else "exact"
    spoiled = [
        b"",
        good[:-1],
        msgspec.msgpack.encode(fields | {"more": 1}),
        msgspec.msgpack.encode(fields | {"count": "five"}),
        msgspec.msgpack.encode(fields | {"count": 6}),
        msgspec.msgpack.encode(fields | {"exact": ["no number"] * len(fields["exact"])}),
        msgspec.msgpack.encode(fields | {key: fields[key][:-1]}),
        msgspec.msgpack.encode(fields | {"exact": [line + " 0" for line in fields["exact"]]}),
        msgspec.msgpack.encode(fields | {"decoded": [*fields["decoded"], 0.0]}),
        releaser(event(make, dimension=2), System()).state(),
    ]
    if make is toeplitz:
        spoiled.append(msgspec.msgpack.encode(fields | {"decoded": [math.inf] * len(fields["decoded"])}))
    for state in spoiled:
        with pytest.raises(InvalidInput, match=r"^the saved covariance is"):
            live.restore(state, 5)
        assert live.state() == good
    for count in (4, STEPS + 1):
        with pytest.raises(InvalidInput):
            live.restore(msgspec.msgpack.encode(fields | {"count": STEPS + 1}), count)
    with pytest.raises(InvalidInput, match=r"^count must"):
        live.restore(good, -1)


def test_it_shows_nothing() -> None:
    live = releaser(event(), System())
    live.absorb(np.array([0.123, 0.0, 0.0]))
    assert repr(live) == "ExactCov(<sensitive>)"
