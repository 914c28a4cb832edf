"""Events: frozen values that an accountant can be written from, and nothing half described."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice.errors import InvalidInput
from hushprice.privacy import events, streams
from hushprice.privacy.events import (
    MOST_LEVELS,
    AggregatedBatches,
    Batches,
    BitReports,
    CovarianceStream,
    DirectionReports,
    EarlierFit,
    Event,
    GaussianSums,
    LaplaceBatches,
    LaplaceSums,
    LogFit,
    LogSums,
    MomentBatches,
    NotPrivate,
    PerturbedEstimate,
    RowCounts,
    ShuffledBits,
    grid_of,
)

property_test = settings(deadline=None, derandomize=True)
STREAM = CovarianceStream(strategy=streams.toeplitz(1000), steps=999, dimension=2, noise=34.2, layout=events.FROBENIUS)
TREE = CovarianceStream(strategy=streams.tree(1000), steps=999, dimension=2, noise=34.2, layout=events.TRIANGLE)
ESTIMATE = PerturbedEstimate(
    dimension=2,
    noise=166.0,
    ridge=10.0,
    gradient=4.0,
    difference=7.1,
    curvature=4.0,
    distance=1e-7,
    output_noise=1e-4,
)
LIVE = dataclasses.replace(ESTIMATE, grid=grid_of(166.0), output_grid=grid_of(1e-4))
BATCHES = Batches(dimension=2, score_noise=13.0, curvature_noise=16.0, levels=12)
MOMENTS = MomentBatches(
    scores=9, descriptions=17, largest=0.1, own=(0.0, 0.6), noise=6.0, description_noise=38.0, earnings_noise=43.0
)
LAPLACE = LaplaceBatches(
    contexts=2,
    least=0.01,
    most=0.1,
    scales=((1.2, math.inf), (2.4, 2.4)),
    descriptions=17,
    description_noise=80.0,
    earnings_scale=25.0,
)
SUMS = LogSums(rows=2, entries=9, noise=12.0)
COUNTS = RowCounts(rows=3, noise=40.0, threshold=300.0)
OF_RIVALS = LaplaceSums(levels=3, scale=2.0), GaussianSums(rounds=3, noise=5.0, apart=1.5, entries=4)
EVENTS: list[Event] = [
    *(STREAM, TREE, ESTIMATE, LIVE),
    *(
        dataclasses.replace(batches, live=live)
        for batches in (BATCHES, MOMENTS, LAPLACE, COUNTS, SUMS, *OF_RIVALS)
        for live in (False, True)
    ),
    LogFit(descriptions=17, scores=6, description_noise=(9.0, 7.0), score_noise=(8.0, 6.0), rows=3),
    EarlierFit(fit="0" * 64, epsilon=1.0, delta=1e-6),
    BitReports(keep=0.75),
    AggregatedBatches(**{field.name: getattr(LAPLACE, field.name) for field in dataclasses.fields(LAPLACE)}),
    ShuffledBits(steps=((500, 0.9), (700, 0.92)), delta=1e-9),
    DirectionReports(dimension=3, keep=0.75),
    NotPrivate(),
]
FREE = ("grid", "output_grid", "levels", "live", "descriptions", "largest")  # 0 is one of their values
NUMBERS = [
    (event, field.name)
    for event in (STREAM, ESTIMATE, BATCHES, MOMENTS, COUNTS, SUMS)
    for field in dataclasses.fields(event)
    if isinstance(getattr(event, field.name), (int, float)) and field.name not in FREE
]


@pytest.mark.parametrize("levels", [-1, MOST_LEVELS + 1, 1.5, math.nan, math.inf, None, True, "1"])
def test_a_batch_has_a_sensible_number_of_blocks(levels: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^levels must"):
        dataclasses.replace(BATCHES, levels=levels)
    assert dataclasses.replace(BATCHES, levels=0).entries == 3
    assert dataclasses.replace(BATCHES, levels=MOST_LEVELS).levels == MOST_LEVELS


@pytest.mark.parametrize("event", [BATCHES, COUNTS, SUMS, *OF_RIVALS])
@pytest.mark.parametrize("live", [None, 1, 0.0, "yes"])
def test_batches_and_counts_say_whether_their_noise_is_live(event: Any, live: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^live must be True or False, got"):
        dataclasses.replace(event, live=live)


def test_counts_lie_on_the_grid_of_their_noise_and_pass_no_threshold_by_themselves() -> None:
    with pytest.raises(InvalidInput, match=r"^noise must lie in \[0, 4\.29497e\+09\]"):
        dataclasses.replace(COUNTS, noise=2.0**33, live=True)
    assert grid_of(dataclasses.replace(COUNTS, noise=2.0**32, live=True).noise) == 1.0
    with pytest.raises(InvalidInput, match=r"^threshold must be a number at or above 3, got 2\.9"):
        dataclasses.replace(COUNTS, threshold=2.9)
    assert dataclasses.replace(COUNTS, threshold=None).threshold is None


def test_a_row_is_an_upper_triangle() -> None:
    assert [dataclasses.replace(BATCHES, dimension=d).entries for d in (1, 2, 3, 20)] == [1, 3, 6, 210]
    assert [dataclasses.replace(STREAM, dimension=d).entries for d in (1, 2, 3, 20)] == [1, 3, 6, 210]


def test_every_kind_of_event_is_tested() -> None:
    assert {type(event) for event in EVENTS} == set(get_args(Event))


@pytest.mark.parametrize("event", EVENTS)
def test_events_are_values(event: Event) -> None:
    copy = type(event)(**{field.name: getattr(event, field.name) for field in dataclasses.fields(event)})
    assert copy == event
    assert hash(copy) == hash(event)
    assert sum(event == other for other in EVENTS) == 1


@pytest.mark.parametrize("event", EVENTS)
def test_events_are_frozen(event: Event) -> None:
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
        event.noise = 0.0  # type: ignore[misc, union-attr]


@pytest.mark.parametrize(("event", "name"), NUMBERS)
@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, None, True, "1"])
def test_every_number_of_a_private_event_is_checked(event: Any, name: str, value: Any) -> None:
    if name == "threshold" and value is None:  # every cell is published
        return
    with pytest.raises(InvalidInput, match=f"^{name} must"):
        dataclasses.replace(event, **{name: value})


@pytest.mark.parametrize(("event", "name"), [(STREAM, "steps"), (STREAM, "dimension"), (ESTIMATE, "dimension")])
def test_counts_are_whole(event: Any, name: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{name} must be a whole number"):
        dataclasses.replace(event, **{name: 2.5})


@pytest.mark.parametrize("strategy", [None, "tree", 17])
def test_an_unknown_strategy_is_refused(strategy: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^strategy must be a Tree or a Toeplitz, got"):
        dataclasses.replace(STREAM, strategy=strategy)


@pytest.mark.parametrize("layout", [None, "", "Triangle", "square"])
def test_an_unknown_layout_is_refused(layout: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^layout must be one of triangle, frobenius, got"):
        dataclasses.replace(STREAM, layout=layout)


@property_test
@given(st.floats(1e-200, 1e200))
def test_a_grid_is_a_power_of_two_just_fine_enough(noise: float) -> None:
    grid = grid_of(noise)
    assert math.frexp(grid)[0] == 0.5
    assert 2.0**32 * grid <= noise < 2.0**33 * grid
    assert dataclasses.replace(ESTIMATE, noise=noise, grid=grid).grid == grid


@pytest.mark.parametrize("noise", [0.0, -1.0, math.nan, math.inf])
def test_no_grid_without_noise(noise: float) -> None:
    with pytest.raises(InvalidInput, match=r"^noise must"):
        grid_of(noise)


@pytest.mark.parametrize("factor", [2.0, 1024.0, 0.5, -1.0, math.nan, math.inf])
@pytest.mark.parametrize(
    ("event", "field", "noise"),
    [(STREAM, "grid", "noise"), (LIVE, "grid", "noise"), (LIVE, "output_grid", "output_noise")],
)
def test_a_grid_the_proof_does_not_cover_is_refused(event: Any, field: str, noise: str, factor: float) -> None:
    """Coarser, finer, negative or no number."""
    value = getattr(event, noise)
    with pytest.raises(InvalidInput, match=f"^grid must be 0 or .* for {noise} {value!r}, got"):
        dataclasses.replace(event, **{field: factor * grid_of(value)})
