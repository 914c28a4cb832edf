"""What releases say about fit and gain, against the records that nobody else may look at."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from hushprice.noise import Tape
from hushprice.policies.cautious.pricing.belief import ReleasedBatch, Rule
from hushprice.policies.cautious.pricing.health import ALPHA, RECENT, Health, Tally
from hushprice.policies.cautious.pricing.holdout import STAKES, Comparison, Earned, Evidence, Group
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.policies.cautious.pricing.shop_model import model_of, with_constant
from hushprice.policies.cautious.private.learner import CautiousLearner
from hushprice.policies.cautious.rules import cautious
from hushprice.privacy.budget import EpsilonDelta
from hushprice.product import Product

PRODUCT = Product(
    floor=8.0, ceiling=12.0, reference_price=10.0, conversion=0.4, contexts=2, epsilon=30.0, holdout=0.2, risk=0.05
)


class Shop:
    """Both sides, with rules forced on them, and the records."""

    def __init__(self, product: Product = PRODUCT, *, noise: bool = False, seed: int = 1) -> None:
        rules = cautious(
            EpsilonDelta(product.epsilon, 1e-6),
            model=model_of(product),
            risk=product.risk,
            horizon=10**6,
            holdout=product.holdout,
            drawn=noise,
        )
        self.quoter = CautiousQuoter(rules)
        self.learner = CautiousLearner(rules=rules, source=Tape(seed, 0), choice=self.quoter.rule.choice)
        self.random = np.random.default_rng(seed)

    def batch(self, theta: Any, *, forced: Rule | None = None) -> dict[str, Any]:
        """One batch of customers whose demand has this theta; its records, scored as believed."""
        quoter, model, random = self.quoter, self.quoter.model, self.random
        if forced is not None:
            quoter.rule = forced
            self.learner.jump(quoter.batch, forced.choice)
        count, before = quoter.rule.count, quoter.belief.theta
        x = random.uniform(-1.0, 1.0, (count, model.contexts))
        coins, apart = random.choice([-1.0, 1.0], count), random.random(count) < quoter.rules.holdout
        prices = np.where(apart, 0.0, quoter.relative_prices(x, coins))
        level, response = model.lines(np.asarray(theta, dtype=float), with_constant(x))
        bought = (random.random(count) < expit(level - response * prices)).astype(float)
        self.learner.absorb(x, prices, coins, bought, before, holdout=apart)
        quoter.accept(self.learner.release())
        self.learner.begin(quoter.rule.choice)
        own, steep = model.lines(before, with_constant(x))
        away = expit(own - steep * prices) - bought
        earned = bought * (model.margin + prices) / (model.margin + model.highest)
        return {"x": x, "coins": coins, "apart": apart, "away": away, "bought": bought, "earned": earned, "level": own}


TRUTH = [0.3, 0.6, -0.4, 0.2, 0.0, 0.0]
TRIED = Rule(count=4000, move=1.0, spread=0.3, choice=1)


def test_what_was_observed_less_than_believed_is_what_the_records_say() -> None:
    """Without noise. Slow reference: residuals added up by hand, with the belief that was in force."""
    shop = Shop()
    shop.batch(TRUTH)
    first = shop.quoter.health
    made = shop.batch(TRUTH, forced=TRIED)
    health, priced = shop.quoter.health, ~made["apart"]
    away, coins = made["away"][priced], made["coins"][priced]

    def less(name: str) -> float:
        return float(getattr(health, name).less - getattr(first, name).less)

    assert less("bought") == pytest.approx(away.sum(), abs=0.1)  # what was held back is added by a likeness
    assert less("dearer") == pytest.approx(away[coins > 0].sum(), abs=0.1)
    assert less("cheaper") == pytest.approx(away[coins < 0].sum(), abs=0.1)
    assert health.bought.count - first.bought.count == priced.sum()
    assert health.bought.observed.estimate == pytest.approx(made["bought"][priced].mean(), abs=0.03)


def test_by_believed_demand_it_is_the_slope_that_customers_show() -> None:
    """Second way: the covariance of purchases with the believed log-odds, in deviations, over the customers."""
    shop = Shop()
    for _ in range(4):
        shop.batch(TRUTH, forced=replace(TRIED, move=0.0))
    first = shop.quoter.health.likelier
    made = shop.batch(TRUTH, forced=replace(TRIED, move=0.0))
    last, priced = shop.quoter.health.likelier, ~made["apart"]
    count = last.count - first.count
    level = made["level"][priced]
    more = np.cov(level / level.std(), made["bought"][priced])[0, 1]
    assert count == priced.sum()
    believed, less = (last.believed - first.believed) / count, (last.less - first.less) / count
    assert believed > 0.05
    assert believed - less == pytest.approx(more, abs=0.02)  # 4,000 customers, and a likeness of them


def test_nothing_is_said_of_what_is_not_released() -> None:
    shop = Shop()
    shop.batch(TRUTH, forced=Rule(count=500, move=0.0, spread=0.0, choice=3))  # conversion alone
    health = shop.quoter.health
    assert health.dearer == health.cheaper == health.likelier == Tally()
    assert health.bought.count > 0
    shop.batch(TRUTH, forced=Rule(count=500, move=0.0, spread=0.3, choice=0))  # no attribute
    assert shop.quoter.health.likelier == Tally()
    assert shop.quoter.health.dearer.count > 0


def test_intervals_of_conversion_are_right_about_as_often_as_they_say() -> None:
    """The truth is known: all buy with the same probability. 400 batches, each with noise."""
    model = model_of(replace(PRODUCT, contexts=0, conversion=0.2))
    random, rule, noise = np.random.default_rng(4), Rule(count=1500, move=0.0, spread=0.0, choice=3), 12.0
    truth, inside = 0.26, []
    for _ in range(400):
        score = np.zeros(2)
        score[0] = 1500 * model.conversion - random.binomial(1500, truth) + noise * random.standard_normal()
        batch = ReleasedBatch(rule=rule, theta=np.zeros(2), score=score, noise=np.array([noise, 0.0]))
        found = Health().after_score(model, np.zeros((96, 0)), batch).bought
        assert found.mean == pytest.approx(0.2)
        inside.append(found.observed.low < truth < found.observed.high)
    assert 0.91 < np.mean(inside) < 0.975


def test_where_more_is_believed_than_a_residual_may_be_what_was_held_back_is_added() -> None:
    """All buy as believed, ten times as often as declared: nothing is observed less, whatever the learner held."""
    product = replace(PRODUCT, contexts=0, conversion=0.02)
    shop, rule = Shop(product), Rule(count=40_000, move=0.0, spread=0.0, choice=3)
    high = [float(np.log(0.2 / 0.8)) - shop.quoter.model.level, 0.0]
    shop.quoter.belief = replace(shop.quoter.belief, theta=np.array(high))
    shop.batch(high, forced=rule)
    found = shop.quoter.health.bought
    assert shop.quoter.model.most < 0.2  # else nothing was held
    assert found.mean == pytest.approx(0.2)
    assert found.observed.estimate == pytest.approx(0.2, abs=0.01)


@pytest.mark.beyond_coverage
def test_the_last_batches_are_kept_apart() -> None:
    shop = Shop()
    for _ in range(RECENT + 2):
        shop.batch(TRUTH)
    health = shop.quoter.health
    assert len(health.recent) == RECENT
    assert sum(each.count for each in health.recent) < health.bought.count


def test_a_misfit_is_seen_in_the_last_batches_and_passes_when_the_belief_has_followed() -> None:
    """Twice as many buy as believed; then the belief is what is true. Where all is as believed there is none."""
    shop = Shop(replace(PRODUCT, contexts=0, conversion=0.2), noise=True)
    rule, sound, more = Rule(count=3000, move=0.0, spread=0.0, choice=3), [0.0, 0.0], [0.9, 0.0]
    for truth, fits in ((sound, True), (more, False)):
        shop.quoter.belief = replace(shop.quoter.belief, theta=np.zeros(2))
        shop.batch(truth, forced=rule)
        assert shop.quoter.health.misfit != fits
    for _ in range(RECENT):
        shop.quoter.belief = replace(shop.quoter.belief, theta=np.array(more))
        shop.batch(more, forced=rule)
    assert not shop.quoter.health.misfit
    assert Tally().surprise == 0.0


@pytest.mark.parametrize(
    ("truth", "named"), [((0.0, 1.2, 0.0, 1.5, 0.0, 0.0), "coins"), ((0.0, -0.2, 0.0, 0.0, 0.0, 0.0), "likelier")]
)
def test_what_prices_or_attributes_do_otherwise_than_believed_is_named(truth: tuple[float, ...], named: str) -> None:
    """As many buy as believed. First all is so; then prices matter more than believed, or attributes less."""
    shop = Shop(replace(PRODUCT, conversion=0.5), noise=True)
    rule, believed = Rule(count=4000, move=0.0, spread=0.6, choice=1), np.array([0.0, 1.2, 0.0, 0.0, 0.0, 0.0])
    for demand, found in ((believed, set()), (truth, {named})):
        shop.quoter.belief = replace(shop.quoter.belief, theta=believed)
        shop.batch(demand, forced=rule)
        assert set(shop.quoter.health.misfits) == found
        assert shop.quoter.health.misfit == bool(found)


def test_groups_add_up_what_was_earned() -> None:
    shop = Shop()
    made = [shop.batch(TRUTH) for _ in range(3)]
    compared = shop.quoter.health.compared
    assert compared.holdout.slots == sum(each["apart"].sum() for each in made)
    assert compared.others.slots == sum((~each["apart"]).sum() for each in made)
    assert compared.holdout.earned == pytest.approx(sum(each["earned"][each["apart"]].sum() for each in made))
    assert compared.others.earned == pytest.approx(shop.quoter.earned[1])
    pairs = [each["apart"].sum() * (~each["apart"]).sum() / each["apart"].size for each in made]
    assert compared.pairs == pytest.approx(sum(pairs))
    gap = [
        count * (each["earned"][~each["apart"]].mean() - each["earned"][each["apart"]].mean())
        for each, count in zip(made, pairs, strict=True)
    ]
    assert compared.difference()[0] == pytest.approx(sum(gap))


def _looks(gain: float, runs: int, *, batches: int, noise: float, seed: int, share: float) -> list[bool]:
    """Runs in which prices that earn (1 + gain) of the holdout were ever found to earn less than `share` of it."""
    random, found = np.random.default_rng(seed), []
    for _ in range(runs):
        evidence, alarm, chance = Evidence(), False, 0.3
        for look in range(1, batches + 1):
            apart, priced = 40 * look, 160 * look
            chance = random.uniform(0.05, 0.6)  # demand moves; what is compared met the same
            sold = random.binomial(apart, chance), random.binomial(priced, chance * (1.0 + gain))
            sums = [each + random.laplace(scale=scale) for each, scale in zip(sold, (noise, 3.0 * noise), strict=True)]
            batch = Earned(sums=(sums[0], sums[1]), slots=(apart, priced), scales=(noise, 3.0 * noise))
            evidence = evidence.after(batch, share, 0.3)
            alarm = alarm or evidence.certain(ALPHA)
        found.append(alarm)
    return found


@pytest.mark.parametrize("noise", [0.0, 2.0])
def test_over_all_looks_a_product_that_keeps_its_promise_is_hardly_ever_found_worse(noise: float) -> None:
    """On the brink, where it is hardest: prices earn exactly the share that is promised."""
    found = _looks(-0.05, 500, batches=25, noise=noise, seed=2, share=0.95)
    assert sum(found) <= ALPHA * 500


@pytest.mark.parametrize(("share", "ratio"), [(1.0, 0.25), (0.8, 0.5)])
def test_what_a_bet_holds_is_on_average_no_more_than_it_began_with(share: float, ratio: float) -> None:
    """By exact laws of sales and of Laplace noise, on the brink, for every stake.

    Planted: who leaves the noise out of the reckoning holds more than 1 on average.
    """
    slots, chance, scale, at = (50, round(50 / ratio)), 0.2, 1.5, np.linspace(-60.0, 60.0, 24_001)
    density = np.exp(-np.abs(at) / scale) / (2.0 * scale) * (at[1] - at[0])
    for k in range(len(STAKES)):
        none, first, second = (
            Evidence().after(Earned(sums=sums, slots=slots, scales=(scale, scale)), share, chance).logs[k]
            for sums in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))
        )
        grown = 1.0
        for rate, count, bought in ((first - none, slots[0], chance), (second - none, slots[1], share * chance)):
            sold = np.arange(count + 1)
            grown *= float(binom.pmf(sold, count, bought) @ np.exp(rate * sold)) * float(density @ np.exp(rate * at))
        assert math.exp(none) * grown <= 1.0 + 1e-6
        assert grown > 1.0


def test_one_that_breaks_it_is_found() -> None:
    assert all(_looks(-0.5, 50, batches=25, noise=2.0, seed=3, share=0.95))
    assert not any(_looks(0.1, 50, batches=25, noise=2.0, seed=3, share=0.95))


def test_of_a_share_of_nothing_nobody_earns_less() -> None:
    batch = Earned(sums=(50.0, 0.0), slots=(100, 900), scales=(1.0, 1.0))
    assert Evidence().after(batch, 0.0, 0.3) == Evidence()


def test_a_look_that_forgets_it_was_one_of_many_would_be_wrong_too_often() -> None:
    """Planted: a plain interval of 99 %, asked after every batch, is wrong far more often than it says."""
    random, wrong = np.random.default_rng(5), 0
    for _ in range(300):
        compared, alarm, scale = Comparison(), False, 10.0 / math.sqrt(2.0)
        for _look in range(40):
            earned = 12.0 + random.laplace(scale=scale), 48.0 + random.laplace(scale=scale)
            compared = compared.after(Earned(sums=earned, slots=(40, 160), scales=(scale, scale)))
            gap, deviation = compared.difference()
            alarm = alarm or gap < -2.33 * deviation
        wrong += alarm
    assert wrong > 3 * ALPHA * 300


def test_a_season_that_only_one_group_met_says_nothing() -> None:
    """Frozen in the good weeks: the holdout alone is sold to, at twice the rate. Batches are compared one by one."""
    compared, evidence = Comparison(), Evidence()
    for look in range(1, 200):
        frozen = look % 2 == 0
        slots, rate = ((1000, 0) if frozen else (200, 800)), 0.6 if frozen else 0.3
        if 0 in slots:
            slots = (slots[0] + 1000, 1000)  # half of a batch, then: the same customers are in both groups
        batch = Earned(sums=(rate * slots[0], rate * slots[1]), slots=slots, scales=(0.0, 0.0))
        compared, evidence = compared.after(batch), evidence.after(batch, 1.0, 0.3)
        assert not evidence.certain(ALPHA)
    assert compared.difference()[0] == pytest.approx(0.0, abs=1e-6)
    assert compared.holdout.earned / compared.holdout.slots > 0.5


def test_prices_that_are_bad_raise_an_alarm_and_those_after_it_are_watched_anew() -> None:
    """Everybody pays the dearest price, and nobody buys there."""
    shop, bad = Shop(noise=True), Rule(count=1500, move=1.0, spread=0.0, choice=0)
    steep = [0.0, 0.0, 0.0, 6.0, 0.0, 0.0]
    shop.quoter.belief = replace(shop.quoter.belief, theta=np.array([0.0, 0.0, 0.0, -3.0, 0.0, 0.0]))
    made = 0
    while shop.quoter.health.alarms == 0:
        shop.quoter.belief = replace(shop.quoter.belief, theta=np.array([0.0, 0.0, 0.0, -3.0, 0.0, 0.0]))
        shop.batch(steep, forced=bad)
        made += 1
        assert made < 10
    health = shop.quoter.health
    assert health.alarmed == shop.quoter.batch
    assert health.lost == health.behind == Evidence()
    assert health.compared.holdout.slots > 0
    assert health.looks == made
    assert not health.worse  # of what comes now nothing is known


@pytest.mark.beyond_coverage
def test_prices_that_pay_raise_none() -> None:
    shop = Shop(noise=True)
    for _ in range(16):
        shop.batch([0.5, 0.3, 0.0, -1.0, 0.0, 0.0])
    assert shop.quoter.health.alarms == 0
    assert not shop.quoter.health.worse
    assert shop.quoter.rule.move > 0.0


@pytest.mark.parametrize(
    "changed",
    [
        {"bought": Tally(noise=-1.0)},
        {"recent": (Tally(less=float("nan")),)},
        {"recent": (Tally(),) * (RECENT + 1)},
        {"compared": Comparison(others=Group(noise=float("inf")))},
        {"compared": Comparison(pairs=-1.0)},
        {"lost": Evidence(logs=(0.0,))},
        {"behind": Evidence(logs=(float("nan"),) * len(STAKES))},
        {"alarms": 2, "looks": 1, "batches": 1},
        {"looks": 1},
    ],
)
def test_sums_that_cannot_be_are_not_sound(changed: dict[str, Any]) -> None:
    assert Health().sound
    assert not replace(Health(), **changed).sound
