"""A live pricer of policy noisy-newton: what it takes, what it pays, what it shows, and what a failed draw leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.policies.newton.newton_runs import CONTEXTS, COUNT, DELAY, bought, fail_draw, live, opened, serve

from hushprice import Pricer, open_pricer
from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.family import CUSTOM
from hushprice.demand.features import main_effects
from hushprice.errors import BudgetExhausted, InvalidInput, RepeatedOutcome, UnknownQuote
from hushprice.noise import Tape
from hushprice.policies.newton.policy import noisy_newton
from hushprice.policies.newton.rules import newton, without_noise
from hushprice.policies.paper.private.covariance import PrivateCov
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import Batches, NotPrivate
from hushprice.privacy.ledger import Entry
from hushprice.slots import Observation
from hushprice.types import FloatArray


@pytest.mark.parametrize("make", [opened, live])
def test_it_learns_and_prices(make: Any) -> None:
    pricer = make()
    prices = serve(pricer)
    assert all(0.0 <= price <= 1.0 for price in prices)
    assert len(set(prices)) > COUNT // 2
    assert pricer.quoter.version > 3
    assert pricer.quoter.ready
    assert pricer.learner.count == pricer.slots.learned == COUNT - DELAY - 1
    assert pricer.quote(CONTEXTS[0]).version == pricer.quoter.version


@pytest.mark.parametrize("make", [opened, live])
def test_all_batches_are_paid_for_once_at_the_start(make: Any) -> None:
    pricer = make()
    ledger, (entry,) = pricer.ledger, pricer.ledger.spent
    assert entry == Entry(pricer.learner.event, 1)
    assert ledger.allowance == (entry,)
    assert isinstance(entry.event, Batches)
    assert entry.event.live == (make is live)
    assert ledger.claimed == EpsilonDelta(300.0, 1e-6)
    serve(pricer)
    assert pricer.ledger == ledger
    with pytest.raises(BudgetExhausted, match="0 left"):
        pricer.ledger.spend(entry.event)


def test_noise_does_not_depend_on_the_horizon() -> None:
    short, long = (opened(horizon=horizon).ledger.spent for horizon in (100, 10**9))
    assert short == long


def test_after_the_horizon_prices_go_on_and_learning_has_stopped() -> None:
    pricer = opened(horizon=40)
    assert pricer.learning
    prices = serve(pricer)
    assert not pricer.learning
    assert pricer.learner.count == 40 - DELAY - 1
    assert len(prices) == COUNT
    assert prices[:40] == serve(opened(horizon=1000))[:40]


def test_it_takes_a_reference_price_and_its_parts_can_be_turned_off() -> None:
    def rules(**options: Any) -> Any:
        return opened(**options).policy.rules

    assert rules(reference_price=0.25).reference_price == 0.25
    assert rules().trigger > 0.0
    assert rules(trigger=False).trigger == 0.0
    assert rules().width > 0.0
    assert rules(bonus=False).width == 0.0
    for option in ({"reference_price": 0.5}, {"trigger": False}, {"bonus": False}):
        with pytest.raises(InvalidInput, match="is for policy 'noisy-newton'"):
            open_pricer(policy="paper", horizon=50, contexts=1, **option)
    source = Tape(0, 0)
    own = PrivateCov(horizon=50, dimension=2, source=source, event=NotPrivate())
    with pytest.raises(InvalidInput, match="covariance and estimates are for policies"):
        opened(covariance=own)
    with pytest.raises(InvalidInput, match="policy must be one that learns"):
        open_pricer(horizon=50, contexts=1, policy="random")


def test_first_prices_are_around_the_reference_price() -> None:
    pricer = opened(reference_price=0.3)
    first = pricer.policy.rules.first
    prices = serve(pricer, stop=first)
    assert 0.2 <= min(prices) < max(prices) <= 0.4


def test_a_seed_is_refused_outside_simulation() -> None:
    with pytest.raises(InvalidInput, match="is refused outside simulation"):
        opened(simulation=False)


def test_nothing_sensitive_is_shown() -> None:
    pricer = live()
    serve(pricer, stop=20)
    assert repr(pricer) == f"Pricer(policy='noisy-newton', quotes=20, horizon={COUNT + 10})"
    assert repr(pricer.learner) == "NewtonLearner(<sensitive>)"
    assert repr(pricer.learner.batch) == "ExactBatch(<sensitive>)"
    assert repr(opened().learner.batch) == "IdealBatch(<sensitive>)"
    assert "object at" in repr(pricer.quoter)


def test_no_record_is_kept() -> None:
    """Of the customers learned, sums of the batch at hand remain, and nothing that grows with their number."""
    pricer = opened(delay=0)
    serve(pricer)
    held = [value for value in vars(pricer.learner).values() if isinstance(value, np.ndarray)]
    held += [value for value in vars(pricer.learner.batch).values() if isinstance(value, np.ndarray)]
    assert max(array.size for array in held) <= 7 * 6


def test_late_unknown_and_repeated_outcomes_are_what_they_are_for_every_policy() -> None:
    pricer = opened(delay=1)
    first = pricer.quote(CONTEXTS[0])
    pricer.quote(CONTEXTS[1])
    pricer.quote(CONTEXTS[2])
    assert pricer.observe(first.id, 1) is Observation.LATE
    with pytest.raises(RepeatedOutcome):
        pricer.observe(first.id, 1)
    with pytest.raises(UnknownQuote):
        pricer.observe("1-no", 1)
    short = opened(horizon=2)
    assert short.observe(short.quote(CONTEXTS[0]).id, 1) is Observation.NOT_LEARNED


@pytest.mark.parametrize("demand", [Logistic(slope=2.0), Gaussian(noise=0.5), Poisson(slope=2.0)], ids=lambda d: d.name)
@pytest.mark.parametrize("features", ["main", "intercept", "interactions"])
def test_every_family_and_map_runs_live(demand: Any, features: str) -> None:
    pricer = live(demand=demand, features=features)
    assert all(0.0 <= price <= 1.0 for price in serve(pricer, stop=60))
    assert pricer.quoter.version > 0


class OwnLogistic:
    """The logistic family, as the engine sees somebody's own."""

    family = CUSTOM

    def __getattr__(self, name: str) -> Any:
        return getattr(Logistic(), name)


@pytest.mark.beyond_coverage
def test_a_family_of_ones_own_is_priced_like_the_built_in_one_it_repeats() -> None:
    rules = newton(EpsilonDelta(300.0, 1e-6), demand=Logistic(), features=main_effects(2), reference_price=0.5)

    def pricer(demand: Any) -> Pricer:
        return Pricer(
            policy=noisy_newton(rules, demand=demand, dimension=3),
            demand=demand,
            features=main_effects(2),
            horizon=COUNT,
            source=Tape(seed=4, trial=0),
            simulation=True,
        )

    built, own = serve(pricer(Logistic())), serve(pricer(OwnLogistic()))
    np.testing.assert_allclose(own, built, atol=1e-4)  # the searches stop within 1e-5 of each other
    assert all(0.0 <= price <= 1.0 for price in serve(live(demand=OwnLogistic()), stop=40))


def test_without_noise_nothing_is_claimed_and_live_and_simulated_sums_are_the_same() -> None:
    demand, features = Logistic(), main_effects(2)
    rules = without_noise(newton(EpsilonDelta(1.0, 1e-6), demand=demand, features=features))
    policy = noisy_newton(rules, demand=demand, dimension=3)

    def belief(source: Any) -> Any:
        pricer = Pricer(
            policy=policy, demand=demand, features=features, horizon=COUNT, source=source, simulation=source is not None
        )
        assert pricer.ledger.claimed is None
        assert pricer.learner.event == NotPrivate()
        theta, inverse = pricer.quoter.theta, pricer.quoter.inverse
        for x in CONTEXTS[:30]:
            pricer.learner.absorb(np.append(x, -0.5) / 3**0.5, float(x[0] > 0), theta, inverse)
        return [*pricer.learner.curvature().packed, *pricer.learner.score().score]

    assert belief(None) == belief(Tape(7, 7))


def test_a_source_without_normals_is_refused() -> None:
    class Quiet:
        label, secure, simulated = "quiet", False, True

    with pytest.raises(InvalidInput, match="source 'quiet' gives no normals"):
        opened(source=Quiet())


class Broken:
    """A feature map of one's own that gives, for some customers, what is no feature."""

    def __getattr__(self, name: str) -> Any:
        return getattr(main_effects(1), name)

    def parts(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.full(2, np.nan if x[0] < 0.0 else 0.1), np.array([0.0, -0.5])


def test_features_that_are_not_finite_get_no_slot() -> None:
    pricer = opened(contexts=1, features=Broken())
    with pytest.raises(InvalidInput, match="features must be finite"):
        pricer.quote([-1.0])
    assert pricer.slots.count == 0
    assert 0.0 <= pricer.quote([0.5]).price <= 1.0


@pytest.mark.parametrize("failing", [1, 2, 3, 4, 7])
def test_a_draw_that_fails_is_drawn_with_the_next_quote_and_nothing_twice(
    failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = serve(opened())
    fail_draw(monkeypatch, failing)
    pricer, prices = opened(), []
    failures = 0
    while len(prices) < COUNT:
        n = len(prices)
        try:
            quote = pricer.quote(CONTEXTS[n])
        except OSError:
            failures += 1
            continue
        prices.append(quote.price)
        pricer.observe(quote.id, bought(n, quote.price))
    assert failures == 1
    assert prices == expected


class Fickle(OwnLogistic):
    """A family of one's own that gives up on one record."""

    asked = 0

    def mean_slope(self, z: FloatArray) -> FloatArray:
        Fickle.asked += 1
        if Fickle.asked == 20:
            raise ArithmeticError("no slope")
        return Logistic().mean_slope(z)


def test_a_record_that_cannot_be_scored_keeps_its_slot_and_the_pricer_goes_on() -> None:
    pricer, failures = opened(demand=Fickle()), 0
    while pricer.slots.count < COUNT:
        n = pricer.slots.count
        try:
            quote = pricer.quote(CONTEXTS[n])
        except ArithmeticError:
            failures += 1
        else:
            pricer.observe(quote.id, bought(n, quote.price))
    assert failures == 1
    assert pricer.learner.count == pricer.slots.learned == COUNT - DELAY - 1
    assert pricer.quoter.version > 3


@pytest.mark.parametrize("option", ["exploration_periods", "ridge", "width", "max_estimates"])
def test_the_papers_tuning_is_refused(option: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{option} is for policies 'paper', 'nonprivate'"):
        opened(**{option: 3})
