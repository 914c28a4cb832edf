"""Two aggregators: together they publish the batch's sums with both their noises, and one alone says nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.policies.cautious.test_reports import AGGREGATED, CENTRAL, rules_of

from hushprice.errors import InvalidInput
from hushprice.noise import System
from hushprice.policies.cautious.pricing.question import grids_of, question_of
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.policies.cautious.private.aggregator import Aggregator, joined, scales_of
from hushprice.trust import shares
from hushprice.trust.question import Record, contribution

QUOTER = CautiousQuoter(rules_of(AGGREGATED))
EVENT: Any = QUOTER.rules.event(live=True)
CHOICE = QUOTER.rule.choice
SIZE = len(scales_of(EVENT, CHOICE))


class Silent(System):
    """No noise at all."""

    def integers(self, scale: float, count: int) -> list[int]:
        return [0] * count

    def laplace_integers(self, scale: float, count: int) -> list[int]:
        return [0] * count


def pair(source: System | None = None) -> tuple[Aggregator, Aggregator]:
    first, second = (Aggregator(event=EVENT, source=source or System()) for _ in range(2))
    return first, second


def test_without_noise_they_publish_the_sums_of_who_reached_both() -> None:
    rng, question, grids = np.random.default_rng(2), question_of(QUOTER), grids_of(QUOTER)
    first, second = pair(Silent())
    exact = np.zeros(SIZE)
    for n in range(30):
        record = Record(rng.uniform(-1, 1, 2).tolist(), float(rng.choice([-1.0, 1.0])), 0.1, float(n % 3 == 0))
        one, other = shares.split(shares.numbers(question, grids, record))
        first.receive(f"{n}", one)
        if n != 7:  # whose second share was lost
            second.receive(f"{n}", other)
            exact += np.concatenate(contribution(question, record))
    agreed = first.received & second.received
    assert len(agreed) == 29
    found = joined(EVENT, CHOICE, first.publish(CHOICE, agreed), second.publish(CHOICE, agreed))
    scales = np.array(scales_of(EVENT, CHOICE))
    np.testing.assert_allclose(found, np.where(scales > 0.0, exact, 0.0), atol=30 * 2.0**-26)
    assert first.received == second.received == frozenset()


def test_each_adds_all_of_the_noise() -> None:
    """Variances of 300 batches: each is that of one aggregator alone, both twice; 5 standard errors, 6e-7 a number."""
    scales = np.array(scales_of(EVENT, CHOICE))
    laplace = np.r_[np.arange(2 * (EVENT.contexts + 1)), SIZE - 2, SIZE - 1]
    variance = scales**2 * np.where(np.isin(np.arange(SIZE), laplace), 2.0, 1.0)
    both, alone = np.zeros((300, SIZE)), np.zeros((300, SIZE))
    for n in range(300):
        told = [each.publish(CHOICE, ()) for each in pair()]
        both[n] = joined(EVENT, CHOICE, *told)
        alone[n] = joined(EVENT, CHOICE, told[0], [0] * SIZE)
    used = scales > 0.0
    for seen, times in ((both, 2.0), (alone, 1.0)):
        ratio = (seen[:, used] ** 2).mean(axis=0) / (times * variance[used])
        assert np.abs(ratio - 1.0).max() < 5.0 * math.sqrt(5.0 / 300)  # a Laplace number's fourth moment is 6
        assert abs(float(ratio.mean()) - 1.0) < 0.2  # half or twice the noise would be seen
    assert not both[:, ~used].any()


def test_a_report_is_in_one_batch_once() -> None:
    first, _ = pair(Silent())
    share = [1] * SIZE
    first.receive("a", share)
    with pytest.raises(InvalidInput, match="report must be a new one, got 'a' again"):
        first.receive("a", share)
    with pytest.raises(InvalidInput, match="agreed must be reports that were received, got 'b'"):
        first.publish(CHOICE, ["a", "b"])
    assert first.publish(CHOICE, ["a", "a"])[0] == 1
    with pytest.raises(InvalidInput, match="again"):  # nor in a later one
        first.receive("a", share)
    first.receive("b", share)
    assert first.publish(CHOICE, [])[0] == 0
    with pytest.raises(InvalidInput, match="again"):  # one that was dropped is over, too
        first.receive("b", share)


@pytest.mark.parametrize("share", [[1], [0] * (SIZE - 1) + [2**64], [-1] * SIZE, [0.5] * SIZE])
def test_what_is_no_share_is_refused(share: list[Any]) -> None:
    with pytest.raises(InvalidInput, match=f"share must be {SIZE} whole numbers of 64 bits"):
        pair()[0].receive("a", share)


def test_only_aggregated_batches_with_live_noise_are_aggregated() -> None:
    for event in (rules_of(CENTRAL).event(live=True), rules_of(AGGREGATED).event(live=False)):
        with pytest.raises(InvalidInput, match="aggregated batches with live noise"):
            Aggregator(event=event, source=System())  # type: ignore[arg-type]


def test_nothing_sensitive_is_printed() -> None:
    first, _ = pair()
    first.receive("a", [3] * SIZE)
    assert repr(first) == "Aggregator(<sensitive>)"
