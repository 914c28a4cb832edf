"""The side that prices: a function of releases and the arriving context, nothing else (prop:na-privacy)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special

from hushprice import open_pricer
from hushprice.demand import family
from hushprice.demand.families import Logistic
from hushprice.demand.features import main_effects
from hushprice.errors import InvalidInput
from hushprice.noise import Tape
from hushprice.policies.paper.pricing import refresh
from hushprice.policies.paper.pricing.quoter import PaperQuoter
from hushprice.privacy.events import NotPrivate
from hushprice.releases import CovarianceRelease, EstimateRelease

EVENT = NotPrivate()
THETA = np.array([-0.3, 0.9])


def quoter(**changes: Any) -> PaperQuoter:
    given: dict[str, Any] = {
        "demand": Logistic(),
        "features": main_effects(1),
        "ridge": 2.0,
        "width": 0.5,
        "repair": refresh.AS_IS,
    }
    return PaperQuoter(**given | changes)


def covariance(*packed: float) -> CovarianceRelease:
    return CovarianceRelease(np.array(packed), 5, EVENT)


def estimate(theta: Any = THETA) -> EstimateRelease:
    return EstimateRelease(np.array(theta), EVENT)


def bound(theta: np.ndarray, matrix: np.ndarray, width: float, x: float) -> np.ndarray:
    """The upper confidence bound of alg:framework line 10 at 10,001 prices."""
    p = np.linspace(0.0, 1.0, 10_001)
    phi = np.stack([np.full_like(p, x), -p]) / np.sqrt(2)
    form = np.einsum("ip,ij,jp->p", phi, np.linalg.inv(matrix), phi)
    return p * special.expit(4.0 * theta @ phi) + width * np.sqrt(np.maximum(form, 0.0))


@pytest.mark.parametrize("packed", [(3.0, 0.5, 1.0), (40.0, -6.0, 9.0), (-5.0, 1.0, 8.0)])
@pytest.mark.parametrize("x", [-1.0, 0.2, 1.0])
def test_the_price_maximizes_the_upper_confidence_bound(packed: tuple[float, ...], x: float) -> None:
    one = quoter()
    one.accept(estimate(), covariance(*packed))
    matrix = np.array([[packed[0] + 2.0, packed[1]], [packed[1], packed[2] + 2.0]])
    assert one.price(np.array([x])) == pytest.approx(np.argmax(bound(THETA, matrix, 0.5, x)) / 10_000, abs=1.01e-4)


def test_the_price_of_ignorance_comes_from_theta_zero_and_the_ridge_alone() -> None:
    one = quoter()
    assert (one.version, one.theta.tolist(), one.inverse.tolist()) == (0, [0.0, 0.0], [[0.5, 0.0], [0.0, 0.5]])
    assert one.price(np.array([0.4])) == 1.0  # without an estimate the top price earns and teaches most


def test_an_estimate_is_wanted_when_the_determinant_has_more_than_doubled() -> None:
    one = quoter()  # det 4
    doubled = np.sqrt(8.0) - 2.0
    assert not one.wants_estimate(covariance(doubled - 1e-6, 0.0, doubled - 1e-6))
    assert one.wants_estimate(covariance(doubled + 1e-6, 0.0, doubled + 1e-6))
    one.accept(estimate(), covariance(8.0, 0.0, 8.0))
    assert one.log_determinant == pytest.approx(np.log(100.0))
    assert not one.wants_estimate(covariance(8.0, 0.0, 17.9))
    assert one.wants_estimate(covariance(8.0, 0.0, 18.1))
    assert not one.wants_estimate(covariance(-80.0, 0.0, 18.1))  # a negative determinant is never larger
    assert (one.version, one.indefinite) == (1, 1)


@pytest.mark.parametrize(("repair", "least"), [(refresh.FLOOR, 2.0), (refresh.AS_IS, -98.0)])
def test_an_indefinite_covariance_is_repaired_or_left_as_the_calibration_says(repair: int, least: float) -> None:
    one = quoter(repair=repair)
    one.accept(estimate(), covariance(-100.0, 0.0, -100.0))
    np.testing.assert_allclose(one.inverse, np.eye(2) / least, rtol=1e-12)


def fed(trial: int, people: np.random.Generator) -> list[float]:
    """A pricer with customers of its own whose quoter is then fed one fixed sequence of releases; prices after each."""
    pricer = open_pricer(
        policy="paper",
        horizon=50,
        contexts=1,
        epsilon=3000.0,
        ridge=2.0,
        width=0.5,
        source=Tape(seed=7, trial=trial),
        simulation=True,
    )
    for _ in range(30):
        pricer.observe(pricer.quote(people.uniform(-1, 1, 1)).id, float(people.integers(0, 2)))
    prices = []
    for step in range(1, 6):
        pricer.quoter.accept(estimate(THETA / step), covariance(3.0 * step, 0.1, 2.0 * step))
        prices += [pricer.quoter.price(np.array([x])) for x in (-0.9, 0.0, 0.7)]
    return prices


def test_the_same_releases_give_the_same_prices_whatever_was_recorded() -> None:
    """prop:na-privacy: two histories of customers and noise, one sequence of releases, one sequence of prices."""
    plain = quoter()
    expected = []
    for step in range(1, 6):
        plain.accept(estimate(THETA / step), covariance(3.0 * step, 0.1, 2.0 * step))
        expected += [plain.price(np.array([x])) for x in (-0.9, 0.0, 0.7)]
    assert fed(1, np.random.default_rng(1)) == fed(2, np.random.default_rng(2)) == expected


def test_pricing_changes_nothing() -> None:
    one = quoter()
    one.accept(estimate(), covariance(30.0, 1.0, 20.0))
    first = one.price(np.array([0.3]))
    for x in np.linspace(-1, 1, 20):
        one.price(np.array([x]))
    assert one.price(np.array([0.3])) == first
    assert (one.version, one.indefinite) == (1, 0)


def test_a_release_is_kept_as_it_was_when_it_was_accepted() -> None:
    theta, packed = THETA.copy(), np.array([30.0, 1.0, 20.0])
    one = quoter()
    one.accept(EstimateRelease(theta, EVENT), CovarianceRelease(packed, 5, EVENT))
    before = one.price(np.array([0.3]))
    theta[:], packed[:] = 0.0, 0.0
    assert one.price(np.array([0.3])) == before
    assert one.covariance is not None
    assert one.covariance.packed.tolist() == [30.0, 1.0, 20.0]


@pytest.mark.parametrize(
    ("theta", "packed", "message"),
    [
        ([0.1], (1.0, 0.0, 1.0), "theta must have 2 entries"),
        ([0.1, np.nan], (1.0, 0.0, 1.0), r"theta\[1\] must be a finite number, got nan"),
        (THETA, (1.0, 0.0), "covariance must have 3 entries"),
        (THETA, (1.0, np.inf, 1.0), r"covariance\[1\] must be a finite number, got inf"),
    ],
)
def test_a_release_of_the_wrong_shape_is_refused_and_changes_nothing(theta: Any, packed: Any, message: str) -> None:
    one = quoter()
    with pytest.raises(InvalidInput, match=message):
        one.accept(estimate(theta), covariance(*packed))
    if "covariance" in message:
        with pytest.raises(InvalidInput, match=message):
            one.wants_estimate(covariance(*packed))
    assert (one.version, one.theta.tolist(), one.covariance) == (0, [0.0, 0.0], None)
    assert one.inverse.tolist() == [[0.5, 0.0], [0.0, 0.5]]


@pytest.mark.parametrize("change", [{"ridge": 0.0}, {"ridge": np.nan}, {"width": -1.0}])
def test_bad_tuning_is_refused_by_name(change: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match=f"^{next(iter(change))} must be"):
        quoter(**change)


class Same(Logistic):
    """The logistic family as a user's own would come: by its functions alone."""

    family = family.CUSTOM

    def mean(self, z: np.ndarray) -> np.ndarray:
        return special.expit(self.slope * z)


def test_a_family_of_ones_own_is_priced_by_its_functions() -> None:
    ours, own = quoter(), quoter(demand=Same())
    for each in (ours, own):
        each.accept(estimate(), covariance(30.0, 1.0, 20.0))
    for x in (-0.8, 0.1, 0.9):
        assert own.price(np.array([x])) == pytest.approx(ours.price(np.array([x])), abs=1e-3)
