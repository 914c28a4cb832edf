"""What releases say about fit and gain, against the records that nobody else may look at."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from hushprice.noise import Tape
from hushprice.policies.cautious.pricing.belief import ReleasedBatch, Rule
from hushprice.policies.cautious.pricing.health import ALPHA, RECENT, Health, Tally
from hushprice.policies.cautious.pricing.holdout import Comparison, Group
from hushprice.policies.cautious.pricing.instruments import held
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.policies.cautious.pricing.shop_model import model_of, with_constant
from hushprice.policies.cautious.pricing.watch import SHORTFALLS, Watch, _against, _bet
from hushprice.policies.cautious.private.learner import CautiousLearner
from hushprice.policies.cautious.rules import cautious
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import NotPrivate
from hushprice.product import Product
from hushprice.releases import MomentRelease

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
        self.learner.absorb(x, prices, coins, bought, before, apart)
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

    assert less("bought") == pytest.approx(away.sum(), abs=1e-6)
    assert less("dearer") == pytest.approx(away[coins > 0].sum(), abs=1e-6)
    assert less("cheaper") == pytest.approx(away[coins < 0].sum(), abs=1e-6)
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


def test_thirds_by_believed_demand_are_weighted_residuals_of_the_records() -> None:
    """Without noise. Slow reference: the weights c + d' x^ of each third, fitted by hand on the population, times the
    residuals of the very customers."""
    shop = Shop()
    for _ in range(4):
        shop.batch(TRUTH, forced=replace(TRIED, move=0.0))
    first, people = shop.quoter.health.by_demand, None
    theta = shop.quoter.belief.theta
    made = shop.batch(TRUTH, forced=replace(TRIED, move=0.0))
    last, priced = shop.quoter.health.by_demand, ~made["apart"]
    people = shop.quoter.population.people()
    levels = shop.quoter.model.lines(theta, with_constant(people))[0]
    cuts = np.sort(levels)[[31, 63]]
    rows, mine = with_constant(held(people)), with_constant(held(made["x"][priced]))
    for which, inside in enumerate((levels <= cuts[0], (levels > cuts[0]) & (levels <= cuts[1]), levels > cuts[1])):
        slopes = np.linalg.solve(rows.T @ rows, rows.T @ inside.astype(float))
        less = float((mine @ slopes * made["away"][priced]).sum())
        assert last[which].less - first[which].less == pytest.approx(less, rel=1e-6, abs=1e-6)
        assert last[which].count - first[which].count == pytest.approx(priced.sum() / 3.0)
    low, middle, high = (each.mean for each in last)
    assert low + 0.1 < middle < high - 0.1
    assert sum(each.believed for each in last) == pytest.approx(shop.quoter.health.bought.believed, rel=0.2)


def test_thirds_show_who_buys_less_than_believed() -> None:
    """A belief that makes too much of attributes: the low buy more than believed, the high less."""
    shop = Shop()
    sure = [0.0, 1.2, -0.8, 0.0, 0.0, 0.0]
    for _ in range(3):
        shop.quoter.belief = replace(shop.quoter.belief, theta=np.array(sure))
        shop.batch([0.0, 0.3, -0.2, 0.0, 0.0, 0.0], forced=replace(TRIED, move=0.0))
    low, middle, high = shop.quoter.health.by_demand
    assert low.mean < low.observed.low
    assert high.mean > high.observed.high
    assert abs(middle.mean - middle.observed.estimate) < 0.03


def test_nothing_is_said_of_what_is_not_released() -> None:
    shop = Shop()
    shop.batch(TRUTH, forced=Rule(count=500, move=0.0, spread=0.0, choice=3))  # conversion alone
    health = shop.quoter.health
    assert health.dearer == health.cheaper == health.likelier == Tally()
    assert health.by_demand == ()
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
        score = np.zeros(3)
        score[0] = 1500 * model.conversion - random.binomial(1500, truth) + noise * random.standard_normal()
        batch = ReleasedBatch(rule=rule, theta=np.zeros(2), score=score, noise=noise)
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
    made = shop.batch(high, forced=rule)
    found = shop.quoter.health.bought
    assert made["away"].max() > shop.quoter.model.largest  # else nothing was held
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


def _looks(
    gain: float,
    runs: int,
    *,
    batches: int,
    noise: float,
    seed: int,
    share: float,
    expected: float = 0.3,
    laplace: bool = False,
) -> list[bool]:
    """Runs in which prices that earn (1 + gain) of the holdout were ever found to earn less than `share` of it."""
    random, found = np.random.default_rng(seed), []
    for _ in range(runs):
        watch, alarm = Watch(), False
        for look in range(1, batches + 1):
            apart, priced = 40 * look, 160 * look
            earned = random.binomial(apart, 0.3), random.binomial(priced, 0.3 * (1.0 + gain))
            luck = random.laplace(scale=0.5**0.5, size=2) if laplace else random.standard_normal(2)
            noisy = [each + noise * one for each, one in zip(earned, luck, strict=True)]
            watch = watch.after((noisy[0], noisy[1]), (apart, priced), (noise, noise), share=share, expected=expected)
            alarm = alarm or watch.certain(ALPHA)
        found.append(alarm)
    return found


@pytest.mark.parametrize(("noise", "laplace"), [(0.0, False), (10.0, False), (10.0, True)])
def test_over_all_looks_a_product_that_keeps_its_promise_is_hardly_ever_found_worse(
    noise: float, laplace: bool
) -> None:
    """On the brink, where it is hardest: prices earn exactly the share that is promised."""
    found = _looks(-0.05, 500, batches=25, noise=noise, seed=2, share=0.95, laplace=laplace)
    assert sum(found) <= ALPHA * 500


@pytest.mark.parametrize("laplace", [False, True])
@pytest.mark.parametrize("shortfall", [0.03, 0.5])
def test_what_a_batch_says_is_expected_to_be_at_most_one_on_the_brink(shortfall: float, laplace: bool) -> None:
    """Oracle: the expectation itself, over all numbers of purchases, in closed form."""
    slots, noise, share, h = (30, 90), (2.0, 5.0), 0.9, 0.4
    a, b = _bet(shortfall, slots, noise, share, 0.3)
    of_noise = [
        1.0 / (1.0 - 0.5 * (each * s) ** 2) if laplace else float(np.exp(0.5 * (each * s) ** 2))
        for each, s in ((a, noise[0]), (b, noise[1]))
    ]
    held = (1.0 + h * np.expm1(a)) ** slots[0]
    others = (1.0 + share * h * np.expm1(-b)) ** slots[1]
    paid = float(np.exp(_against((0.0, 0.0), slots, noise, (a, b))))
    assert 0.5 < held * others * of_noise[0] * of_noise[1] * paid <= 1.0
    worse = (1.0 + 0.5 * share * h * np.expm1(-b)) ** slots[1]
    assert held * worse * of_noise[0] * of_noise[1] * paid > 1.0  # and where prices earn less, more


@pytest.mark.parametrize("expected", [0.01, 1.0])
def test_what_was_expected_is_no_part_of_that(expected: float) -> None:
    """A guess that is far off costs power, never more alarms."""
    assert sum(_looks(-0.05, 300, batches=25, noise=3.0, seed=6, share=0.95, expected=expected)) <= ALPHA * 300


def test_one_that_breaks_it_is_found() -> None:
    assert all(_looks(-0.5, 50, batches=25, noise=10.0, seed=3, share=0.95))
    assert not any(_looks(0.1, 50, batches=25, noise=10.0, seed=3, share=0.95))


def test_a_look_that_forgets_it_was_one_of_many_would_be_wrong_too_often() -> None:
    """Planted: a plain interval of 99 %, asked after every batch, is wrong far more often than it says."""
    random, wrong = np.random.default_rng(5), 0
    for _ in range(300):
        compared, alarm = Comparison(), False
        for _look in range(40):
            earned = 12.0 + 10.0 * random.standard_normal(), 48.0 + 10.0 * random.standard_normal()
            compared = compared.after(earned, (40, 160), (10.0, 10.0))
            gap, deviation = compared.difference()
            alarm = alarm or gap < -2.33 * deviation
        wrong += alarm
    assert wrong > 3 * ALPHA * 300


ASKED: dict[str, Any] = {"risk": 0.0, "expected": 0.3}


def _released(earnings: tuple[float, float], records: int = 1) -> MomentRelease:
    return MomentRelease(np.zeros(3), np.zeros(0), np.array(earnings), records, NotPrivate(), None)


def test_a_season_that_only_one_group_met_says_nothing() -> None:
    """Frozen in the good weeks: the holdout alone is sold to, at twice the rate. Batches are compared one by one."""
    health = Health()
    for look in range(1, 200):
        frozen = look % 2 == 0
        slots, rate = ((1000, 0) if frozen else (200, 800)), 0.6 if frozen else 0.3
        health = health.after_earnings(_released((rate * slots[0], rate * slots[1])), slots, (0.0, 0.0), **ASKED)
        assert not health.alarms
        assert not health.worse
    compared = health.compared
    assert compared.difference()[0] == pytest.approx(0.0, abs=1e-6)
    assert compared.holdout.slots == 100 * 200  # batches that one group alone met are left out


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
    assert health.losing == health.behind == Watch()
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
        {"compared": Comparison(others=Group(squares_noise=float("inf")))},
        {"losing": Watch(batches=1)},
        {"behind": Watch(batches=1, evidence=(float("nan"),) * len(SHORTFALLS))},
        {"by_demand": (Tally(),)},
        {"alarms": 2, "looks": 1, "batches": 1},
        {"looks": 1},
    ],
)
def test_sums_that_cannot_be_are_not_sound(changed: dict[str, Any]) -> None:
    assert Health().sound
    assert not replace(Health(), **changed).sound
