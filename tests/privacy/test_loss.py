"""Privacy losses: every formula a second time, both adjacencies, counts that multiply, and refusals."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice.errors import InvalidInput
from hushprice.privacy import accountant, events, streams
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import Batches, CovarianceStream, Event, NotPrivate, PerturbedEstimate, grid_of
from hushprice.privacy.ledger import Entry, Ledger, loss_of_all
from hushprice.privacy.loss import Loss, Radial, compose, loss_of, stream_numbers

property_test = settings(deadline=None, derandomize=True)
sizes = st.floats(1e-3, 1e3)
streams_of_events = st.builds(
    lambda strategy, steps, dimension, noise, layout, live: CovarianceStream(
        strategy=strategy(steps + 1),
        steps=steps,
        dimension=dimension,
        noise=noise,
        layout=layout,
        grid=grid_of(noise) if live else 0.0,
    ),
    st.sampled_from([streams.tree, streams.toeplitz]),
    st.integers(1, 10**6),
    st.integers(1, 20),
    sizes,
    st.sampled_from(events.LAYOUTS),
    st.booleans(),
)
estimates = st.builds(
    lambda dimension, values, distance, live: PerturbedEstimate(
        dimension=dimension,
        **dict(zip(("noise", "ridge", "gradient", "difference", "curvature", "output_noise"), values, strict=True)),
        distance=distance,
        grid=grid_of(values[0]) if live[0] else 0.0,
        output_grid=grid_of(values[5]) if live[1] else 0.0,
    ),
    st.integers(1, 20),
    st.tuples(*6 * [sizes]),
    st.floats(1e-12, 1e-3),
    st.tuples(st.booleans(), st.booleans()),
)
adjacencies = st.sampled_from(list(Adjacency))
batches = st.builds(
    lambda dimension, score_noise, curvature_noise, levels, live: Batches(
        dimension=dimension, score_noise=score_noise, curvature_noise=curvature_noise, levels=levels, live=live
    ),
    st.integers(1, 20),
    sizes,
    sizes,
    st.integers(0, 20),
    st.booleans(),
)
private = st.one_of(streams_of_events, estimates, batches)
STREAM = CovarianceStream(strategy=streams.toeplitz(1000), steps=999, dimension=2, noise=34.2, layout=events.FROBENIUS)
ESTIMATE = PerturbedEstimate(
    dimension=2,
    noise=166.0,
    ridge=50.0,
    gradient=4.0,
    difference=7.1,
    curvature=4.0,
    distance=1e-7,
    output_noise=1e-4,
)
EVENTS: list[Event] = [
    STREAM,
    dataclasses.replace(STREAM, strategy=streams.tree(1000), layout=events.TRIANGLE, grid=grid_of(34.2)),
    ESTIMATE,
    dataclasses.replace(ESTIMATE, grid=grid_of(166.0), output_grid=grid_of(1e-4)),
    Batches(dimension=2, score_noise=13.3, curvature_noise=16.3, levels=12),
    Batches(dimension=2, score_noise=13.3, curvature_noise=16.3, levels=12, live=True),
    NotPrivate(),
]


@property_test
@given(streams_of_events, st.integers(1, 100), adjacencies)
def test_a_stream_by_a_second_transcription(event: CovarianceStream, count: int, adjacency: Adjacency) -> None:
    """mu = (change of a record x longest column + two grid steps a number) / noise."""
    moved = np.sqrt(2.0 if adjacency is Adjacency.REPLACE_ONE else 1.0)
    if isinstance(event.strategy, streams.Tree):
        moved *= np.sqrt(np.ceil(np.log2(event.steps + 1)))
    else:
        moved *= event.strategy.column_norm(event.steps)
    numbers = event.steps * event.dimension * (event.dimension + 1) / 2
    moved += 2 * np.sqrt(numbers) * event.grid
    found = loss_of(event, count, adjacency)
    assert found.mu == pytest.approx(np.sqrt(count) * moved / event.noise, rel=2e-10)
    assert found.mu > np.sqrt(count) * moved / event.noise  # raised by 1e-10 for rounding
    assert found.mu_squared == pytest.approx(found.mu**2)
    assert found.radials == ()
    assert found.coordinates == (count * numbers if event.grid else 0)
    assert stream_numbers(event) == numbers
    assert not found.unbounded


@property_test
@given(estimates, st.integers(1, 100), adjacencies)
def test_an_estimate_by_a_second_transcription(event: PerturbedEstimate, count: int, adjacency: Adjacency) -> None:
    """U = ln(1 + curvature/ridge) + s^2/2 + s R, s = change / noise; 2 distance hidden by the output noise."""
    replaced = adjacency is Adjacency.REPLACE_ONE
    s = (event.difference if replaced else event.gradient) / event.noise
    found = loss_of(event, count, adjacency)
    (radial,) = found.radials
    assert (radial.count, radial.degree) == (count, 2 if replaced else 1)
    assert radial.scale == pytest.approx(s * (1 + 1e-10), rel=1e-14)  # raised for rounding
    assert radial.shift == pytest.approx(np.log((event.ridge + event.curvature) / event.ridge) + s * s / 2, rel=1e-9)
    hidden = 2 * event.distance + event.output_grid * np.sqrt(event.dimension)
    assert found.mu_squared == pytest.approx(count * (hidden / event.output_noise) ** 2, rel=3e-10)
    assert found.coordinates == count * event.dimension * ((event.grid > 0) + (event.output_grid > 0))
    assert not found.unbounded


def largest_together(score_noise: float, curvature_noise: float, replaced: bool) -> float:
    """The largest square of a record's two changes in units of their noise: over the cosines, not in closed form."""
    a, b = score_noise**-2, curvature_noise**-2
    if not replaced:
        return a + b
    cosines = np.linspace(0.0, 1.0, 20_001)
    best = cosines[np.argmax((2 + 2 * cosines) * a + (2 - 2 * cosines**2) * b)]
    finer = np.clip(best + np.linspace(-5e-5, 5e-5, 20_001), 0.0, 1.0)
    return float(max(4 * a + b, np.max((2 + 2 * finer) * a + (2 - 2 * finer**2) * b)))


@property_test
@given(batches, st.integers(1, 100), adjacencies)
def test_batches_by_a_second_transcription(event: Batches, count: int, adjacency: Adjacency) -> None:
    """What a record costs exactly, and what rounding adds where both changes are at their largest."""
    replaced = adjacency is Adjacency.REPLACE_ONE
    changes = np.array([2.0, np.sqrt(2.0)]) if replaced else np.ones(2)
    noises = np.array([event.score_noise, event.curvature_noise])
    rounded = np.zeros(2)
    if event.live:  # two grid steps a number, and twice that where a batch's own grid may be the coarser one
        rounded[0] = 2 * grid_of(event.score_noise) * np.sqrt(event.dimension)
        rounded[1] = 4 * grid_of(event.curvature_noise) * np.sqrt(event.entries * 2.0**event.levels)
        rounded += np.array([1.0, 2.0]) * 2.0**-37 * np.sqrt(event.dimension)  # cut to 2^-40
    more = np.sum(rounded * (2.0 * changes + rounded) / noises**2)
    expected = count * (largest_together(*noises, replaced) + more)
    found = loss_of(event, count, adjacency)
    assert found.mu_squared > expected  # raised by 1e-10 for rounding
    assert found.mu_squared == pytest.approx(expected, rel=4e-10)
    numbers = event.entries * 2**event.levels + event.dimension
    assert found.coordinates == (count * numbers if event.live else 0)
    assert found.radials == ()
    assert not found.unbounded


@property_test
@given(batches, adjacencies)
def test_batches_on_grids_are_charged_for_every_level(event: Batches, adjacency: Adjacency) -> None:
    """docs/proofs/batches.md, section 6: of every level, its own column, its own grid and its own numbers."""
    event = dataclasses.replace(event, live=True)
    charged = loss_of(event, 1, adjacency).mu_squared
    replaced = adjacency is Adjacency.REPLACE_ONE
    cosines = np.linspace(0.0, 1.0, 201)
    changes = [(2.0, 1.0), *zip(np.sqrt(2 + 2 * cosines), np.sqrt(2 - 2 * cosines**2), strict=True)]
    for level in {0, event.levels // 2, event.levels}:
        column = streams.toeplitz(2**level + 1).column_norm(2**level)
        noise = event.curvature_noise * column
        for scores, change in changes if replaced else [(1.0, 1.0)]:
            turned = scores + (2.0 * grid_of(event.score_noise) + 2.0**-37) * np.sqrt(event.dimension)
            moved = (change + 2.0**-36 * np.sqrt(event.dimension)) * column
            moved += 2.0 * grid_of(noise) * np.sqrt(event.entries * 2**level)
            assert (turned / event.score_noise) ** 2 + (moved / noise) ** 2 <= charged


@property_test
@given(private, adjacencies)
def test_zeroing_a_record_out_reveals_less_than_replacing_it(event: Event, adjacency: Adjacency) -> None:
    if isinstance(event, PerturbedEstimate):
        event = dataclasses.replace(event, difference=max(event.difference, event.gradient))
    replaced, zeroed = (loss_of(event, 1, relation) for relation in (Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT))
    assert zeroed.mu_squared <= replaced.mu_squared
    for tilt in (0.1, 1.0, 10.0):
        assert accountant.log_moment(zeroed, tilt) <= accountant.log_moment(replaced, tilt)


def test_the_grid_costs_a_little_and_never_nothing() -> None:
    for adjacency in Adjacency:
        ideal = loss_of(STREAM, 1, adjacency).mu_squared
        live = loss_of(dataclasses.replace(STREAM, grid=grid_of(34.2)), 1, adjacency).mu_squared
        assert ideal < live < ideal * (1.0 + 1e-6)


def test_what_has_no_noise_is_unbounded() -> None:
    for adjacency in Adjacency:
        assert loss_of(NotPrivate(), 3, adjacency) == Loss(unbounded=True)
        assert accountant.epsilon_of(loss_of(NotPrivate(), 1, adjacency), 0.5) == math.inf
    together = loss_of_all([Entry(STREAM, 1), Entry(NotPrivate(), 1)], Adjacency.ZERO_OUT)
    assert together.unbounded
    assert accountant.epsilon_of(together, 0.5) == math.inf


@pytest.mark.parametrize("event", [None, "stream", Loss(), object])
def test_an_unknown_event_is_refused(event: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^no accountant knows the event"):
        loss_of(event, 1, Adjacency.REPLACE_ONE)


@pytest.mark.parametrize("adjacency", [None, "replace-one", 1])
@pytest.mark.parametrize("event", [STREAM, ESTIMATE, EVENTS[4]])
def test_neighbours_of_no_known_kind_are_refused(event: Event, adjacency: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^adjacency must be an Adjacency, got"):
        loss_of(event, 1, adjacency)


def test_losses_compose() -> None:
    first = Loss(mu_squared=1.0, radials=(Radial(1, 0.1, 0.2, 1),), coordinates=5)
    second = Loss(mu_squared=2.0, radials=(Radial(3, 0.1, 0.2, 2),), coordinates=7, unbounded=True)
    assert compose([first, second]) == Loss(
        mu_squared=3.0, radials=first.radials + second.radials, coordinates=12, unbounded=True
    )
    assert compose([]) == Loss()
    assert compose(iter([first])) == first


def same_cost(one: Loss, other: Loss) -> bool:
    """Are all moments, all numbers on a grid and the verdict the same?"""
    return (
        one.unbounded == other.unbounded
        and one.coordinates == other.coordinates
        and all(
            math.isclose(accountant.log_moment(one, tilt), accountant.log_moment(other, tilt), rel_tol=1e-12)
            for tilt in (0.01, 0.5, 3.0, 50.0)
        )
    )


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("times", [1, 2, 7, 20])
def test_spending_many_times_is_spending_once_with_a_count(event: Event, adjacency: Adjacency, times: int) -> None:
    """The contract every kind of event must keep: forgetting the count once made a well-known accountant wrong."""
    at_once, apart = loss_of(event, times, adjacency), compose(loss_of(event, 1, adjacency) for _ in range(times))
    assert same_cost(at_once, apart)
    assert accountant.epsilon_of(at_once, 1e-6) == pytest.approx(accountant.epsilon_of(apart, 1e-6), rel=1e-6)
    one_by_one = ledger = Ledger(adjacency=adjacency, claimed=None)
    for _ in range(times):
        one_by_one = one_by_one.spend(event)
    assert one_by_one == ledger.spend(event, times)
    assert same_cost(loss_of_all(one_by_one.spent, adjacency), at_once)
    assert one_by_one.epsilon(1e-6) == accountant.epsilon_of(at_once, 1e-6)


class Forgetful(Ledger):
    """Multiplies by one, whatever the count."""

    def spend(self, event: Event, count: int = 1) -> Ledger:
        return Ledger.spend(self, event, 1)


@pytest.mark.parametrize("event", EVENTS[:6])
def test_a_ledger_that_multiplies_by_one_would_be_caught(event: Event) -> None:
    forgetful = Forgetful(adjacency=Adjacency.REPLACE_ONE, claimed=None).spend(event, 7)
    sound = Ledger(adjacency=Adjacency.REPLACE_ONE, claimed=None).spend(event, 7)
    assert not same_cost(
        loss_of_all(forgetful.spent, Adjacency.REPLACE_ONE), loss_of_all(sound.spent, Adjacency.REPLACE_ONE)
    )
    assert sound.epsilon(1e-6) > 1.5 * forgetful.epsilon(1e-6)


@property_test
@given(private, st.integers(1, 50), adjacencies)
def test_moments_grow_with_the_count(event: Event, count: int, adjacency: Adjacency) -> None:
    one, many = loss_of(event, 1, adjacency), loss_of(event, count, adjacency)
    for tilt in (0.1, 1.0, 30.0):
        expected = count * accountant.log_moment(one, tilt)
        assert accountant.log_moment(many, tilt) == pytest.approx(expected, rel=1e-12)


def test_losses_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Loss().mu_squared = 1.0  # type: ignore[misc]
