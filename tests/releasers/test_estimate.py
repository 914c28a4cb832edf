"""PrivateMLE: the certified minimizer of the tilted likelihood, or nothing at all."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from hushprice.accounting.events import ContinualCovariance, Event, NotPrivate, PerturbedEstimate
from hushprice.demand import family
from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.protocol import Demand
from hushprice.errors import DidNotConverge, InvalidInput
from hushprice.numerics import tape
from hushprice.releasers import objective_perturbation, reference
from hushprice.releasers.estimate import EstimateReleaser, PrivateMLE
from hushprice.releasers.noise import Tape
from hushprice.sensitive.records import Records


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
    records = Records(2, demand.bound)
    for phi in generator.uniform(-0.7, 0.7, (count, 2)):
        z = phi @ np.array([0.6, -0.8])
        records.append(phi, demand.sample(np.array([z]), *generator.random((2, 1)))[0])
    return records


def releaser(demand: Demand, noise: float = 5.0, ridge: float = 10.0) -> PrivateMLE:
    event: Event = PerturbedEstimate(noise, ridge, 2) if noise > 0.0 else NotPrivate()
    return PrivateMLE(demand=demand, dimension=2, noise=noise, ridge=ridge, source=Tape(3, 0), event=event)


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
    assert release.event == (PerturbedEstimate(noise, 10.0, 2) if noise > 0.0 else NotPrivate())


@pytest.mark.parametrize("demand", [Logistic(), Gaussian(), Poisson()])
@pytest.mark.parametrize("noise", [0.0, 5.0, 500.0])
def test_a_family_of_ones_own_gets_the_same_estimate(demand: Demand, noise: float) -> None:
    built = releaser(demand, noise).release(sales(demand), 9).theta
    own = releaser(Own(demand), noise).release(sales(demand), 9).theta
    np.testing.assert_allclose(own, built, atol=2e-5)


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


no_numbers = pytest.mark.filterwarnings("ignore:invalid value")  # NumPy's remark on NaN in un-compiled arithmetic


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
    monkeypatch.setattr(reference, "MAX_PASSES", 1)
    refuse(releaser(Own(Logistic())), sales(Logistic()))


def test_a_gap_past_the_public_tolerance_is_refused(monkeypatch: Any) -> None:
    private, records = releaser(Logistic()), sales(Logistic())
    for gap in (1.01 * objective_perturbation.TOLERANCE, math.inf, math.nan):
        monkeypatch.setattr(objective_perturbation, "minimize", lambda *_, gap=gap: gap)
        refuse(private, records)
    monkeypatch.setattr(objective_perturbation, "minimize", lambda *_: objective_perturbation.TOLERANCE)
    private.release(records, 9)


def test_records_of_another_dimension_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^records must have 2 features, got 3$"):
        releaser(Logistic()).release(Records(3, 1.0), 9)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"noise": math.nan}, "noise"),
        ({"noise": -1.0}, "noise"),
        ({"ridge": 0.0}, "ridge"),
        ({"ridge": math.nan}, "ridge"),
        ({"dimension": 0}, "dimension"),
        ({"noise": 4.0}, "event"),
        ({"noise": 0.0}, "event"),
        ({"ridge": 9.0}, "event"),
        ({"dimension": 3}, "event"),
        ({"event": ContinualCovariance(5.0, 3, 2)}, "event"),
    ],
)
def test_a_releaser_is_what_its_event_says(change: dict[str, Any], name: str) -> None:
    sound: dict[str, Any] = {"dimension": 2, "noise": 5.0, "ridge": 10.0, "event": PerturbedEstimate(5.0, 10.0, 2)}
    PrivateMLE(demand=Logistic(), source=Tape(3, 0), **sound)
    with pytest.raises(InvalidInput, match=f"^{name} must"):
        PrivateMLE(demand=Logistic(), source=Tape(3, 0), **{**sound, **change})
