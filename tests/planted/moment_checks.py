"""What must hold of policy cautious: each sum keeps to its share of what is charged, and runs show no more."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from hushprice.noise import Tape
from hushprice.policies.cautious.noise import calibrate
from hushprice.policies.cautious.private.learner import CautiousLearner
from hushprice.policies.cautious.rules import CautiousRules
from hushprice.privacy import accountant, customers, sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.loss import Loss
from hushprice.research.audits.moments import audit_moments, rules_of
from hushprice.research.audits.release_runs import MomentWatch, judge_releases


@contextmanager
def _rules(epsilon: float = 1.0) -> Iterator[CautiousRules]:
    """A planted accountant must be asked, and not be remembered."""
    calibrate.cache_clear()
    try:
        yield rules_of(horizon=200, epsilon=epsilon, delta=1e-6)
    finally:
        calibrate.cache_clear()


def sums_keep_to_what_is_charged() -> None:
    """Two batches, neighbours at all corners and far out of bounds; exact, no chance is involved."""
    with _rules() as rules:
        for found in audit_moments(rules, live=False):
            assert found.holds, found


def all_earnings_have_the_noise_that_is_charged() -> None:
    """Nobody came, so a release is noise alone: its mean size is its scale, within a tenth; seeded."""
    with _rules() as rules:
        learner = CautiousLearner(rules=rules, source=Tape(4, 0), choice=0)
        event, drawn = rules.noise.event(rules.model.contexts, live=False), []
        for _ in range(2000):
            learner.begin(0)
            learner.skip()
            drawn.append(np.abs(learner.release().earnings))
    holdout, others = np.mean(drawn, axis=0)
    assert event.holdout_scale is not None
    assert 0.9 < holdout / event.holdout_scale < 1.1
    assert 0.9 < others / event.earnings_scale < 1.1


def live_sums_keep_to_what_is_charged() -> None:
    """The same in whole numbers."""
    with _rules() as rules:
        for found in audit_moments(rules, live=True):
            assert found.holds, found


def sides_move_by_no_more_than_is_said() -> None:
    """All corners, attributes alike or opposite, whatever the weights; exact."""
    random = np.random.default_rng(2)
    for _ in range(50):
        least, most = sorted(random.uniform(size=2))
        common, personal = random.uniform(size=2)
        ends = (least - 1.0, most)
        found = max(
            abs(r - q) * common + abs(r - sign * q) * personal
            for r, q, sign in itertools.product(ends, ends, (-1.0, 1.0))
        )
        said = sensitivity.of_sides(least, most, (common, personal), Adjacency.REPLACE_ONE)
        assert found <= said * (1.0 + 1e-12)


def bounded_losses_are_charged() -> None:
    """An epsilon at delta 0 adds up: over releases, over a customer's records, over histories and products."""
    one = Loss(pure=0.4, mu_squared=1e-4)
    assert accountant.epsilon_of(one, 1e-6) > 0.4
    assert customers.guarantee_of([(one, 3)], 1e-6).epsilon > 1.2
    assert customers.guarantee_of([(one, 3), (one, 1)], 1e-6).epsilon > 1.6
    assert accountant.epsilon_of(customers.in_histories(one, 2), 1e-6) > 0.8


def moment_releases_keep_to_what_is_proven() -> None:
    """Runs with the tape's noise: a fault of a fifth is found. Sound noise is refuted once in a hundred; seeded."""
    with _rules(epsilon=2.0) as rules:
        watch = MomentWatch(rules=rules, horizon=200, seed=1, runs=2500)
        found = judge_releases(watch, *watch.run(), confidence=0.99, audits=1)
    assert not found.refuted, found.seen
    assert (found.share or 0.0) > 0.6


def every_batch_has_noise_of_its_own() -> None:
    """Batches without a record, in simulation, where noise goes by slots."""
    with _rules() as rules:
        learner, released = CautiousLearner(rules=rules, source=Tape(1, 0), choice=2), []
        for _ in range(2):
            learner.skip()
            released.append(learner.release().score)
            learner.begin(2)
    assert np.all(released[0] != released[1])


def what_a_record_adds_it_adds_alone() -> None:
    """Bit for bit, however many come with it."""
    random = np.random.default_rng(3)
    with _rules() as rules:
        learner = CautiousLearner(rules=rules, source=Tape(1, 0), choice=2)
        for count in (2, 3, 5, 8, 9, 30):
            x, z, theta = random.uniform(-1.0, 1.0, size=(count, 2)), random.uniform(size=count), random.normal(size=6)
            given = x, z, np.ones(count), np.zeros(count)
            together = learner._contributions(*given, theta, holdout=np.zeros(count, dtype=bool))
            for n in range(count):
                one = learner._contributions(
                    *(each[n : n + 1] for each in given), theta, holdout=np.zeros(1, dtype=bool)
                )
                assert all(np.array_equal(part[n], row[0]) for part, row in zip(together, one, strict=True))


def unreadable_records_keep_their_slots() -> None:
    with _rules() as rules:
        learner = CautiousLearner(rules=rules, source=Tape(1, 0), choice=2)
        learner.absorb(np.zeros((2, 2)), np.zeros(2), np.ones(2), np.array([1.0, math.nan]), np.zeros(6))
    assert learner.count == 2
