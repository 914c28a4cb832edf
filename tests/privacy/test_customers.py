"""Customers with several records: m mu, the root of the sum of squares, converted once."""

from __future__ import annotations

import math

import pytest
from dp_accounting import get_epsilon_gaussian
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given
from hypothesis import strategies as st

from hushprice.errors import InvalidInput
from hushprice.policies.newton.noise import calibrate
from hushprice.privacy import accountant
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.customers import guarantee_of, loss_of_customer
from hushprice.privacy.events import Batches
from hushprice.privacy.loss import Loss, Radial, compose, loss_of

DELTA = 1e-8
LIVE = Batches(dimension=4, score_noise=20.0, curvature_noise=25.0, levels=12, live=True)
MUS = st.floats(0.001, 3.0)
CAPS = st.integers(1, 50)


def batches(epsilon: float, adjacency: Adjacency = Adjacency.REPLACE_ONE) -> Loss:
    """The loss of a product as the service has it: exact noise for this budget."""
    noise = calibrate(EpsilonDelta(epsilon, DELTA), dimension=4, levels=12, adjacency=adjacency)
    return loss_of(noise.event(4, live=True), 1, adjacency)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_a_customer_with_one_record_has_the_guarantee_of_a_record(epsilon: float, adjacency: Adjacency) -> None:
    loss = batches(epsilon, adjacency)
    found = guarantee_of([(loss, 1)], DELTA)
    assert loss_of_customer(loss, 1) == loss
    assert found.epsilon == accountant.epsilon_of(loss, DELTA) <= epsilon
    assert (found.mu, found.records, found.delta) == (loss.mu, 1, DELTA)


@pytest.mark.parametrize("records", [1, 2, 5, 20])
@pytest.mark.parametrize("mu", [0.05, 0.3])
def test_ideal_noise_is_accounted_for_as_another_library_does(records: int, mu: float) -> None:
    """m records move a Gaussian release m times as far: one Gaussian mechanism of sensitivity m mu."""
    ours = guarantee_of([(Loss(mu_squared=mu * mu), records)], DELTA).epsilon
    assert ours == pytest.approx(get_epsilon_gaussian(1.0 / (records * mu), DELTA), rel=1e-6)


def test_products_compose_as_another_library_composes_them() -> None:
    caps = [(0.1, 3), (0.2, 2), (0.05, 8)]
    ours = guarantee_of([(Loss(mu_squared=mu * mu), m) for mu, m in caps], 1e-6)
    assert ours.mu == pytest.approx(math.sqrt(sum((mu * m) ** 2 for mu, m in caps)), rel=1e-12)
    assert ours.records == 13
    together = None
    for mu, m in caps:
        one = privacy_loss_distribution.from_gaussian_mechanism(1.0 / (mu * m), value_discretization_interval=1e-4)
        together = one if together is None else together.compose(one)
    assert together is not None
    theirs = together.get_epsilon_for_delta(1e-6)  # errs upwards, by the width of its bins
    assert ours.epsilon <= theirs == pytest.approx(ours.epsilon, rel=2e-3)


@given(MUS, CAPS, CAPS)
def test_more_records_never_mean_more_privacy(mu: float, one: int, other: int) -> None:
    low, high = sorted((one, other))
    loss = Loss(mu_squared=mu * mu, coordinates=100_000)
    assert guarantee_of([(loss, low)], DELTA).epsilon <= guarantee_of([(loss, high)], DELTA).epsilon


@given(st.lists(st.tuples(MUS, CAPS), min_size=1, max_size=4), MUS, CAPS)
def test_another_product_never_means_more_privacy(products: list[tuple[float, int]], mu: float, cap: int) -> None:
    losses = [(Loss(mu_squared=each * each, coordinates=1000), m) for each, m in products]
    more = [*losses, (Loss(mu_squared=mu * mu, coordinates=1000), cap)]
    assert guarantee_of(losses, DELTA).epsilon <= guarantee_of(more, DELTA).epsilon


@pytest.mark.parametrize("records", [2, 5, 10])
def test_the_customers_figure_is_below_what_chaining_epsilon_and_delta_gives(records: int) -> None:
    """The reason for mu: m epsilon needs delta (e^(m epsilon) - 1)/(e^epsilon - 1), far above delta."""
    epsilon = accountant.epsilon_of(batches(1.0), DELTA)
    found = guarantee_of([(batches(1.0), records)], DELTA * math.expm1(records * epsilon) / math.expm1(epsilon))
    assert found.epsilon <= records * epsilon


def test_every_batch_that_holds_one_of_the_records_pays_for_its_grid() -> None:
    """Exact noise: m records are in at most m batches, so m times as many numbers may be off by their discreteness."""
    one = loss_of(LIVE, 1, Adjacency.REPLACE_ONE)
    assert one.coordinates == 10 * 2**12 + 4
    five = loss_of_customer(one, 5)
    assert five.coordinates == 5 * one.coordinates
    assert five.mu_squared == pytest.approx(25 * one.mu_squared)
    ideal = Loss(mu_squared=five.mu_squared)
    assert accountant.epsilon_of(ideal, DELTA) < accountant.epsilon_of(five, DELTA)
    # The other way to have m batches in the account, as m products of which each holds one record, has as many.
    assert compose([one] * 5).coordinates == five.coordinates


def test_what_has_no_bound_promises_nothing() -> None:
    found = guarantee_of([(batches(1.0), 2), (Loss(unbounded=True), 1)], DELTA)
    assert (found.mu, found.epsilon) == (math.inf, math.inf)
    vast = guarantee_of([(batches(5.0), 10**6)], DELTA)
    assert (math.isfinite(vast.mu), vast.epsilon) == (True, math.inf)  # so many numbers on a grid are not covered


def test_no_products_reveal_nothing() -> None:
    found = guarantee_of([], DELTA)
    assert (found.records, found.mu, found.epsilon) == (0, 0.0, 0.0)


def test_estimates_are_refused_rather_than_guessed() -> None:
    radial = Loss(radials=(Radial(3, 0.1, 0.2, 2),))
    for unknown in (radial, Loss(epsilon=0.1), Loss(delta=1e-12), Loss(mu_squared=0.01, failure=1e-12)):
        with pytest.raises(InvalidInput, match="Gaussian releases alone"):
            guarantee_of([(unknown, 2)], DELTA)


@pytest.mark.parametrize("records", [0, -1, 1.5, True])
def test_a_cap_is_a_whole_number_from_one_on(records: int) -> None:
    with pytest.raises(InvalidInput, match=r"^records must be a whole number at or above 1"):
        loss_of_customer(batches(1.0), records)


@pytest.mark.parametrize("delta", [0.0, 1.0, math.nan])
def test_delta_is_stated(delta: float) -> None:
    with pytest.raises(InvalidInput, match=r"^delta must"):
        guarantee_of([(batches(1.0), 2)], delta)
