"""What the two sides of noisy-newton refuse of each other: a record is in one batch, whatever is asked for."""

from __future__ import annotations

import numpy as np
import pytest
from tests.policies.newton.newton_runs import CONTEXTS, live, opened, serve

from hushprice import Pricer
from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.releases import CurvatureRelease, ScoreRelease

PHI = np.array([0.3, -0.2, -0.4])


def absorb(pricer: Pricer, count: int = 1, demand: float = 1.0) -> None:
    for _ in range(count):
        pricer.learner.absorb(PHI, demand, pricer.quoter.theta, pricer.quoter.inverse)


@pytest.mark.parametrize("make", [opened, live])
def test_a_release_asked_for_again_is_the_same_release(make) -> None:
    pricer = make()
    learner = pricer.learner
    absorb(pricer, 3)
    curvature = learner.curvature()
    assert learner.curvature() is curvature
    score = learner.score()
    assert learner.score() is score
    assert learner.curvature() is curvature
    assert (curvature.records, score.records, learner.blocks) == (3, 3, 1)
    assert curvature.event == score.event == learner.event
    for array in (curvature.packed, score.score):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


@pytest.mark.parametrize("make", [opened, live])
def test_a_batch_that_has_ended_takes_no_record_and_a_batch_that_has_not_is_not_left(make) -> None:
    pricer = make()
    learner = pricer.learner
    absorb(pricer)
    with pytest.raises(InvalidInput, match="a batch must end before the next one begins"):
        learner.begin(0)
    learner.score()
    with pytest.raises(BudgetExhausted, match="a record may not enter it"):
        absorb(pricer)
    with pytest.raises(BudgetExhausted, match="looked at 1 times at most"):
        learner.curvature()
    learner.begin(0)
    absorb(pricer)
    assert learner.curvature().records == 2


@pytest.mark.parametrize("make", [opened, live])
@pytest.mark.parametrize("level", [0, 1, 3])
def test_a_batch_is_looked_at_as_often_as_its_noise_was_arranged_for(make, level: int) -> None:
    pricer = make()
    learner = pricer.learner
    learner.begin(level)
    for _ in range(2**level):
        absorb(pricer)
        learner.curvature()
    absorb(pricer)
    with pytest.raises(BudgetExhausted, match=f"looked at {2**level} times at most"):
        learner.curvature()
    assert learner.blocks == 2**level


def test_a_level_beyond_what_was_paid_for_is_refused() -> None:
    for level in (-1, 13, 1.5):
        with pytest.raises(InvalidInput, match="level"):
            opened().learner.begin(level)  # type: ignore[arg-type]


def test_a_batch_forgets_the_one_before_it() -> None:
    pricer, fresh = opened(), opened()
    learner = pricer.learner
    absorb(pricer, 5, demand=0.0)
    learner.curvature()
    learner.score()
    learner.begin(2)
    fresh.learner.begin(2)
    absorb(pricer, 4)
    absorb(fresh, 4)
    assert learner.batch.state() == fresh.learner.batch.state()


def test_records_are_held_to_their_bounds_and_the_operator_can_count_them() -> None:
    pricer, held = opened(), opened()
    pricer.learner.absorb(10.0 * PHI, 7.0, pricer.quoter.theta, pricer.quoter.inverse)
    held.learner.absorb(10.0 * PHI / np.linalg.norm(10.0 * PHI), 1.0, held.quoter.theta, held.quoter.inverse)
    assert (pricer.learner.clipped_features, pricer.learner.clipped_demands) == (1, 1)
    assert (held.learner.clipped_features, held.learner.clipped_demands) == (0, 0)
    np.testing.assert_allclose(pricer.learner.score().score, held.learner.score().score, rtol=1e-12)


def test_a_record_that_is_none_is_refused_without_saying_what_was_in_it() -> None:
    learner, quoter = opened().learner, opened().quoter
    empty = learner.batch.state()
    for phi, demand in ((PHI[:2], 1.0), (np.array([np.nan, 0.0, 0.0]), 1.0), (PHI, np.inf)):
        with pytest.raises(InvalidInput, match=r"^phi must have 3 entries|^a record must be finite$"):
            learner.absorb(phi, demand, quoter.theta, quoter.inverse)
    assert learner.batch.state() == empty
    assert learner.count == 3  # slots are counted, not records


def test_the_quoter_takes_the_releases_that_are_due_and_no_other() -> None:
    pricer = opened()
    quoter, event = pricer.quoter, pricer.learner.event
    due, early = (CurvatureRelease(np.zeros(6), records, event) for records in (quoter.look, quoter.look - 1))
    with pytest.raises(InvalidInput, match=f"curvature must be of {quoter.look} records, got {quoter.look - 1}"):
        quoter.ends(early)
    with pytest.raises(InvalidInput, match="curvature must be of"):
        quoter.accept(ScoreRelease(np.zeros(3), quoter.look, event), early)
    with pytest.raises(InvalidInput, match="score must be of"):
        quoter.accept(ScoreRelease(np.zeros(3), quoter.look - 1, event), due)
    with pytest.raises(InvalidInput, match="score"):
        quoter.accept(ScoreRelease(np.zeros(2), quoter.look, event), due)
    with pytest.raises(InvalidInput, match="curvature"):
        quoter.ends(CurvatureRelease(np.zeros(5), quoter.look, event))
    assert quoter.version == 0


def test_a_price_is_a_function_of_releases_a_context_and_a_coin() -> None:
    pricer = opened()
    serve(pricer)
    quoter = pricer.quoter
    assert quoter.ready
    prices = [quoter.price(CONTEXTS[3], coin) for coin in (0.1, 0.5, 0.9)]
    assert len(set(prices)) == 3
    assert prices == [quoter.price(CONTEXTS[3], coin) for coin in (0.1, 0.5, 0.9)]


@pytest.mark.parametrize("make", [opened, live])
def test_a_slot_that_is_skipped_is_counted_and_adds_nothing(make) -> None:
    pricer, without = make(), make()
    absorb(pricer, 2)
    absorb(without, 2)
    pricer.learner.skip()
    pricer.learner.skip(3)
    assert (pricer.learner.count, without.learner.count) == (6, 2)
    assert pricer.learner.batch.state() == without.learner.batch.state()
    pricer.learner.score()
    with pytest.raises(BudgetExhausted, match="a record may not enter it"):
        pricer.learner.skip()


@pytest.mark.parametrize("make", [opened, live])
def test_records_learned_together_are_those_learned_one_by_one(make) -> None:
    rows = np.random.default_rng(3).uniform(-1.0, 1.0, (8, 3))
    demands = np.arange(8) / 4.0  # some past the bound
    together, single = make().engine, make().engine
    for phi, demand in zip(rows, demands, strict=True):
        assert single.step(phi, float(demand)) == ()
    assert single.skip() == ()
    assert together.steps(rows.T, demands, 1) == ()
    for attribute in ("count", "clipped_features", "clipped_demands"):
        assert getattr(together.learner, attribute) == getattr(single.learner, attribute) > 0
    assert together.learner.batch.state() == single.learner.batch.state()


def test_no_slot_is_learned_past_the_next_release_unreleased() -> None:
    engine = opened().engine
    room = engine.quoter.look
    with pytest.raises(InvalidInput, match=f"slots must be at most {room}"):
        engine.skip(room + 1)
    with pytest.raises(InvalidInput, match=f"slots must be at most {room}"):
        engine.steps(np.zeros((3, room)), np.zeros(room), 1)
    assert engine.learner.count == 0
    made = engine.skip(room)
    assert [type(each) for each in made] == [CurvatureRelease, ScoreRelease]
    assert engine.quoter.version == 1


def test_a_jump_forgets_the_batch_at_hand_and_never_goes_back() -> None:
    engine, fresh = opened().engine, opened().engine
    engine.skip(5)
    absorb_one = np.array([0.3, -0.2, -0.4])
    engine.step(absorb_one, 1.0)
    with pytest.raises(InvalidInput, match="records must be at least 6"):
        engine.jump(5)
    engine.jump(9)
    fresh.jump(9)
    assert (engine.learner.count, engine.quoter.batch) == (9, 9)
    assert engine.learner.batch.state() == fresh.learner.batch.state()
    assert engine.quoter.look > 9
    engine.skip(engine.quoter.look - 9)
    assert engine.quoter.version == 1 or engine.learner.blocks == 1


def test_a_pricers_engine_is_the_one_of_its_policys_folder() -> None:
    assert type(opened(policy="paper", delay=0).engine).__module__ == "hushprice.policies.paper.engine"
    assert type(opened(delay=0).engine).__module__ == "hushprice.policies.newton.engine"
