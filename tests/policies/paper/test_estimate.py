"""PrivateMLE: the certified minimizer of the tilted likelihood with noise on top, or nothing at all."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.policies.paper.paper_runs import estimate_event

from hushprice.demand import family
from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.protocol import Demand
from hushprice.errors import DidNotConverge, InvalidInput
from hushprice.noise import NoiseSource, System, Tape
from hushprice.numerics import tape
from hushprice.policies.paper import tolerance
from hushprice.policies.paper.private import plain_solver, solver
from hushprice.policies.paper.private.estimate import EstimateReleaser, PrivateMLE
from hushprice.privacy import sensitivity
from hushprice.privacy.events import TRIANGLE, CovarianceStream, Event, NotPrivate, PerturbedEstimate
from hushprice.privacy.streams import Tree
from hushprice.records import Records


class Own:
    """A built-in family as a user would write it: plain Python, code CUSTOM."""

    family = family.CUSTOM

    def __init__(self, original: Demand, **members: Any) -> None:
        self.original = original
        vars(self).update(members)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)


def sales(demand: Demand, count: int = 60) -> Records:
    generator = np.random.default_rng(1)
    records = Records(2, demand.bound, sensitivity.lowest(demand))
    for phi in generator.uniform(-0.7, 0.7, (count, 2)):
        z = phi @ np.array([0.6, -0.8])
        records.append(phi, demand.sample(np.array([z]), *generator.random((2, 1)))[0])
    return records


no_numbers = pytest.mark.filterwarnings("ignore:invalid value")  # NumPy's remark on NaN in un-compiled arithmetic
QUIET = 1e-9  # output noise too small to see: what is left is the minimizer


def event_of(
    demand: Demand, noise: float = 5.0, ridge: float = 10.0, output: float = QUIET, live: bool = False
) -> PerturbedEstimate:
    return estimate_event(demand, noise=noise, ridge=ridge, output=output, steps=60, live=live)


def releaser(
    demand: Demand, noise: float = 5.0, output: float = QUIET, source: NoiseSource | None = None
) -> PrivateMLE:
    source = Tape(3, 0) if source is None else source
    honest = demand.original if isinstance(demand, Own) else demand
    event: Event = event_of(honest, noise, output=output) if noise > 0.0 else NotPrivate()
    return PrivateMLE(demand=demand, dimension=2, ridge=10.0, source=source, event=event)


class Spy:
    """A source that remembers what noise was asked of it, gives no tilt and a chosen output noise."""

    label, secure = "spy", False

    def __init__(self, simulated: bool = True, output: tuple[float, float] = (0.0, 0.0)) -> None:
        self.simulated, self.output = simulated, output
        self.asked: list[tuple[int, float, int]] = []

    def add(self, values: np.ndarray, noise: float, stream: int, period: int) -> np.ndarray:
        self.asked.append((stream, noise, period))
        return values + np.array(self.output) * (stream == tape.OUTPUT_NOISE)

    def uniform(self, stream: int, period: int) -> float:
        raise AssertionError("an estimate needs no uniforms")


@pytest.mark.parametrize("demand", [Logistic(), Gaussian(), Poisson()])
@pytest.mark.parametrize("noise", [0.0, 5.0, 500.0])
def test_the_release_is_the_minimizer_of_the_tilted_likelihood(demand: Demand, noise: float) -> None:
    records = sales(demand)
    release = releaser(demand, noise).release(records, period=9)
    theta, tilt = release.theta, noise * Tape(3, 0).normals(tape.ESTIMATE_NOISE, 9, 2)
    phi, z = records.phi[:, :60], release.theta @ records.phi[:, :60]
    g = demand.slope * phi @ (demand.mean(z) - records.demand[:60]) + 10.0 * theta + tilt
    k = max(0.0, -(g @ theta) / (theta @ theta))
    assert np.linalg.norm(g + k * theta) < 1e-4
    assert k * (2.0 - np.linalg.norm(theta)) < 1e-4  # no multiplier inside the ball
    assert release.event == (event_of(demand, noise) if noise > 0.0 else NotPrivate())


@pytest.mark.parametrize("demand", [Logistic(), Gaussian(), Poisson()])
@pytest.mark.parametrize("noise", [0.0, 5.0, 500.0])
def test_a_family_of_ones_own_gets_the_same_estimate(demand: Demand, noise: float) -> None:
    built = releaser(demand, noise).release(sales(demand), 9).theta
    own = releaser(Own(demand), noise).release(sales(demand), 9).theta
    np.testing.assert_allclose(own, built, atol=2e-5)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("demand", [Logistic(), Gaussian(), Poisson()])
def test_the_release_is_the_minimizer_plus_the_output_noise_of_the_tape(demand: Demand, own: bool) -> None:
    family_ = Own(demand) if own else demand
    exact = releaser(family_).release(sales(demand), 9).theta
    noisy = releaser(family_, output=0.25).release(sales(demand), 9).theta
    drawn = Tape(3, 0).normals(tape.OUTPUT_NOISE, 9, 2)
    np.testing.assert_allclose(noisy - exact, 0.25 * drawn, rtol=1e-8, atol=1e-8)


def test_tilt_and_output_noise_are_each_drawn_once_and_from_streams_of_their_own() -> None:
    spy = Spy()
    private = releaser(Logistic(), noise=5.0, output=0.25, source=spy)
    for period in (9, 30):
        private.release(sales(Logistic()), period)
    expected = [(tape.ESTIMATE_NOISE, 5.0), (tape.OUTPUT_NOISE, 0.25)]
    assert spy.asked == [(stream, noise, period) for period in (9, 30) for stream, noise in expected]


def test_without_a_private_event_nothing_is_drawn() -> None:
    spy = Spy()
    release = releaser(Logistic(), noise=0.0, source=spy).release(sales(Logistic()), 9)
    assert (spy.asked, release.event) == ([], NotPrivate())


@pytest.mark.parametrize("own", [False, True])
def test_a_release_outside_the_ball_is_published_as_it_is_and_the_next_fit_starts_inside(own: bool) -> None:
    """Output noise may push past ||theta|| = 2. Clipping what is released would be as private, but nobody asked."""
    demand: Any = Own(Logistic()) if own else Logistic()
    spy, records = Spy(output=(30.0, -40.0)), sales(Logistic())
    private = releaser(demand, source=spy)
    first = private.release(records, 9).theta
    assert np.linalg.norm(first) > 40.0
    np.testing.assert_array_equal(private.start, first)
    spy.output = (0.0, 0.0)
    cold = releaser(demand, source=Spy()).release(records, 10).theta
    np.testing.assert_allclose(private.release(records, 10).theta, cold, atol=1e-6)


def test_a_live_estimate_lies_on_the_grid_of_its_output_noise() -> None:
    event = event_of(Logistic(), output=0.01, live=True)
    private = PrivateMLE(demand=Logistic(), dimension=2, ridge=10.0, source=System(), event=event)
    first, second = (private.release(sales(Logistic()), 9) for _ in range(2))
    for release in (first, second):
        assert release.event == event
        np.testing.assert_array_equal(np.modf(release.theta / event.output_grid)[0], 0.0)
    assert not np.array_equal(first.theta, second.theta)  # the same records and period, and never the same noise


@no_numbers
def test_a_refused_fit_has_drawn_its_tilt_and_no_output_noise() -> None:
    """Noise already drawn is never drawn again for the same question: whoever asks again pays again."""
    spy, records = Spy(), sales(Logistic())
    records.demand[7] = math.nan
    with pytest.raises(DidNotConverge):
        releaser(Own(Logistic()), source=spy).release(records, 9)
    assert [stream for stream, _, _ in spy.asked] == [tape.ESTIMATE_NOISE]


def test_only_recorded_columns_are_read() -> None:
    records = sales(Logistic(), count=30)
    before = [releaser(demand).release(records, 9).theta for demand in (Logistic(), Own(Logistic()))]
    records.phi[:, 30:], records.demand[30:] = math.nan, math.nan
    after = [releaser(demand).release(records, 9).theta for demand in (Logistic(), Own(Logistic()))]
    np.testing.assert_array_equal(after, before)


def test_the_next_fit_starts_from_the_last_release() -> None:
    private = releaser(Logistic())
    np.testing.assert_array_equal(private.start, 0.0)
    release = private.release(sales(Logistic()), 9)
    np.testing.assert_array_equal(private.start, release.theta)
    private.start[:] = 7.0
    assert np.linalg.norm(release.theta) <= 2.0


def test_a_release_is_sealed_and_nothing_is_shown() -> None:
    private: EstimateReleaser = releaser(Logistic())
    release = private.release(sales(Logistic()), 9)
    with pytest.raises(ValueError, match="read-only"):
        release.theta[0] = 0.0
    assert repr(private) == "PrivateMLE(<sensitive>)"


def refuse(private: PrivateMLE, records: Records) -> None:
    """It must refuse, say so without a number (gaps and passes are made of records), and keep its public start."""
    before = private.start.copy()
    with pytest.raises(DidNotConverge, match=r"nothing was released$") as refusal:
        private.release(records, 9)
    assert not re.search(r"\d|nan|inf", str(refusal.value))
    assert refusal.value.__cause__ is None
    np.testing.assert_array_equal(private.start, before)


@no_numbers
def test_a_record_that_is_no_number_is_refused_without_a_number() -> None:
    records = sales(Logistic())
    records.demand[7] = math.nan  # behind the table's back: it would not have let this in
    refuse(releaser(Logistic()), records)
    refuse(releaser(Own(Logistic())), records)


@no_numbers
def test_a_family_that_gives_no_numbers_is_refused_without_a_number() -> None:
    refuse(releaser(Own(Logistic(), mean=lambda z: z * math.nan)), sales(Logistic()))
    refuse(releaser(Own(Logistic(), mean_slope=lambda z: z * math.nan)), sales(Logistic()))


def test_a_starved_fit_is_refused_without_a_number(monkeypatch: Any) -> None:
    monkeypatch.setattr(plain_solver, "MAX_PASSES", 1)
    refuse(releaser(Own(Logistic())), sales(Logistic()))


def test_a_gap_past_the_public_tolerance_is_refused(monkeypatch: Any) -> None:
    private, records = releaser(Logistic()), sales(Logistic())
    for gap in (1.01 * tolerance.TOLERANCE, math.inf, math.nan):
        monkeypatch.setattr(solver, "minimize", lambda *_, gap=gap: gap)
        refuse(private, records)
    monkeypatch.setattr(solver, "minimize", lambda *_: tolerance.TOLERANCE)
    private.release(records, 9)


def test_records_of_another_dimension_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^records must have 2 features, got 3$"):
        releaser(Logistic()).release(Records(3, 1.0), 9)


STREAM = CovarianceStream(strategy=Tree(3), steps=7, dimension=2, noise=5.0, layout=TRIANGLE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ridge": 0.0}, "ridge must"),
        ({"ridge": math.nan}, "ridge must"),
        ({"dimension": 0}, "dimension must"),
        ({"ridge": 9.0}, "event must describe this release"),
        ({"dimension": 3}, "event must describe this release"),
        ({"event": STREAM}, "event must be a PerturbedEstimate or NotPrivate"),
        ({"event": None}, "event must be a PerturbedEstimate or NotPrivate"),
    ],
)
def test_a_releaser_is_what_its_event_says(change: dict[str, Any], message: str) -> None:
    sound: dict[str, Any] = {"dimension": 2, "ridge": 10.0, "event": event_of(Logistic())}
    PrivateMLE(demand=Logistic(), source=Tape(3, 0), **sound)
    with pytest.raises(InvalidInput, match=f"^{message}"):
        PrivateMLE(demand=Logistic(), source=Tape(3, 0), **{**sound, **change})


IDEAL, LIVE = event_of(Logistic()), event_of(Logistic(), live=True)


@pytest.mark.parametrize("simulated", [False, True])
@pytest.mark.parametrize(
    ("event", "gridded"),
    [
        (IDEAL, (False, False)),
        (LIVE, (True, True)),
        (replace(LIVE, grid=0.0), (False, True)),
        (replace(LIVE, output_grid=0.0), (True, False)),
    ],
)
def test_live_noise_is_on_both_grids_and_simulated_noise_on_neither(
    event: PerturbedEstimate, gridded: tuple[bool, bool], simulated: bool
) -> None:
    given: dict[str, Any] = {"demand": Logistic(), "dimension": 2, "ridge": 10.0, "source": Spy(simulated)}
    if gridded == (not simulated, not simulated):
        assert PrivateMLE(**given, event=event).release(sales(Logistic()), 9).event == event
    else:
        with pytest.raises(InvalidInput, match=r"^event must describe this release, got PerturbedEstimate"):
            PrivateMLE(**given, event=event)
