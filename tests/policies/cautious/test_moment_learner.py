"""A record is in one batch of policy cautious, a batch is released once, and all batches are paid for once."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.policies.cautious.moment_runs import CLAIMED, Silent, learner, rules, wild

from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.noise import System, Tape
from hushprice.policies.cautious.pricing.instruments import SHARES, used_entries
from hushprice.policies.cautious.private.learner import CautiousLearner
from hushprice.policies.cautious.rules import without_noise
from hushprice.privacy.events import NotPrivate
from hushprice.releases import MomentRelease

THETA = np.array([0.3, -0.2, 0.5, 0.1, 0.2, -0.4])


def absorb(made: CautiousLearner, seed: int, count: int = 5) -> None:
    x, z, coins, y, holdout = wild(np.random.default_rng(seed), count, 2)
    made.absorb(x, z, coins, y, THETA, holdout=holdout)


def numbers(release: MomentRelease) -> Any:
    return np.concatenate([release.score, release.descriptions, release.earnings])


def drawn(choice: int, contexts: int = 2) -> Any:
    """Which numbers of a release have noise."""
    size = contexts * 8 + contexts * (contexts - 1) // 2 + 2
    return [*used_entries(contexts, choice), *(2 * (contexts + 1) + np.arange(size))]


@pytest.mark.parametrize("choice", range(len(SHARES)))
@pytest.mark.parametrize("source", [Tape(3, 0), System()])
def test_of_numbers_that_a_choice_leaves_out_a_constant_is_published(source: Any, choice: int) -> None:
    made = learner(source=source, choice=choice)
    absorb(made, 1)
    released = numbers(made.release())
    assert np.all(released[drawn(choice)] != 0.0)
    assert not np.any(np.delete(released, drawn(choice)))


@pytest.mark.parametrize("choice", range(len(SHARES)))
def test_who_is_in_the_holdout_moves_no_score_and_only_its_own_earnings(choice: int) -> None:
    """What the holdout's noise is cheap for: docs/proofs/moments.md, section 4."""
    x, z, coins, y, _ = wild(np.random.default_rng(11), 40, 2)
    apart = np.arange(40) % 3 == 0
    mixed, priced = (
        learner(choice=choice)._contributions(x, z, coins, y, THETA, holdout=each)
        for each in (apart, np.zeros(40, dtype=bool))
    )
    assert not mixed.scores[apart].any()
    assert np.array_equal(mixed.scores[~apart], priced.scores[~apart])
    assert not mixed.earnings[apart, 1].any()
    assert not mixed.earnings[~apart, 0].any()
    assert np.array_equal(mixed.earnings.sum(axis=1), priced.earnings[:, 1])
    assert np.array_equal(mixed.descriptions, priced.descriptions)


def test_noise_for_other_residuals_than_are_taken_is_refused() -> None:
    """Of a file written where they were held more narrowly: what is charged would be less than what a record moves."""
    given = rules()
    for change in ({"least": given.noise.least + 0.01}, {"most": 0.5 * given.noise.most}):
        other = replace(given, noise=replace(given.noise, **change))
        with pytest.raises(InvalidInput, match=r"^rules must have noise for what residuals are taken from"):
            CautiousLearner(rules=other, source=Tape(3, 0), choice=0)


@pytest.mark.parametrize("source", [Tape(3, 0), System()])
def test_asked_again_it_is_the_same_release(source: Any) -> None:
    made = learner(source=source)
    absorb(made, 1)
    assert made.release() is made.release()
    with pytest.raises(BudgetExhausted, match="a record may not enter it"):
        absorb(made, 2)
    with pytest.raises(BudgetExhausted, match="a record may not enter it"):
        made.skip()
    assert made.count == 5


@pytest.mark.parametrize("source", [Silent(), Tape(3, 0)])
def test_a_record_is_in_one_batch_alone(source: Any) -> None:
    """Two worlds that differ in the first batch have the same second one, bit for bit."""
    second = []
    for seed in (1, 2):
        made = learner(source=source)
        absorb(made, seed)
        first = made.release()
        made.begin(2)
        absorb(made, 3)
        second.append(numbers(made.release()))
        assert not np.array_equal(numbers(first), second[-1])
    assert np.array_equal(*second)


def test_a_dropped_batch_is_released_nowhere() -> None:
    made, clean = learner(source=Silent()), learner(source=Silent())
    absorb(made, 1)
    made.jump(8, 1)
    clean.jump(8, 1)
    for each in (made, clean):
        absorb(each, 2)
    assert np.array_equal(numbers(made.release()), numbers(clean.release()))
    assert made.count == 13


@pytest.mark.parametrize("source", [Tape(3, 0), System()])
def test_every_batch_has_noise_of_its_own(source: Any) -> None:
    made, released = learner(source=source), []
    for _ in range(3):
        made.skip()
        released.append(numbers(made.release()))
        made.begin(1)
    noise = np.array(released)[:, drawn(1)]
    assert np.all(np.abs(np.diff(noise, axis=0)) > 0.0)
    assert np.all(np.abs(noise[0] - noise[2]) > 0.0)


def test_batches_begin_and_end_in_turn() -> None:
    made = learner()
    with pytest.raises(InvalidInput, match=r"^a batch without a slot has nothing to release$"):
        made.release()
    absorb(made, 1)
    with pytest.raises(InvalidInput, match=r"^a batch begins when the last one was released$"):
        made.begin(1)
    made.release()
    made.begin(0)
    with pytest.raises(InvalidInput, match=r"^a batch without a slot has nothing to release$"):
        made.release()
    made.jump(5, 0)
    with pytest.raises(InvalidInput, match=r"^a batch without a slot has nothing to release$"):
        made.release()


@pytest.mark.parametrize("records", [4, -1, math.nan, 7.5])
def test_slots_are_never_counted_back(records: Any) -> None:
    made = learner()
    absorb(made, 1)
    with pytest.raises(InvalidInput, match=r"^records must be a whole number at or above 5, got"):
        made.jump(records, 1)
    with pytest.raises(InvalidInput, match=r"^slots must be a whole number at or above 0, got"):
        made.skip(records if records != 4 else -4)
    assert made.count == 5


@pytest.mark.parametrize("choice", [-1, len(SHARES), 0.0, None, "0"])
def test_an_unknown_choice_is_refused(choice: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^choice must be one of the \d there are, got"):
        learner(choice=choice)
    made = learner()
    made.skip()
    made.release()
    with pytest.raises(InvalidInput, match=r"^choice must be one of the \d there are, got"):
        made.begin(choice)
    with pytest.raises(InvalidInput, match=r"^choice must be one of the \d there are, got"):
        made.jump(9, choice)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("field", ["context", "price", "demand"])
@pytest.mark.parametrize("count", [1, 6])
def test_a_record_that_cannot_be_read_keeps_its_slot_and_adds_nothing(field: str, value: float, count: int) -> None:
    x, z, coins, y, holdout = wild(np.random.default_rng(7), count, 2)
    odd, without = learner(source=Silent()), learner(source=Silent())
    others = np.arange(count) != 0
    without.absorb(x[others], z[others], coins[others], y[others], THETA, holdout=holdout[others])
    without.skip()
    {"context": x[:, 1], "price": z, "demand": y}[field][0] = value
    odd.absorb(x, z, coins, y, THETA, holdout=holdout)
    assert odd.count == without.count == count
    assert np.array_equal(numbers(odd.release()), numbers(without.release()))


def test_arrays_that_do_not_fit_are_refused() -> None:
    given = dict(
        zip(("contexts", "prices", "coins", "demands", "holdout"), wild(np.random.default_rng(7), 4, 2), strict=True)
    )
    given["theta"] = THETA
    for name, value in {
        "contexts": np.zeros((4, 3)),
        "prices": np.zeros(3),
        "coins": np.zeros((4, 1)),
        "demands": np.zeros((4, 1)),
        "holdout": np.zeros(1, dtype=bool),
        "theta": np.zeros(5),
    }.items():
        with pytest.raises(InvalidInput, match=f"^{name} must have"):
            learner().absorb(**given | {name: value})
    for holdout in (np.array([0, 1, 0, 1]), np.ones(4)):  # "not" of 1 is -2, and a record would count twice
        with pytest.raises(InvalidInput, match=r"^holdout must be True or False, got"):
            learner().absorb(**given | {"holdout": holdout})
    with pytest.raises(InvalidInput, match=r"^theta\[0\] must be a finite number"):
        learner().absorb(**given | {"theta": np.full(6, math.nan)})


@pytest.mark.parametrize("source", [Tape(3, 0), System()])
def test_all_batches_are_one_event_and_a_second_is_refused(source: Any) -> None:
    made = learner(source=source)
    assert made.ledger.count(made.event) == 1
    assert made.ledger.remaining(made.event) == 0
    with pytest.raises(BudgetExhausted, match="0 left"):
        made.ledger.spend(made.event)
    with pytest.raises(BudgetExhausted, match="0 left"):
        made.ledger.spend(rules().noise.event(2, live=source.simulated))  # of the other kind of noise
    made.skip()
    assert made.release().event == made.event
    assert made.ledger.epsilon(CLAIMED.delta) <= CLAIMED.epsilon


def test_without_noise_nothing_is_claimed() -> None:
    for source in (Tape(3, 0), System()):
        made = CautiousLearner(rules=without_noise(rules()), source=source, choice=0)
        assert made.event == NotPrivate()
        assert made.ledger.claimed is None
        assert made.ledger.epsilon(1e-6) == math.inf
        made.skip()
        assert not np.any(numbers(made.release()))


def test_a_source_without_normals_is_refused() -> None:
    source: Any = SimpleNamespace(simulated=True, label="bare")
    with pytest.raises(InvalidInput, match=r"^source 'bare' gives no normals"):
        learner(source=source)


def test_a_learner_shows_no_record() -> None:
    assert repr(learner()) == "CautiousLearner(<sensitive>)"
