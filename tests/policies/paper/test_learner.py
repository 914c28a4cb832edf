"""Records go in, paid releases come out: the ledger is charged first, and refuses what was not bought."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hushprice.demand.families import Logistic
from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.mechanisms.exact_covariance import ExactCov
from hushprice.noise import System, Tape
from hushprice.policies.paper.calibration import CALIBRATIONS, calibrate
from hushprice.policies.paper.noise import Noise, without_noise
from hushprice.policies.paper.private.covariance import PrivateCov
from hushprice.policies.paper.private.learner import PaperLearner
from hushprice.policies.paper.rules import PaperRules
from hushprice.policies.protocol import basis_of
from hushprice.privacy.budget import split
from hushprice.privacy.events import CovarianceStream, NotPrivate
from hushprice.records import Records
from hushprice.releases import CovarianceRelease, EstimateRelease
from hushprice.types import FloatArray

TUNING = PaperRules(exploration_periods=0, ridge=1.0, width=1.0, max_estimates=3)
BASIS = basis_of(Logistic(), 2)
PHI = np.array([0.6, -0.8])


def noise(name: str) -> Noise:
    given: dict[str, Any] = {"constants": BASIS.constants, "losses": BASIS.losses, "dimension": 2, "ridge": 1.0}
    return calibrate(name, split(1.0, 1e-4), horizon=20, max_estimates=3, **given)


PRIVATE = noise("tight")


def learner(**changes: Any) -> PaperLearner:
    given: dict[str, Any] = {"demand": Logistic(), "rules": TUNING, "noise": PRIVATE, "source": Tape(3, 0)}
    return PaperLearner(dimension=2, horizon=20, **given | changes)


class Spy:
    """A releaser of one's own that looks at the ledger when it is asked, and claims to have cost `event`."""

    owner: Any = None

    def __init__(self, event: Any) -> None:
        self.event, self.seen = event, -1

    def release(self, records: Records, period: int) -> EstimateRelease:
        self.seen = self.owner.estimates_left
        return EstimateRelease(np.zeros(2), self.event)

    def absorb(self, phi: FloatArray) -> CovarianceRelease:
        return CovarianceRelease(np.zeros(3), 1, self.event)


SOURCES = [Tape(3, 0), System()]


@pytest.mark.parametrize("source", SOURCES, ids=["tape", "system"])
@pytest.mark.parametrize("name", CALIBRATIONS)
def test_the_stream_is_paid_at_the_start_and_estimates_one_by_one(name: str, source: Tape | System) -> None:
    one = learner(noise=noise(name), source=source)
    assert [(entry.event, entry.count) for entry in one.ledger.spent] == [(one.stream_event, 1)]
    for left in (2, 1, 0):
        release = one.estimate(5)
        assert (release.event, one.estimates_left, one.ledger.count(one.estimate_event)) == (
            one.estimate_event,
            left,
            3 - left,
        )
    assert one.ledger.count(one.stream_event) == 1


def test_more_estimates_than_were_paid_for_are_refused_before_anything_is_drawn() -> None:
    spy = Spy(learner().estimate_event)
    one = learner(estimates=spy)
    spy.owner = one
    for _ in range(3):
        one.estimate(1)
    spent, spy.seen = one.ledger, -1
    with pytest.raises(BudgetExhausted, match="0 left"):
        one.estimate(1)
    assert (one.ledger, spy.seen) == (spent, -1)


def test_an_estimate_is_charged_before_it_is_made() -> None:
    spy = Spy(learner().estimate_event)
    spy.owner = learner(estimates=spy)
    spy.owner.estimate(1)
    assert spy.seen == 2


def test_a_release_that_cost_something_else_reaches_no_price() -> None:
    free = Spy(NotPrivate())
    with pytest.raises(BudgetExhausted, match=r"NotPrivate\(\) was released, where CovarianceStream"):
        learner(covariance=free).absorb(PHI, 1.0)
    one = free.owner = learner(estimates=free)
    with pytest.raises(BudgetExhausted, match=r"NotPrivate\(\) was released, where PerturbedEstimate"):
        one.estimate(1)
    assert one.estimates_left == 2


def test_a_releaser_of_ones_own_is_used_even_when_it_counts_as_empty() -> None:
    class Empty(Spy):
        def __len__(self) -> int:
            return 0

    own = Empty(learner().stream_event)
    assert learner(covariance=own).absorb(PHI, 1.0).records == 1
    assert learner(covariance=own).covariance is own
    assert learner(estimates=own).estimates is own


def test_without_noise_the_releases_are_exact() -> None:
    one = learner(noise=without_noise(1.0))
    one.absorb(PHI, 1.0)
    release = one.absorb(2.0 * PHI, 7.0)  # both bounds are enforced whatever comes in
    np.testing.assert_allclose(release.packed, 2 * np.outer(PHI, PHI)[np.triu_indices(2)], rtol=1e-12)
    assert (release.records, release.event, one.estimates_left) == (2, NotPrivate(), 3)
    assert one.records.demand[:2].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("source", SOURCES, ids=["tape", "system"])
@pytest.mark.parametrize("name", CALIBRATIONS)
def test_live_noise_is_exact_and_simulated_noise_is_the_simulators(name: str, source: Tape | System) -> None:
    one = learner(noise=noise(name), source=source)
    live = source is SOURCES[1]
    assert type(one.covariance) is (ExactCov if live else PrivateCov)
    assert isinstance(one.stream_event, CovarianceStream)
    assert (one.stream_event.grid > 0.0) == live
    assert one.absorb(PHI, 1.0).event == one.stream_event
    assert one.estimate(2).event == one.estimate_event


def test_without_noise_the_operating_system_has_nothing_to_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(*given: Any) -> Any:
        pytest.fail("noise was drawn where none was asked for")

    for draw in ("add", "integers"):
        monkeypatch.setattr(System, draw, drawn)
    live, simulated = (learner(noise=without_noise(1.0), source=source) for source in (System(), Tape(3, 0)))
    for n in range(5):
        released = [one.absorb(PHI, float(n % 2)).packed.tolist() for one in (live, simulated)]
        assert released[0] == released[1]
    assert live.estimate(6).theta.tolist() == simulated.estimate(6).theta.tolist()


class Own:
    """A noise source of one's own without normals."""

    label, secure = "mine", True

    def __init__(self, simulated: bool) -> None:
        self.simulated = simulated

    def add(self, values: FloatArray, noise: float, stream: int, period: int) -> FloatArray:
        return values

    def uniform(self, stream: int, period: int) -> float:
        return 0.5


class OwnNormals(Own):
    """And one with normals, all of them one."""

    def normals(self, stream: int, period: int, count: int) -> FloatArray:
        return np.ones(count)


def test_a_source_of_ones_own_is_used_or_refused_and_never_replaced() -> None:
    for simulated in (True, False):
        with pytest.raises(InvalidInput, match="source 'mine' gives no normals"):
            learner(source=Own(simulated))
    with pytest.raises(InvalidInput, match="event must describe this release"):  # live noise must be on a grid
        learner(source=OwnNormals(simulated=False))
    one, other = learner(source=OwnNormals(simulated=True)), learner(source=Tape(3, 0))
    assert not np.any(one.absorb(PHI, 1.0).packed == other.absorb(PHI, 1.0).packed)
    first = np.outer(PHI, PHI)[np.triu_indices(2)] + PRIVATE.covariance_noise * np.array([1.0, np.sqrt(0.5), 1.0])
    np.testing.assert_allclose(learner(source=OwnNormals(simulated=True)).absorb(PHI, 1.0).packed, first, rtol=1e-12)


def test_demand_below_the_familys_least_is_raised_to_it() -> None:
    one = learner()
    one.absorb(PHI, -3.0)
    assert one.records.demand[0] == 0.0  # the accountant's constants hold for demand in [0, 1]


def test_a_record_that_is_not_finite_is_refused_without_telling_its_values() -> None:
    one = learner()
    with pytest.raises(InvalidInput, match=r"^a record must be finite$"):
        one.absorb(np.array([np.nan, 0.0]), 1.0)
    assert one.records.count == 0


def test_a_learner_prints_nothing() -> None:
    assert repr(learner()) == "PaperLearner(<sensitive>)"
