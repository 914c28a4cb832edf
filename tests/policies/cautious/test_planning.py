"""The next batch's rule: safe first, then what it earns and teaches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given as having
from hypothesis import settings
from hypothesis import strategies as st
from tests.policies.cautious import moment_runs
from tests.policies.cautious.shops_at_hand import ALONE, MODEL, NOBODY, PEOPLE, rule

from hushprice.policies.cautious.pricing.belief import Belief
from hushprice.policies.cautious.pricing.believed import Believed
from hushprice.policies.cautious.pricing.change import Change, gains_changed
from hushprice.policies.cautious.pricing.instruments import SHARES
from hushprice.policies.cautious.pricing.lessons import FEW, Candidate, Lessons, Limits, earned_while_trying
from hushprice.policies.cautious.pricing.planning import Guard, Past, plan
from hushprice.policies.cautious.pricing.shop_model import with_constant

LIMITS = Limits(risk=0.02, noise=(np.full(6, 6.0),) * len(SHARES), horizon=50_000)
UNSURE = Belief(np.zeros(6), np.diag([1.0, 0.5, 0.5, 0.3, 0.1, 0.1]) ** 2)
STEEP = Belief(np.array([0.0, 0.0, 0.0, 0.5, 0.0, 0.0]), 1e-4 * np.eye(6))  # today's price is far too high


def test_at_first_prices_are_tried_out_around_todays_and_stay_inside() -> None:
    found = plan(MODEL, PEOPLE, UNSURE, [], LIMITS, count=500, slots=0)
    assert found.spread > 0.0
    assert found.move == 0.0 or found.spread == MODEL.widest  # a middle that cannot move
    assert found.count <= 500


def test_prices_move_once_that_rests_on_evidence() -> None:
    found = plan(MODEL, PEOPLE, STEEP, [], LIMITS, count=2000, slots=20_000)
    assert found.move == 1.0 or abs(found.offset) > 0.5  # customers are believed to be alike
    assert (
        plan(MODEL, PEOPLE, Belief(np.zeros(6), 1e-8 * np.eye(6)), [], LIMITS, count=2000, slots=20_000).spread <= 0.1
    )


def test_nothing_is_tried_out_where_the_allowance_is_spent() -> None:
    """Believed losses so far beyond what is allowed: only staying is left."""
    lost = replace(LIMITS, banked=-2000.0)
    found = plan(MODEL, PEOPLE, UNSURE, [], lost, count=800, slots=20_000)
    assert (found.move, found.offset, found.spread) == (0.0, 0.0, 0.0)
    assert found.count <= 800
    assert SHARES[found.choice] == 0.0  # with nothing tried out, attributes tell nothing


def test_losses_of_earlier_batches_count() -> None:
    """A past of bad prices, in a belief that knows it, leaves less to try out than none."""
    wild = rule(4000, move=0.0, spread=1.0)
    bad = Belief(np.array([0.0, 0.0, 0.0, 2.0, 0.0, 0.0]), 1e-4 * np.eye(6))
    gains = gains_changed(MODEL, PEOPLE, bad, replace(wild, spread=0.1))
    past = [
        Past(rule=replace(wild, count=30_000, move=-0.9), theta=bad.theta, changes=[Change(-9.0, g) for g in gains])
    ]
    assert plan(MODEL, PEOPLE, bad, past, LIMITS, count=800, slots=30_000).spread == 0.0


def test_a_change_that_nothing_excludes_keeps_batches_short() -> None:
    known = [Past(rule=rule(4000, move=1.0, spread=0.0), theta=STEEP.theta, changes=[Change(-9.0, -0.2)] * 2)]
    unknown = [replace(known[0], changes=[Change(0.0, -0.2)] * 2)]
    free = plan(MODEL, PEOPLE, STEEP, known, LIMITS, count=6000, slots=20_000)
    held = plan(MODEL, PEOPLE, STEEP, unknown, LIMITS, count=6000, slots=20_000)
    assert held.count * abs(held.move + held.offset) < free.count * abs(free.move + free.offset)


def test_no_batch_is_longer_than_what_is_left() -> None:
    assert plan(MODEL, PEOPLE, UNSURE, [], LIMITS, count=500, slots=49_990).count <= 10
    assert plan(MODEL, PEOPLE, UNSURE, [], LIMITS, count=500, slots=60_000).count == 1


def test_without_attributes_the_common_price_is_learned() -> None:
    found = plan(ALONE, NOBODY, Belief(np.zeros(2), np.diag([1.0, 0.09])), [], LIMITS, count=500, slots=0)
    assert found.spread > 0.0


@pytest.mark.beyond_coverage
@settings(max_examples=15, deadline=None)
@having(resp=st.floats(-0.2, 1.0), doubt=st.floats(0.01, 0.5), slots=st.integers(0, 40_000), count=st.integers(1, 5000))
def test_every_rule_is_possible_and_the_same_releases_give_the_same_one(
    resp: float, doubt: float, slots: int, count: int
) -> None:
    belief = Belief(np.array([0.0, 0.1, 0.0, resp, 0.0, 0.05]), doubt**2 * np.eye(6))
    found = plan(MODEL, PEOPLE, belief, [], LIMITS, count=count, slots=slots)
    assert found == plan(MODEL, PEOPLE, belief, [], LIMITS, count=count, slots=slots)
    assert 1 <= found.count <= count
    assert 0.0 <= found.move <= 1.0
    assert -1.0 <= found.offset <= 1.0
    assert 0.0 <= found.spread <= MODEL.widest
    assert 0 <= found.choice < len(SHARES)


@pytest.mark.parametrize("risk", [0.0, 1.0])
def test_risk_decides_how_much_is_tried_out(risk: float) -> None:
    found = plan(MODEL, PEOPLE, UNSURE, [], replace(LIMITS, risk=risk), count=500, slots=2000)
    assert (found.spread > 0.0) == (risk == 1.0)


DIFFER = np.array([0.0, 0.0, 0.0, 0.5, 0.3, -0.3])  # the price response rises with one entry and falls with the other


@pytest.mark.parametrize("doubt", [0.001, 0.3])
def test_everybody_gets_a_price_of_his_own_only_on_evidence_that_it_is_better(doubt: float) -> None:
    """Sure of the common price response: one price for all alike, until differences are as sure."""
    belief = Belief(DIFFER, np.diag([0.001, 0.001, 0.001, 0.001, doubt, doubt]) ** 2)
    found = plan(MODEL, PEOPLE, belief, [], LIMITS, count=2000, slots=20_000)
    if doubt < 0.01:
        assert found.move == 1.0
        assert found.offset == 0.0
    else:
        assert found.move == 0.0
        assert found.offset < -0.3


def test_the_common_price_is_the_best_of_a_fine_grid() -> None:
    theta = np.stack([DIFFER, 0.2 * DIFFER, -2.0 * DIFFER])  # inside, near today's price, and at a limit
    believed = Believed(MODEL, theta, np.eye(6), with_constant(PEOPLE))
    for row, found in zip(theta, believed.best_common[:, 0], strict=True):
        grid = np.linspace(-1.0, 1.0, 2001)
        level, response = MODEL.lines(row, with_constant(PEOPLE))
        earned = np.array([MODEL.earned(level, response, price) for price in grid])
        assert MODEL.earned(level, response, found) >= earned.max() * (1.0 - 1e-4)


def test_gains_and_their_deviations_are_those_of_draws_from_the_belief() -> None:
    covariance = np.diag([0.1, 0.05, 0.05, 0.05, 0.02, 0.02]) ** 2
    believed = Believed(MODEL, DIFFER.reshape(1, -1), covariance, with_constant(PEOPLE))
    draws = np.random.default_rng(1).multivariate_normal(DIFFER, covariance, 4000)
    level, response = MODEL.lines(draws, with_constant(PEOPLE))
    for prices in (believed.best, believed.best_common):
        gain, slopes = believed.gains(prices)
        drawn = MODEL.earned(level, response, prices) / MODEL.earned(level, response, 0.0) - 1.0
        assert gain[0] == pytest.approx(drawn.mean(), abs=0.1 * drawn.std())
        assert believed.deviation(slopes)[0] == pytest.approx(drawn.std(), rel=0.05)


def test_groups_of_beliefs_have_each_its_own_covariance() -> None:
    theta = np.stack([DIFFER, 0.2 * DIFFER, -DIFFER, 0.5 * DIFFER])
    covariances = np.stack([0.01 * np.eye(6), np.diag([0.1, 0.05, 0.05, 0.2, 0.02, 0.02])])
    slopes = np.random.default_rng(2).standard_normal((4, 6))
    together = Believed(MODEL, theta, covariances, with_constant(PEOPLE)).deviation(slopes)
    for group, rows in enumerate((slice(0, 2), slice(2, 4))):
        alone = Believed(MODEL, theta[rows], covariances[group], with_constant(PEOPLE))
        np.testing.assert_allclose(together[rows], alone.deviation(slopes[rows]))


def test_a_common_price_is_found_however_steep_demand_is() -> None:
    """Odds beyond what a number holds mean that nobody buys, or everybody."""
    theta = np.array([[0.0, 0.0, 0.0, 500.0, 0.0, 0.0], [-2000.0, 0.0, 0.0, 0.0, 0.0, 0.0], [900.0] + [0.0] * 5])
    found = Believed(MODEL, theta, np.eye(6), with_constant(PEOPLE)).best_common[:, 0]
    assert found[0] == pytest.approx(-0.25, abs=0.15)  # of nine prices the dearest at which anybody buys
    assert -1.0 <= found[1] <= 1.0
    assert found[2] == pytest.approx(1.0)  # everybody buys, whatever the price


def test_a_rule_is_worth_the_same_whichever_rules_it_is_looked_at_with() -> None:
    draws = np.random.default_rng(3).multivariate_normal(UNSURE.theta, UNSURE.covariance, FEW)
    lessons = Lessons(MODEL, PEOPLE, UNSURE, draws=draws, limits=LIMITS, left=40_000)
    rules = [rule(400, spread=0.5, choice=choice) for choice in range(len(SHARES) - 1)] + [rule(400, spread=0.0)]
    tried = [Candidate(each, -0.01, 0.01, [(400, 400), (1600, 1600)]) for each in rules] + [
        Candidate(rules[0], 0.0, 0.0, [])
    ]
    together = lessons.values(tried)
    np.testing.assert_allclose(together, [lessons.values([each])[0] for each in tried], rtol=1e-9)
    assert together[-1] == -np.inf  # it may not be had at all
    assert together[0] >= lessons.values([Candidate(rules[0], -0.01, 0.01, [(400, 400)])])[0]  # or for longer


def test_losses_are_added_up_batch_by_batch_whatever_their_prices_were() -> None:
    """Batches at the same prices for all are reckoned once; the others one by one."""
    known = [Change(-9.0, 0.0)] * 2
    rules = [rule(500, spread=0.5), rule(900, spread=0.5), rule(700, spread=0.0), rule(300, move=1.0, spread=0.2)]
    rules += [replace(rules[0], offset=0.3), replace(rules[3], move=0.5)]
    past = [Past(rule=each, theta=DIFFER, changes=known) for each in rules]
    gained = [Guard(MODEL, PEOPLE, UNSURE, past[:n], LIMITS, slots=5000).gained for n in range(len(past) + 1)]
    alone = [Guard(MODEL, PEOPLE, UNSURE, [each], LIMITS, slots=5000).gained for each in past]
    np.testing.assert_allclose(np.diff(gained, axis=0), alone, atol=1e-9)
    assert not alone[2].any()


def test_prices_follow_what_is_learned_while_more_is_tried_out() -> None:
    """Slot by slot: what is tried out costs as much again, and later slots gain what was learned by then."""
    tried = Candidate(rule(100), -0.03, 0.05, [(100, 100), (400, 250), (1600, 1000)])
    by_slot = [-0.03] * 100 + [0.02] * 300 + [0.06] * 1200 + [0.07] * 8400
    costs = 0.05 * 150, 0.05 * 900
    stopping = [-3.0 + 0.02 * 9900, sum(by_slot[:400]) + 0.06 * 9600 - costs[0], sum(by_slot) - costs[1]]
    assert earned_while_trying(tried, [0.02, 0.06, 0.07], 10_000, 1.0) == pytest.approx(max(stopping))
    assert earned_while_trying(tried, [0.02, 0.06, 0.09], 10_000, 1.0) == pytest.approx(stopping[2] + 0.02 * 8400)
    assert earned_while_trying(tried, [0.02, 0.02, 0.02], 10_000, 1.0) == pytest.approx(stopping[0])


def test_where_little_may_be_lost_all_pay_as_the_rule_says_while_it_is_tried_out() -> None:
    tried = Candidate(rule(100), -0.03, 0.05, [(100, 100), (400, 250)])
    stopping = [-3.0 + 0.02 * 9900, -0.03 * 250 + 0.06 * 9600]
    assert earned_while_trying(tried, [0.02, 0.06], 10_000, 0.0) == pytest.approx(stopping[1])
    assert earned_while_trying(tried, [0.02, 0.02], 10_000, 0.0) == pytest.approx(stopping[0])
    followed = -3.0 + 0.02 * 300 - 0.05 * 150 + 0.06 * 9600
    half = earned_while_trying(tried, [0.02, 0.06], 10_000, 0.5)
    assert half == pytest.approx(0.5 * (stopping[1] + followed))


def test_what_trying_out_costs_is_reckoned_from_the_best_rule() -> None:
    """A rule away from where prices are believed best is no cheap teacher: at such odds nobody tries it out."""
    sure = Belief(STEEP.theta, 1e-6 * np.eye(6))
    found = plan(MODEL, PEOPLE, sure, [], replace(LIMITS, risk=1.0), count=2000, slots=20_000)
    best = MODEL.best(*MODEL.lines(sure.theta, with_constant(PEOPLE)))
    assert found.move * best.mean() + found.offset == pytest.approx(best.mean(), abs=0.05)
    assert found.spread <= 0.1


def test_the_shop_may_be_right_until_that_is_out_of_the_question() -> None:
    """With a small margin a price too low is ruinous, however much a belief expects of it."""
    small = replace(MODEL, margin=0.8, response=1.3)
    bold = Belief(np.array([0.0, 0.0, 0.0, -1.0, 0.0, 0.0]), np.diag([1e-3, 1e-3, 1e-3, 0.25, 1e-3, 1e-3]))
    sure = replace(bold, covariance=0.1 * bold.covariance)
    far = replace(rule(2000, spread=0.0), offset=1.0)
    for belief, safe in ((bold, False), (sure, True)):
        guard = Guard(small, PEOPLE, belief, [], LIMITS, slots=5000)
        gain = guard.gain(far)
        assert guard.mean(gain) > 0.1
        assert (guard.safe_count(gain, [], 2000) == 2000) is safe
        level, response = small.lines(guard.draws[-1], with_constant(PEOPLE))
        assert response.mean() == pytest.approx(1.3)
        assert gain[-1] == pytest.approx(small.earned(level, response, 1.0) / small.earned(level, response, 0.0) - 1.0)


def test_the_shop_is_right_in_the_likeliest_way() -> None:
    """Of all theta with the expected mean response, the guard takes that nearest to the belief."""
    rng = np.random.default_rng(4)
    root = rng.standard_normal((6, 6))
    belief = Belief(rng.standard_normal(6), root @ root.T)
    right = Guard(MODEL, PEOPLE, belief, [], LIMITS, slots=0).draws[-1]
    along = np.concatenate([np.zeros(3), with_constant(PEOPLE).mean(axis=0)])
    assert along @ right == pytest.approx(0.0, abs=1e-9)
    pulled = np.linalg.solve(belief.covariance, right - belief.theta)
    np.testing.assert_allclose(pulled / pulled[3], along / along[3], atol=1e-7)


def test_batches_grow_with_all_slots_and_with_their_root_once_noise_is_little() -> None:
    """So what is lost before a change is noticed is a smaller and smaller share; noise stays a twentieth of a batch."""
    rules = moment_runs.rules(2)
    lengths = {slots: rules.next_count(slots) for slots in (0, rules.middle, 40 * rules.middle, 10**7, 4 * 10**7)}
    assert lengths[0] == rules.first
    assert lengths[rules.middle] == rules.middle
    assert lengths[40 * rules.middle] == int(rules.growth * 40 * rules.middle)
    assert lengths[10**7] < 0.5 * rules.growth * 10**7
    assert lengths[4 * 10**7] == pytest.approx(2.0 * lengths[10**7], rel=1e-6)
    noise, sampled = rules.score_noise(0, 1)[0], 0.5 * rules.model.conversion * (1.0 - rules.model.conversion)
    longer = range(int(50 * rules.middle), 10**6, 10**5)
    assert all(noise**2 < 0.05 * sampled * rules.next_count(slots) for slots in longer)
