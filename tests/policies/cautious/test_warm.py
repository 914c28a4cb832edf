"""A warm start: what a log says is weighed by releases, and the promise of risk does not rest on it."""

from __future__ import annotations

import datetime
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from scipy.stats import multivariate_normal
from tests.policies.cautious.product_runs import COUNT, PRODUCT, live, opened, serve
from tests.priors import CLAIMED, MU, prior_for

from hushprice import Pricer, Quote
from hushprice.errors import InvalidInput
from hushprice.live import saved
from hushprice.noise import Tape
from hushprice.policies.cautious import statements
from hushprice.policies.cautious.policy import CautiousPolicy, cautious_policy
from hushprice.policies.cautious.pricing.belief import Belief, ReleasedBatch, Rule, score_model
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.policies.cautious.pricing.shop_model import model_of
from hushprice.policies.cautious.pricing.warm import (
    DOUBT,
    TRUST,
    WIDER,
    WarmStart,
    log_likelihood,
    mixed,
    warm_start,
)
from hushprice.policies.cautious.rules import cautious
from hushprice.policies.cautious.stated_event import PriorSection, StatedCost
from hushprice.policies.verification import verify
from hushprice.privacy import gaussian
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.certificates.certificate import Certificate, issue
from hushprice.privacy.loss import loss_of
from hushprice.product import Product
from hushprice.shops import worlds
from hushprice.shops.trials import run_shop

KEY = Ed25519PrivateKey.generate()
SHOP = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.2, contexts=1, epsilon=3.0, delta=1e-6)
MODEL = model_of(SHOP)
PEOPLE = np.linspace(-1.0, 1.0, 64).reshape(-1, 1)
THETA = np.array([0.3, 0.2, 0.5, -0.1])


def belief(size: int, seed: int, scale: float = 1.0) -> Belief:
    draws = np.random.default_rng(seed)
    root = scale * draws.normal(size=(size, size))
    return Belief(draws.normal(size=size), root @ root.T + 0.05 * np.eye(size))


FIRST = Belief(np.array([0.1, 0.0, 0.0, 0.0]), np.diag([1.0, 0.5, 0.9, 0.4]))


def test_a_warm_start_believes_the_log_where_it_is_surer_than_the_shop() -> None:
    """Oracle: the log's own numbers where it is; and entry by entry, where one of them is not."""
    prior = prior_for(SHOP, theta=THETA, deviation=0.3)
    found = warm_start(prior, FIRST)
    whole, buying, shop = found.beliefs
    unsure = WIDER * np.array(prior.covariance) + DOUBT**2 * FIRST.covariance
    np.testing.assert_allclose(whole.theta, THETA, rtol=1e-10)
    np.testing.assert_allclose(whole.covariance, unsure, atol=1e-12)
    np.testing.assert_allclose(buying.theta, [*THETA[:2], *FIRST.theta[2:]], rtol=1e-10)
    np.testing.assert_allclose(np.diag(buying.covariance), [*np.diag(unsure)[:2], 0.9, 0.4], rtol=1e-10)
    assert shop is FIRST
    np.testing.assert_allclose(found.weights, TRUST)
    mixture = sum(weight * each.theta for weight, each in zip(TRUST, found.beliefs, strict=True))
    np.testing.assert_allclose(found.belief.theta, mixture, rtol=1e-10)
    covariance = np.diag([0.01, 0.01, 7.0, 0.01])
    partly = warm_start(replace(prior, covariance=tuple(map(tuple, covariance.tolist()))), FIRST).beliefs[0]
    share = (WIDER * 7.0 + DOUBT**2 * 0.9) / 0.9
    np.testing.assert_allclose(partly.theta, [0.3, 0.2, 0.5 / share, -0.1], rtol=1e-10)
    np.testing.assert_allclose(partly.covariance[2, 2], 0.9, rtol=1e-10)
    vague = warm_start(prior_for(SHOP, theta=100 * THETA, deviation=1e4), FIRST).belief
    np.testing.assert_allclose(vague.theta, FIRST.theta, atol=1e-4)  # a log that says nothing moves nothing
    np.testing.assert_allclose(vague.covariance, FIRST.covariance, atol=1e-4)


def test_a_mixture_has_the_mean_and_the_covariance_of_its_draws() -> None:
    """A million draws: means within five standard errors, a false alarm below 1e-4; covariances within a fiftieth."""
    one, other = belief(3, 1), belief(3, 2, 0.5)
    draws, count = np.random.default_rng(3), 1_000_000
    both = [draws.multivariate_normal(each.theta, each.covariance, count) for each in (one, other)]
    chosen = np.where(draws.random(count)[:, None] < 0.7, *both)
    found = mixed((one, other), np.array([0.7, 0.3]))
    np.testing.assert_allclose(found.theta, chosen.mean(axis=0), atol=5 * np.sqrt(chosen.var(axis=0).max() / count))
    np.testing.assert_allclose(found.covariance, np.cov(chosen.T), atol=0.02 * found.covariance.max())
    assert np.abs(mixed((one, other), np.array([0.3, 0.7])).theta - found.theta).max() > 0.1


def made_batch(theta: Any, seed: int, count: int = 4000) -> ReleasedBatch:
    """A batch of customers whose demand is by theta, priced by the shop's belief."""
    rule, draws = Rule(count=count, move=0.0, spread=0.8, choice=0), np.random.default_rng(seed)
    priced_by, noise = np.zeros(4), 2.0
    found = score_model(MODEL, PEOPLE, rule, priced_by, np.asarray(theta), count=count)
    score = draws.multivariate_normal(found.expected, found.sampling) + noise * draws.normal(size=found.expected.size)
    return ReleasedBatch(rule=rule, theta=priced_by, score=score, noise=noise)


def test_the_likelihood_of_a_release_is_a_normal_density() -> None:
    """Oracle: SciPy's density with the covariance written out; of every entry, as all are used by choice 0."""
    batch, held = made_batch(THETA, 1), Belief(0.5 * THETA, 0.1 * np.eye(4))
    found = score_model(MODEL, PEOPLE, batch.rule, batch.theta, held.theta, count=batch.rule.count)
    spread = found.jacobian @ held.covariance @ found.jacobian.T + found.sampling
    spread += np.diag(0.05**2 * found.doubt + 0.3**2 * found.variety + batch.noise**2 + 1e-9)
    used = np.flatnonzero(np.diag(found.sampling) > 0.0)
    density = multivariate_normal(found.expected[used], spread[np.ix_(used, used)]).logpdf(batch.score[used])
    constant = 0.5 * used.size * math.log(2.0 * math.pi)
    assert log_likelihood(MODEL, PEOPLE, batch, held, 0.3) == pytest.approx(density + constant, rel=1e-9)


WRONG_PRICES = THETA + np.array([0.0, 0.0, 1.5, 0.0])


@pytest.mark.parametrize(("truth", "right"), [(THETA, 0), (WRONG_PRICES, 1), (-3.0 * THETA, 2)])
def test_releases_decide_how_much_of_a_log_is_believed(truth: Any, right: int) -> None:
    """All of it, who buys, or nothing. Four runs of six batches each: in each the right belief has gained most."""
    first = Belief(np.zeros(4), np.diag([1.0, 0.7, 1.0, 0.35]) ** 2)
    start = warm_start(prior_for(SHOP, theta=THETA, deviation=0.1), first)
    for seed in range(4):
        found: WarmStart = start
        for number in range(6):
            found = found.after(MODEL, PEOPLE, made_batch(truth, 10 * seed + number), 0.0)
        gained = found.weights / np.array(TRUST)
        assert int(np.argmax(gained)) == right
        assert found.weights.sum() == pytest.approx(1.0)
        assert found.weights[right] > 0.7


def rules_of(product: Product, **changes: Any) -> Any:
    claimed = EpsilonDelta(product.epsilon, 1e-6)
    given = {"model": model_of(product), "risk": product.risk, "horizon": 20_000, "prior": product.prior_here}
    return cautious(claimed, **given | changes)


def test_prices_do_not_leave_todays_beyond_risk_on_the_logs_word_alone() -> None:
    """A log that is sure of itself and wrong: were the shop right, the first batch would lose what risk allows."""
    for sign in (-1.0, 1.0):
        theta = np.array([0.0, 0.0, sign * 0.9 * SHOP.response, 0.0])
        product = replace(SHOP, risk=0.02, prior=prior_for(SHOP, theta=theta, deviation=1e-3))
        quoter = CautiousQuoter(rules_of(product))
        model, rule = quoter.model, quoter.rule
        customers = np.column_stack([np.ones(64), PEOPLE])
        level, response = model.lines(quoter.belief.theta, customers)
        prices = model.coin_prices(level, response, rule.move, rule.spread, rule.offset)
        level, response = model.lines(np.zeros(4), customers)
        earned = sum(float(model.earned(level, response, price)) for price in prices)
        lost = rule.count * (1.0 - 0.5 * earned / float(model.earned(level, response, 0.0)))
        assert lost <= 1.6 * product.risk * max(rule.count, 1000)


@pytest.mark.beyond_coverage
def test_a_log_of_another_demand_is_left_behind_and_costs_no_more_than_risk() -> None:
    """The promise is of the mean over runs; this one keeps it, twice over, at every moment after 1,000 customers."""
    world = worlds.Logit(conversion=0.2, elasticity=2.5, reference_price=25.0, attributes=(0.3,), interactions=(0.2,))
    theta = (0.0, 0.0, -0.9 * SHOP.response, 0.0)  # the log says that hardly anybody minds the price
    product = replace(SHOP, prior=prior_for(SHOP, theta=theta, deviation=0.05))
    result = run_shop("cautious", product=product, world=world, horizon=2500, trials=1, seed=1, workers=1)
    relative = result.earnings / result.staying
    assert result.claimed == EpsilonDelta(3.5, 1e-6 + 1e-7)
    assert relative[:, result.checkpoints >= 1000].min() >= 1.0 - 2.0 * product.risk


def test_a_change_of_demand_ends_a_warm_start(monkeypatch: pytest.MonkeyPatch) -> None:
    product = replace(PRODUCT, prior=prior_for(PRODUCT))
    pricer = opened(product)
    quoter: Any = pricer.quoter
    assert quoter.warm is not None
    monkeypatch.setattr("hushprice.policies.cautious.pricing.quoter.certain_since", lambda changes, alarms: (0, 0))
    serve(pricer, stop=60)
    assert quoter.changed == 1
    assert quoter.warm is None


WARM = replace(PRODUCT, prior=prior_for(PRODUCT, theta=[0.2, 0.1, -0.1, 0.3, 0.0, 0.1]))


@pytest.mark.parametrize("stop", [0, 60, 120])
def test_a_warm_pricer_goes_on_after_it_was_saved(stop: int, tmp_path: Path) -> None:
    whole, quotes = serve(opened(WARM)), list[Quote]()
    pricer = opened(WARM)
    prices = serve(pricer, stop=stop, quotes=quotes)
    pricer.save(tmp_path / "pricer")
    read = Pricer.load(tmp_path / "pricer", simulation=True)
    assert prices + serve(read, start=stop, quotes=quotes) == whole
    assert whole != serve(opened())
    assert read.policy == pricer.policy
    assert read.ledger == pricer.ledger
    assert len(whole) == COUNT


def test_a_saved_warm_start_that_does_not_fit_is_refused() -> None:
    form: Any = saved.saved_form("cautious")
    pricer = opened(WARM)
    serve(pricer, stop=60)
    for changes in ({"warm": None}, {"changed": 1}):
        state = form.state_of(pricer)
        for name, value in changes.items():
            setattr(state.cautious, name, value)
        with pytest.raises(InvalidInput, match=r"the saved (warm|changed) does not fit"):
            form.restore(state, opened(WARM))
    state = form.state_of(pricer)
    state.cautious.warm.weighed[0] = math.nan
    with pytest.raises(InvalidInput, match="the saved warm does not fit"):
        form.restore(state, opened(WARM))
    with pytest.raises(InvalidInput, match="the saved warm does not fit"):
        form.restore(form.state_of(pricer), opened())


def certified(product: Product) -> Certificate:
    return live(product).certificate(KEY)


def test_a_certificate_says_what_the_fit_and_the_product_cost_together_and_names_the_fit() -> None:
    pricer = live(WARM)
    certificate = Certificate.parse(pricer.certificate(KEY).to_json().encode())
    found, alone = verify(certificate), verify(certified(PRODUCT))
    assert found.claimed == EpsilonDelta(alone.claimed.epsilon + CLAIMED.epsilon, found.claimed.delta)
    assert found.claimed.delta == pytest.approx(alone.claimed.delta + CLAIMED.delta, rel=1e-12)
    event = pricer.learner.event  # type: ignore[attr-defined]
    loss = loss_of(event, 1, Adjacency.REPLACE_ONE)
    both = loss.pure + gaussian.epsilon_of(found.claimed.delta, math.hypot(math.sqrt(loss.mu_squared), MU))
    assert found.proven.epsilon == pytest.approx(both, rel=1e-3)
    assert found.proven.epsilon >= both
    assert found.spent == found.proven == pricer.ledger.proven
    assert (found.claimed, found.proven) == (pricer.policy.claimed, pricer.policy.proven)
    stated = certificate.content("parameters")["prior"]
    assert (stated["fit"], stated["same_people"], stated["cost"]["mu"]) == ("ab" * 32, True, MU)
    assert certificate.content("result")["alone"]["proven"]["epsilon"] == pytest.approx(alone.proven.epsilon)
    assert "budgets add up" in found.holds[1]
    assert "ab" * 32 in found.stated["parameters.prior.fit"]


def test_budgets_of_other_people_do_not_add_up() -> None:
    apart = replace(WARM, prior=replace(WARM.prior, same_people=False))  # type: ignore[type-var]
    found, alone = verify(certified(apart)), verify(certified(PRODUCT))
    assert (found.claimed, found.proven) == (alone.claimed, alone.proven)
    assert "stated to hold no customer" in found.holds[1]
    assert "parameters.prior.cost" not in found.stated


def test_a_certificate_that_forgets_the_fits_budget_is_refused() -> None:
    """The planted bug: the sum is not in the result, in the events, or in the ledger."""
    pricer = live(WARM)
    honest = pricer.certificate(KEY)
    issued = datetime.date.fromisoformat(honest.content("mechanism")["issued"])
    facts = statements.facts_of(pricer, issued)

    class Forgetful:
        issued = facts.issued

        def __init__(self, change: Any) -> None:
            self._sections = facts.describe()
            change(self._sections)

        def describe(self) -> Any:
            return self._sections

    def without(result: Any) -> None:
        result["result"] |= result["result"]["alone"]

    forged = issue(Forgetful(without), pricer.ledger, KEY)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"result\.claimed"):
        verify(forged)

    def no_event(sections: Any) -> None:
        sections["events"] = {name: entries[1:] for name, entries in sections["events"].items()}

    with pytest.raises(InvalidInput, match="ledger"):
        issue(Forgetful(no_event), pricer.ledger, KEY)  # type: ignore[arg-type]
    apart = replace(WARM.prior, same_people=False)  # type: ignore[type-var]
    forgotten = replace(pricer.policy.rules, prior=apart)  # type: ignore[attr-defined]
    with pytest.raises(InvalidInput, match="rules must count what the product's prior cost"):
        cautious_policy(WARM, forgotten)


def test_a_prior_in_other_numbers_or_about_other_neighbours_is_refused() -> None:
    assert WARM.prior is not None
    with pytest.raises(InvalidInput, match=r"prior\.adjacency must be the product's"):
        opened(WARM, adjacency="zero-out")
    assert isinstance(opened(WARM, adjacency="replace-one").policy, CautiousPolicy)
    apart = replace(WARM.prior, same_people=False, adjacency=Adjacency.ZERO_OUT)
    assert opened(replace(WARM, prior=apart), source=Tape(1, 0)).policy.claimed is not None
    rules = rules_of(WARM)
    with pytest.raises(InvalidInput, match="prior must be in the model's numbers"):
        replace(rules, prior=replace(WARM.prior, level=1.0))
    with pytest.raises(InvalidInput, match="prior must be about 2 contexts"):
        replace(rules, prior=prior_for(SHOP))


@pytest.mark.parametrize("same_people", [True, False])
def test_a_certificate_says_what_a_fit_cost_where_that_counts_and_only_there(same_people: bool) -> None:
    cost = None if same_people else StatedCost(epsilon=1.0, delta=0.0, mu=None, numbers=0, whole_person=False)
    with pytest.raises(InvalidInput, match=r"^parameters\.prior\.cost must be there where the same people"):
        statements._read_prior(PriorSection(fit="ab" * 32, same_people=same_people, cost=cost))
