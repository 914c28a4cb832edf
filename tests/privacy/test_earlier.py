"""A fit, then a product: what both cost together, against a second accountant and against closed forms."""

from __future__ import annotations

import math

import pytest
from dp_accounting.pld import privacy_loss_distribution

from hushprice.errors import InvalidInput
from hushprice.policies.cautious.noise import calibrate, open_ledger
from hushprice.privacy import accountant, gaussian
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.customers import loss_of_customer
from hushprice.privacy.earlier import (
    claimed_after,
    entries_after,
    loss_in_histories,
    loss_of_whole_person,
    proven_after,
)
from hushprice.privacy.events import EarlierFit, ShuffledBits
from hushprice.privacy.ledger import Ledger
from hushprice.privacy.loss import Loss, compose, loss_of

REPLACE = Adjacency.REPLACE_ONE
CLAIMED = EpsilonDelta(1.0, 2e-6)
NOISE = calibrate(CLAIMED, contexts=3, least=0.0, most=0.1, adjacency=REPLACE)
EVENT = NOISE.event(3, live=True)
MU = gaussian.mu_of(0.7, 1e-6)
GAUSSIAN = EarlierFit(fit="f" * 64, epsilon=0.7, delta=1e-6, mu=MU, whole_person=True)
PLAIN = EarlierFit(fit="f" * 64, epsilon=0.7, delta=1e-6)


def test_two_gaussian_releases_cost_what_another_accountant_says() -> None:
    proven = proven_after(GAUSSIAN, EVENT, CLAIMED, REPLACE)
    loss = loss_of(EVENT, 1, REPLACE)
    mu = math.sqrt(loss.mu_squared)
    made = [
        privacy_loss_distribution.from_gaussian_mechanism(1.0 / each, value_discretization_interval=1e-4)
        for each in (mu, MU)
    ]
    theirs = loss.pure + made[0].compose(made[1]).get_epsilon_for_delta(proven.delta)
    assert proven.delta == pytest.approx(3e-6, rel=1e-12)
    assert theirs == pytest.approx(proven.epsilon, rel=1e-3)
    assert theirs >= proven.epsilon * (1.0 - 1e-3)
    assert proven.epsilon < claimed_after(GAUSSIAN, CLAIMED).epsilon == pytest.approx(1.7)
    assert proven.epsilon > CLAIMED.epsilon  # the fit is not free


def test_a_fit_of_which_only_the_claim_is_known_adds_epsilon_and_delta() -> None:
    """Basic composition in closed form, and against a pair of worlds in which it is met with equality."""
    proven, total = proven_after(PLAIN, EVENT, CLAIMED, REPLACE), claimed_after(PLAIN, CLAIMED)
    alone = accountant.epsilon_of(loss_of(EVENT, 1, REPLACE), CLAIMED.delta)
    assert proven.epsilon == pytest.approx(0.7 + alone, rel=1e-9)
    assert proven.epsilon <= total.epsilon == pytest.approx(1.7)
    assert total.delta >= CLAIMED.delta + PLAIN.delta
    # Randomized response with leak: private to exactly (epsilon, delta). Composed with N(0, 1) against N(mu, 1) its
    # delta at a larger epsilon is delta + (1 - delta) E over the coin, which the bound must not undercut.
    epsilon, delta, mu = 0.7, 1e-6, 0.3
    truth = math.exp(epsilon) / (1.0 + math.exp(epsilon))

    def at(large: float) -> float:
        worse = truth * math.exp(float(gaussian.log_delta(large - epsilon, mu)))
        better = (1.0 - truth) * math.exp(float(gaussian.log_delta(large + epsilon, mu)))
        return delta + (1.0 - delta) * (worse + better)

    loss = compose([Loss(mu_squared=mu * mu), loss_of(PLAIN, 1, REPLACE)])
    for asked in (2e-6, 1e-5, 1e-3):
        assert at(accountant.epsilon_of(loss, asked)) <= asked


def test_two_of_which_only_epsilon_and_delta_are_known_add_up() -> None:
    """A fit, and then shuffled bits: both coins of randomized response fall against the record with what both say."""
    bits = ShuffledBits(steps=((400, 0.9),), delta=1e-9)
    both, alone = (loss_of(event, 1, REPLACE) for event in (PLAIN, bits))
    loss = compose([both, alone])
    assert loss.epsilon == pytest.approx(0.7 + alone.epsilon, rel=1e-12)
    assert loss.delta == pytest.approx(1e-6 + 1e-9, rel=1e-12)
    assert accountant.epsilon_of(loss, 2e-6) == pytest.approx(0.7 + alone.epsilon, rel=1e-9)
    assert accountant.epsilon_of(loss, 1e-6) == math.inf


def test_no_delta_below_the_fits_is_proven() -> None:
    loss = compose([Loss(mu_squared=0.1), loss_of(PLAIN, 1, REPLACE)])
    assert accountant.epsilon_of(loss, 0.9e-6) == math.inf
    assert accountant.epsilon_of(loss_of(PLAIN, 1, REPLACE), 2e-6) == PLAIN.epsilon
    assert not accountant.fits(loss, 100.0, 0.1)  # a filter knows moments alone
    with pytest.raises(InvalidInput, match="Gaussian releases alone"):
        loss_of_customer(loss, 2)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-15, 3e-17])
@pytest.mark.parametrize("own", [1e-15, 2e-10, 1e-5])
def test_what_is_left_of_a_summed_delta_is_the_products_own(delta: float, own: float) -> None:
    fit = EarlierFit(fit="f" * 64, epsilon=1.0, delta=delta)
    total = claimed_after(fit, EpsilonDelta(1.0, own))
    assert total.delta - delta >= own
    assert total.delta <= (own + delta) * (1.0 + 1e-15) + 1e-18


def test_without_a_fit_nothing_is_added() -> None:
    assert claimed_after(None, CLAIMED) == CLAIMED
    alone = accountant.epsilon_of(loss_of(EVENT, 1, REPLACE), CLAIMED.delta)
    assert proven_after(None, EVENT, CLAIMED, REPLACE) == EpsilonDelta(alone, CLAIMED.delta)
    assert loss_of_whole_person(None) == Loss()


def test_a_fit_was_released_once_however_many_histories_there_are() -> None:
    mu = loss_of(EVENT, 1, REPLACE).mu_squared
    loss = loss_in_histories(entries_after(GAUSSIAN, EVENT), REPLACE, 3)
    assert loss.mu_squared == pytest.approx(3 * mu + MU * MU)


def test_a_customers_rows_are_covered_together_only_where_the_fit_says_so() -> None:
    found = loss_of_whole_person(GAUSSIAN)
    assert found is not None
    assert found.mu == pytest.approx(MU)
    assert loss_of_whole_person(PLAIN) is None
    assert loss_of_whole_person(EarlierFit(fit="f" * 64, epsilon=0.7, delta=1e-6, mu=MU)) is None


def test_a_ledger_counts_the_fit_as_spent_before_the_first_record() -> None:
    ledger = open_ledger(NOISE, EVENT, GAUSSIAN)
    assert ledger.claimed == claimed_after(GAUSSIAN, CLAIMED)
    assert ledger.count(GAUSSIAN) == 1
    assert ledger.remaining(GAUSSIAN) == 0
    assert ledger.proven == proven_after(GAUSSIAN, EVENT, CLAIMED, REPLACE)
    assert [entry.event for entry in ledger.spend(EVENT).spent] == [GAUSSIAN, EVENT]
    with pytest.raises(InvalidInput, match="claimed must cover the allowance"):
        Ledger(adjacency=REPLACE, claimed=CLAIMED, allowance=entries_after(GAUSSIAN, EVENT))


@pytest.mark.parametrize("wrong", [{"epsilon": -1.0}, {"delta": 2.0}, {"mu": math.nan}, {"numbers": -1}])
def test_an_event_that_describes_no_fit_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        EarlierFit(**{"fit": "f" * 64, "epsilon": 0.7, "delta": 1e-6, **wrong})  # type: ignore[arg-type]
