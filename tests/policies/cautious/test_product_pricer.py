"""A live pricer of a product: prices in its currency, coins that the learner draws again, and what is refused."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.policies.cautious.product_runs import CONTEXTS, DELAY, PRODUCT, absorbed, live, opened, serve

from hushprice import Pricer, Product, open_pricer
from hushprice.demand.families import Logistic
from hushprice.demand.features import main_effects, with_intercept
from hushprice.demand.schema import Boolean, Number, Schema
from hushprice.errors import InvalidInput
from hushprice.noise import Tape
from hushprice.policies.cautious import policy as cautious
from hushprice.policies.cautious.engine import PricedRecords
from hushprice.policies.cautious.pricing import quoter as quoters
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.policies.cautious.private.learner import CautiousLearner
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.settings import PolicySettings


@pytest.mark.parametrize("make", [opened, live])
def test_prices_are_in_the_products_currency_and_follow_releases(make: Any) -> None:
    pricer = make()
    prices = np.array(serve(pricer))
    assert ((prices >= 8.0) & (prices <= 12.0)).all()
    assert pricer.quoter.version >= 2
    assert np.unique(prices[:48]).size == 2  # before the first release: a coin around one price
    assert np.unique(prices[:48]).mean() == pytest.approx(10.0)
    assert pricer.ledger.claimed == EpsilonDelta(30.0, 1e-6)


def test_a_product_is_learned_from_a_million_customers_unless_said_otherwise() -> None:
    pricer = open_pricer(product=replace(PRODUCT, delta="2/T^2"))
    assert (pricer.policy.name, pricer.horizon) == ("cautious", 1_000_000)
    assert pricer.ledger.claimed == EpsilonDelta(30.0, 2e-12)


@pytest.mark.parametrize("make", [opened, live])
@pytest.mark.parametrize("holdout", [0.0, 0.3])
def test_the_learner_draws_the_coin_and_the_holdout_of_the_quote_again(
    make: Any, holdout: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Oracle: the price itself, which lies to the coin's side of the middle, or is today's."""
    seen = absorbed(monkeypatch)
    pricer = make(replace(PRODUCT, holdout=holdout))
    spread = pricer.quoter.rule.spread
    prices = serve(pricer, stop=48)
    assert spread > 0.0
    assert len(seen) == 48 - DELAY - 1
    assert any(given[5][0] for given in seen) == (holdout > 0.0)
    for n, (contexts, relative, coins, demands, _, apart) in enumerate(seen):
        np.testing.assert_allclose(contexts[0], CONTEXTS[n], atol=1e-14)
        assert relative[0] == pytest.approx(0.0 if apart[0] else coins[0] * spread)
        assert prices[n] == pytest.approx(10.0 + 2.0 * relative[0])
        assert demands[0] in (0.0, 1.0)
    assert pricer.learner.clipped_features == 0  # a last digit of the features is no clipping


def test_coins_do_not_read_the_customer(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = absorbed(monkeypatch)
    for shift in (0.0, 0.5):
        pricer = live()
        for n in range(40):
            pricer.observe(pricer.quote(np.clip(CONTEXTS[n] + shift, -1.0, 1.0)).id, shift > 0.0)
    coins = np.array([given[2][0] for given in seen]).reshape(2, -1)
    np.testing.assert_array_equal(coins[0], coins[1])


def test_coins_of_a_live_pricer_are_fair_and_the_holdout_has_its_share() -> None:
    # Five deviations of a mean: a false alarm in two million runs, and the key is fixed.
    engine: Any = live(replace(PRODUCT, holdout=0.2)).engine
    coins, apart = np.array([engine._drawn(slot) for slot in range(1, 10_001)]).T
    assert set(coins) == {-1.0, 1.0}
    assert abs(coins.mean()) < 5 * 0.01
    assert abs(apart.mean() - 0.2) < 5 * 0.004
    assert abs(np.corrcoef(coins, apart)[0, 1]) < 5 * 0.01
    other: Any = open_pricer(product=PRODUCT).engine
    assert [other._drawn(slot)[0] for slot in range(64)] != coins[:64].tolist()  # another key, drawn anew


def test_a_pricer_learns_what_the_two_sides_learn_from_the_same_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow reference: the batches' records, added at once to a learner whose releases a quoter accepts."""
    seen = absorbed(monkeypatch)
    pricer = opened(noise=False)
    serve(pricer)
    assert pricer.ledger.claimed is None
    records = [np.concatenate([given[part] for given in seen]) for part in (0, 1, 2, 3, 5)]
    rules = pricer.policy.rules  # type: ignore[attr-defined]
    quoter = CautiousQuoter(rules)
    learner = CautiousLearner(rules=rules, source=Tape(0, 0), choice=quoter.rule.choice)
    while quoter.end <= len(records[0]):
        contexts, prices, coins, demands, apart = (each[learner.count : quoter.end] for each in records)
        learner.absorb(contexts, prices, coins, demands, quoter.belief.theta, holdout=apart)
        quoter.accept(learner.release())
        learner.begin(quoter.rule.choice)
    found: Any = pricer.quoter
    assert found.version == quoter.version >= 2
    assert found.rule == quoter.rule
    np.testing.assert_allclose(found.belief.theta, quoter.belief.theta, atol=1e-9)
    np.testing.assert_allclose(found.earned, quoter.earned, atol=1e-9)


@pytest.mark.beyond_coverage
@pytest.mark.parametrize(("step", "ending"), [(1.0, 0.99), (0.5, 0.0), (0.01, 0.0), (0.35, 0.1)])
def test_what_is_tried_out_can_be_charged(step: float, ending: float) -> None:
    pricer = opened(replace(PRODUCT, step=step, ending=ending))
    prices = np.array(serve(pricer))
    rungs = (prices - ending) / step
    np.testing.assert_allclose(rungs, np.round(rungs), atol=1e-7)
    assert ((prices >= 8.0) & (prices <= 12.0)).all()
    found: Any = pricer.quoter
    for context in CONTEXTS[:20]:
        low, high = (found.relative_price(context, coin) for coin in (-1.0, 1.0))
        charged = [PRODUCT.relative_of(pricer.policy.product.price_of(each)) for each in (low, high)]  # type: ignore[attr-defined]
        assert charged == pytest.approx([low, high])
        assert high - low <= 2.0 * found.rule.spread + 1e-9
        assert found.rule.move or high - low == pytest.approx(2.0 * found.rule.spread)
        both = found.relative_prices(np.array([context, context]), np.array([-1.0, 1.0]))
        assert [low, high] == pytest.approx(both.tolist(), abs=1e-12)  # one customer on plain numbers, many as arrays


def test_a_plan_is_never_widened_to_meet_a_ladder() -> None:
    model = cautious.model_of(replace(PRODUCT, step=1.0))
    assert [model.fitting(spread) for spread in (0.0, 0.2, 0.25, 0.49, 0.5, 1.0)] == [0.0, 0.0, 0.25, 0.25, 0.5, 1.0]
    assert cautious.model_of(PRODUCT).fitting(0.123) == 0.123


def test_a_holdout_tells_nothing_about_the_rule_and_is_counted_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Oracle: the same records without those of the holdout give the same score."""
    seen = absorbed(monkeypatch)
    pricer = opened(replace(PRODUCT, holdout=0.5), delay=0, noise=False)
    for n in range(49):
        pricer.observe(pricer.quote(CONTEXTS[n]).id, n % 3 == 0)
    contexts, prices, coins, demands, apart = (
        np.concatenate([each[part] for each in seen]) for part in (0, 1, 2, 3, 5)
    )
    found: Any = pricer.quoter
    assert found.past[0].rule.count == 48 - apart.sum()
    rules = pricer.policy.rules  # type: ignore[attr-defined]
    alone = CautiousLearner(rules=rules, source=Tape(0, 0), choice=found.batches[0].rule.choice)
    alone.absorb(contexts[~apart], prices[~apart], coins[~apart], demands[~apart], np.zeros(6))
    np.testing.assert_allclose(found.batches[0].score, alone.release().score, atol=1e-9)
    assert found.earned[0] == pytest.approx((demands[apart] * 5.0 / 6.0).sum())  # today's price of 10, at most 12


def test_releases_are_taken_in_turn_and_a_batch_that_begins_stays() -> None:
    engine: Any = opened().engine
    engine.learner.skip()
    made = engine.learner.release()
    with pytest.raises(InvalidInput, match="release must be of 48 records, got 1"):
        engine.quoter.accept(made)
    rule = engine.quoter.rule
    engine.quoter.follow(0)
    assert (engine.quoter.rule, engine.quoter.past) == (rule, [])


def test_a_quantity_counts_as_its_share_of_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = absorbed(monkeypatch)
    pricer = opened(replace(PRODUCT, most=4.0, conversion=1.6), delay=0)
    pricer.observe(pricer.quote(CONTEXTS[0]).id, 3)
    pricer.quote(CONTEXTS[1])
    assert seen[0][3] == [0.75]


def test_customers_may_be_named_by_the_products_schema() -> None:
    schema = Schema(attributes=(Number(name="age", low=18, high=98), Boolean(name="member")))
    pricer = opened(replace(PRODUCT, contexts=0, schema=schema))
    assert 8.0 <= pricer.quote({"age": 130, "member": True}).price <= 12.0
    assert pricer.clipped_attributes == 1


def test_a_plan_that_fails_changes_nothing_and_draws_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = serve(opened())
    real, calls = quoters.plan, [0]

    def plan(*given: Any, **named: Any) -> Any:
        calls[0] += 1
        if calls[0] == 1:  # the first rule is known already
            raise np.linalg.LinAlgError("no plan")
        return real(*given, **named)

    monkeypatch.setattr(quoters, "plan", plan)
    pricer = opened()
    quotes: list[Any] = []
    with pytest.raises(np.linalg.LinAlgError):
        serve(pricer, quotes=quotes)
    made = pricer.learner.last  # type: ignore[attr-defined]
    assert (made is not None, pricer.quoter.version) == (True, 0)
    prices = [quote.price for quote in quotes]
    assert prices + serve(pricer, start=len(quotes), quotes=quotes) == expected


NOBODY = PricedRecords(np.empty((0, 2)), *np.empty((3, 0)), np.empty(0, dtype=bool))
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"epsilon": 1.0}, "epsilon is the product's where one is given, got 1.0 beside it"),
    ({"delta": 1e-6}, "delta is the product's"),
    ({"contexts": 2}, "contexts is the product's"),
    ({"features": "intercept"}, "features is the product's"),
    ({"demand": Logistic()}, "demand is the product's"),
    ({"unit_cost": 1.0}, "unit_cost is for policy 'noisy-newton', got 1.0 for policy 'cautious'"),
    ({"policy": "noisy-newton"}, "policy must be 'cautious' where a product is given, got 'noisy-newton'"),
    ({"product": None, "policy": "cautious", "contexts": 2}, "product is missing: policy 'cautious' prices a Product"),
    ({"product": None, "horizon": None, "contexts": 2}, "horizon must be given, or a product"),
    ({"horizon": 0}, "horizon must be a whole number at or above 1, got 0"),
    ({"covariance": object()}, "are for policies 'paper' and 'nonprivate'"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_what_a_product_says_is_not_said_twice(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        opened(**change)


def made(**changes: Any) -> cautious.CautiousPolicy:
    settings = PolicySettings(policy="cautious", horizon=100, delta=1e-6, product=PRODUCT, **changes)
    return cautious.build(settings, cautious.DEMAND, main_effects(2))


def test_a_policy_that_contradicts_itself_is_refused() -> None:
    policy = made()
    assert policy.settings == {"product": PRODUCT, "noise": True, "trust": "central"}
    assert (policy.learns, policy.reads_budget, policy.kernel) == (True, True, None)
    other = replace(PRODUCT, unit_cost=2.0)
    for change, message in (
        ({"rules": None}, "rules must be those of cautious"),
        ({"product": other}, "rules must be those of the product"),
        ({"adjacency": Adjacency.ZERO_OUT}, "adjacency must be the noise's, replace-one, got zero-out"),
        ({"claimed": EpsilonDelta(0.5, 1e-6)}, "claimed must be what the noise was bought with"),
        ({"proven": EpsilonDelta(0.5, 1e-6)}, "proven must be what the accountant gets"),
        ({"rules": replace(policy.rules, noise=replace(policy.rules.noise, score=1.0))}, "proven must be what the acc"),
    ):
        with pytest.raises(InvalidInput, match=message):
            replace(policy, **change)
    assert made(noise=False).claimed is None


def test_a_policy_prices_its_own_product_alone() -> None:
    for part, message in (
        ({"demand": Logistic()}, "demand must be Logistic"),
        ({"features": main_effects(3)}, "features must be 3 for this product, got 4"),
        ({"features": with_intercept(1)}, "features must be 'main' for policy 'cautious', got 'intercept'"),
    ):
        given: dict[str, Any] = {"demand": cautious.DEMAND, "features": main_effects(2), "horizon": 100, **part}
        with pytest.raises(InvalidInput, match=message):
            Pricer(policy=made(), **given)


def test_slots_past_a_batch_are_refused_and_a_jump_goes_forwards_only() -> None:
    engine: Any = opened().engine
    with pytest.raises(InvalidInput, match="slots must be at most 48, those before the next release, got 49"):
        engine.steps(NOBODY, 49)
    assert engine.steps(NOBODY, 48) is not None
    assert (engine.quoter.version, engine.learner.count) == (1, 48)
    with pytest.raises(InvalidInput, match="records must be at least 48, the slots learned, got 47"):
        engine.jump(47)
    engine.jump(60)
    assert (engine.quoter.batch, engine.learner.count, engine.learner.ended) == (60, 60, False)
    assert engine.quoter.past[-1].rule.count == 12


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"step": 0.0}, "step must be a positive number, got 0.0"),
        ({"step": 5.0}, "step 5.0 with ending 0.0 leaves no price from floor to below reference_price"),
        ({"step": 3.0}, "step 3.0 with ending 0.0 leaves no price from above reference_price to ceiling"),
        ({"step": 5e-324}, "step 5e-324 with ending 0.0 leaves more prices than can be told apart"),
        ({"step": 1.0, "ending": 1e17}, r"step 1.0 with ending 1e\+17 leaves more prices than can be told apart"),
        ({"ending": -1.0}, "ending must be a number at or above 0, got -1.0"),
        ({"most": 0.5}, r"most must lie in \[1, 1e\+06\], got 0.5"),
        ({"most": 3.0, "conversion": 3.0}, "conversion must be below most, 3.0, got 3.0"),
        ({"holdout": 0.6}, r"holdout must lie in \[0, 0.5\], got 0.6"),
    ],
)
def test_a_product_that_cannot_be_charged_or_counted_is_refused(change: dict[str, Any], message: str) -> None:
    ceiling = 11.9 if change.get("step") == 3.0 else 12.0
    with pytest.raises(InvalidInput, match=message):
        replace(PRODUCT, **{"ceiling": ceiling, **change})


def test_relative_prices_and_prices_are_inverse() -> None:
    product = Product(floor=20.0, ceiling=30.0, reference_price=24.99, conversion=0.02, step=1.0, ending=0.99)
    assert (product.cheapest, product.dearest) == (20.99, 29.99)
    for price in (20.99, 24.99, 29.99):
        assert product.price_of(product.relative_of(price)) == price
    assert product.price_of(-1.0) == 20.99


def nobody_buys_elsewhere(pricer: Pricer, *, start: int, stop: int) -> list[float]:
    """Everybody buys at today's price, and at no other."""
    prices = []
    for n in range(start, stop):
        quote = pricer.quote(CONTEXTS[n % len(CONTEXTS)])
        pricer.observe(quote.id, quote.price == 10.0)
        prices.append(quote.price)
    return prices


def test_a_pricer_whose_visitors_buy_otherwise_than_believed_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "hushprice")
    pricer = opened(replace(PRODUCT, conversion=0.05), horizon=2000)
    count = 0
    while not pricer.quoter.health.misfit:  # type: ignore[attr-defined]
        assert not caplog.records
        pricer.observe(pricer.quote(CONTEXTS[count % len(CONTEXTS)]).id, 1)
        count += 1
        assert count < 1000
    for _ in range(100):
        pricer.quote(CONTEXTS[0])
    (line,) = [each.getMessage() for each in caplog.records]
    assert line == "visitors lately buy otherwise than believed, beyond noise and chance"


@pytest.mark.parametrize("make", [opened, live])
def test_a_pricer_that_does_worse_than_its_holdout_freezes_itself_and_says_so_once(
    make: Any, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.WARNING, "hushprice")
    pricer = make(replace(PRODUCT, holdout=0.3), horizon=2000)
    count = 0
    while not pricer.frozen:
        nobody_buys_elsewhere(pricer, start=count, stop=count + 1)
        count += 1
        assert count < 1000
    engine, alarmed = pricer.engine, pricer.quoter.health.alarmed
    assert engine.switches == [count]
    assert set(nobody_buys_elsewhere(pricer, start=count, stop=count + 300)) == {10.0}
    (line,) = [said for each in caplog.records if "holdout" in (said := each.getMessage())]
    assert line == (
        f"prices earned less than the holdout, beyond the risk, up to slot {alarmed}: everybody pays 10.0, "
        "today's price, until the pricer is told to resume"
    )
    pricer.save(tmp_path / "pricer")
    again = Pricer.load(tmp_path / "pricer", simulation=True)
    assert again.frozen
    again.resume()
    again.resume()
    assert not again.frozen
    assert again.engine.switches == [count, count + 301]  # type: ignore[attr-defined]
    assert len(set(nobody_buys_elsewhere(again, start=0, stop=60))) > 1


def test_what_is_learned_of_frozen_slots_is_that_they_were_in_the_holdout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of those priced before, whose outcomes come later."""
    seen = absorbed(monkeypatch)
    pricer = opened()
    serve(pricer, stop=20)
    pricer.engine.switches = [21]  # type: ignore[attr-defined]
    serve(pricer, start=0, stop=10, quotes=[])
    pricer.resume()
    serve(pricer, start=0, stop=20, quotes=[])
    apart = [bool(given[5][0]) for given in seen]
    assert [n for n, each in enumerate(apart, start=1) if each] == list(range(21, 31))


def test_who_is_not_frozen_has_nothing_to_resume() -> None:
    for pricer in (open_pricer(horizon=100, contexts=1), open_pricer(product=PRODUCT, horizon=100)):
        pricer.resume()
        assert not pricer.frozen
    pricer.engine.resume(1)  # type: ignore[attr-defined]
    assert pricer.engine.switches == []  # type: ignore[attr-defined]
