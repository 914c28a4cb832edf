"""What the side that prices does with a release: learn, notice a change, begin anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.policies.cautious.moment_runs import rules

from hushprice.policies.cautious.pricing import belief as beliefs
from hushprice.policies.cautious.pricing import population
from hushprice.policies.cautious.pricing.belief import Belief, Rule
from hushprice.policies.cautious.pricing.change import Change, believed_gain, changed_thetas
from hushprice.policies.cautious.pricing.planning import Past
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.releases import MomentRelease
from hushprice.types import FloatArray


def quoter(rule: Rule) -> CautiousQuoter:
    """One that is sure of its belief, in the middle of a life."""
    made = CautiousQuoter(replace(rules(2, level=-1.0, drawn=False), first=1000, middle=1000))
    made.rule, made.version = rule, 3
    made.belief = Belief(np.zeros(6), 1e-6 * np.eye(6))
    made.past = [Past(rule=rule, theta=np.zeros(6), changes=[Change(-9.0, -0.1)] * 4)]
    made.batches = [beliefs.ReleasedBatch(rule=rule, theta=np.zeros(6), score=np.zeros(6), noise=np.zeros(6))]
    return made


def release(made: CautiousQuoter, truth: FloatArray) -> MomentRelease:
    people, rule = made.population.people(), made.rule
    score = beliefs.score_model(made.model, people, rule, made.belief.theta, truth, count=rule.count).expected
    return MomentRelease(
        score, np.zeros(population.entries(2)), np.zeros(2), made.end, made.rules.noise.event(2, live=False)
    )


def test_a_release_as_believed_is_learned_beside_the_others() -> None:
    made = quoter(Rule(count=5000, move=0.0, spread=0.8, choice=0))
    made.accept(release(made, np.zeros(6)))
    assert (made.changed, len(made.past), len(made.batches), made.version) == (0, 2, 2, 4)
    assert made.banked == 0.0
    assert made.look == made.end


@pytest.mark.parametrize("change", [0, 1, None])
def test_a_change_of_demand_is_noticed_and_what_it_may_have_cost_is_kept_in_mind(change: int | None) -> None:
    """Steeper, flatter, or that hardly anybody buys: batches from before are dropped, and the belief is unsure."""
    known = change is not None
    made = quoter(Rule(count=50_000, move=0.0, spread=0.8 if known else 0.0, choice=0 if known else 3))
    truth = np.array([-3.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    if change is not None:
        truth = changed_thetas(made.model, made.population.people(), made.belief.theta)[change]
    before = made.belief
    made.accept(release(made, truth))
    assert (made.changed, made.past, len(made.batches)) == (1, [], 1)
    assert (np.diag(made.origin.covariance) > np.diag(before.covariance)).all()
    assert (made.banked != 0.0) == known  # at today's price nothing is lost, whatever demand does
    assert made.belief.theta[0] < -1.0 or known


@pytest.mark.parametrize("which", [0, 1])
def test_what_a_change_may_have_cost_is_what_that_change_would_have_cost_not_one_that_releases_exclude(
    which: int,
) -> None:
    """Everybody pays the ceiling. Where more buy than was believed, less steep demand is noticed, and gains stay."""
    ceiling = Rule(count=50_000, move=0.0, spread=0.0, choice=3, offset=1.0)
    made = quoter(replace(ceiling, spread=0.8, offset=0.0, choice=0))
    people, model = made.population.people(), made.model
    made.past, made.rule = [], ceiling
    truth = changed_thetas(model, people, made.belief.theta)[which]
    now, then = (
        believed_gain(model, people, theta, ceiling, made.belief.theta) for theta in (made.belief.theta, truth)
    )
    made.accept(release(made, truth))
    assert made.changed == 1
    assert made.banked == pytest.approx(50_000 * min(now, then))
    assert (then < now) == (which == 0)


def test_a_belief_that_is_widened_holds_no_batch_that_is_fitted_to_it_again() -> None:
    """Of a change noticed two batches late: the belief has learned these by then, and the widened one may not."""
    steep = Rule(count=5000, move=0.0, spread=0.8, choice=0)
    made = quoter(steep)
    made.past, made.batches, made.origin = [], [], beliefs.first_belief(np.full(6, 0.1))
    made.accept(release(made, np.zeros(6)))
    sure, people = made.belief, made.population.people()
    truth = changed_thetas(made.model, people, sure.theta)[0]
    score = beliefs.score_model(made.model, people, steep, sure.theta, truth, count=steep.count).expected
    for _ in range(2):
        made.batches.append(replace(made.batches[0], rule=steep, theta=sure.theta, score=score))
        made.past.append(Past(rule=steep, theta=sure.theta, changes=[Change(500.0, -0.1), *[Change(-500.0, 0.1)] * 3]))
    made.rule, made.belief = steep, Belief(truth, 1e-6 * np.eye(6))
    made.accept(release(made, truth))
    assert (made.changed, len(made.batches)) == (1, 3)
    np.testing.assert_allclose(made.origin.theta, sure.theta, atol=0.01)


def test_a_batch_that_was_dropped_is_none_of_those_kept_after_a_change() -> None:
    made = quoter(Rule(count=50_000, move=0.0, spread=0.8, choice=0))
    made.follow(made.batch + 10)
    assert [batch.released for batch in made.past] == [True, False]
    made.rule = Rule(count=50_000, move=0.0, spread=0.8, choice=0)
    made.accept(release(made, changed_thetas(made.model, made.population.people(), made.belief.theta)[0]))
    assert made.changed == 1
    assert len(made.batches) == 1
