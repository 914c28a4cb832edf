"""Noisy counts of rows: their loss a second time, and exact audits of small tables in both directions."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from hushprice.errors import InvalidInput
from hushprice.privacy import accountant, sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import RowCounts, grid_of
from hushprice.privacy.ledger import Entry, Ledger, loss_of_all
from hushprice.privacy.loss import Loss, compose, loss_of

REPLACED, ZEROED = Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT
DELTA = 1e-3  # large, so that audits see what it is made of
GRID = np.linspace(-60.0, 60.0, 240_001)


def test_no_person_moves_counts_further_and_one_moves_them_as_far() -> None:
    """Every way to have at most three rows in four cells, against every other."""
    for rows in (1, 2, 3):
        ways = [np.array(way) for way in itertools.product(range(rows + 1), repeat=4) if sum(way) <= rows]
        zeroed = max(float(np.linalg.norm(way)) for way in ways)
        replaced = max(float(np.linalg.norm(a - b)) for a in ways for b in ways)
        assert sensitivity.of_counts(rows, ZEROED) == pytest.approx(zeroed)
        assert sensitivity.of_counts(rows, REPLACED) == pytest.approx(replaced)
    with pytest.raises(InvalidInput, match="adjacency must be an Adjacency"):
        sensitivity.of_counts(1, "replace-one")  # type: ignore[arg-type]


@pytest.mark.parametrize("live", [False, True])
def test_the_loss_a_second_time(live: bool) -> None:
    event = RowCounts(rows=2, noise=50.0, threshold=260.0, live=live)
    loss = loss_of(event, 3, REPLACED)
    assert loss.mu == pytest.approx(math.sqrt(3 * 8 / 2500), rel=1e-9)
    assert loss.failure == pytest.approx(3 * 2 * norm.sf(258.0 / 50.0), rel=1e-6)
    assert loss.coordinates == (12 if live else 0)
    assert loss_of(event, 3, ZEROED).mu == pytest.approx(math.sqrt(3 * 4 / 2500), rel=1e-9)
    plain = loss_of(dataclasses.replace(event, threshold=None), 3, REPLACED)
    assert plain.failure == 0.0
    assert plain.mu_squared == loss.mu_squared
    assert compose([loss, plain]).failure == loss.failure


def test_epsilon_despite_a_failure_is_that_of_the_rest_of_delta_or_none() -> None:
    held = Loss(mu_squared=0.01)
    small = dataclasses.replace(held, failure=1e-12)
    expected = accountant.epsilon_of(held, 0.9e-9)
    assert accountant.epsilon_of(small, 1e-9) == expected
    most = 0.1 * 1e-9 / (1.0 + math.exp(expected))
    assert accountant.epsilon_of(dataclasses.replace(held, failure=0.999 * most), 1e-9) == expected
    for failure in (1.001 * most, 1.0, math.inf, math.nan, -1.0):
        assert accountant.epsilon_of(dataclasses.replace(held, failure=failure), 1e-9) == math.inf
    assert accountant.fits(held, 1.0, 1e-9)
    assert not accountant.fits(small, 1.0, 1e-9)  # no filter is proved for it
    assert accountant.epsilon_of(Loss(unbounded=True, failure=1e-12), 1e-9) == math.inf


def hockey_stick(left: Any, right: Any, epsilon: float) -> float:
    """The exact delta between two laws: parts (density on GRID) and atoms, by what is published."""
    step = GRID[1] - GRID[0]
    total = 0.0
    for key in left.keys() | right.keys():
        a, b = left.get(key, 0.0), right.get(key, 0.0)
        gap = np.maximum(np.asarray(a) - math.exp(epsilon) * np.asarray(b), 0.0)
        total += float(gap.sum() * step) if gap.ndim else float(gap)
    return total


def law(common: int, alone: dict[str, int], event: RowCounts) -> dict[tuple[str, ...], Any]:
    """What is published: one cell of public name, and texts that only one person has, if they pass.

    Of a text that passes the count is left out: what is published with it makes telling worlds apart no easier, since
    the other world never publishes it.
    """
    density = norm.pdf(GRID, common, event.noise)
    if event.threshold is None:
        return {(): density}
    chances = {text: float(norm.sf(event.threshold, count, event.noise)) for text, count in alone.items()}
    found = {}
    for shown in itertools.product((False, True), repeat=len(chances)):
        names = tuple(name for name, is_shown in zip(chances, shown, strict=True) if is_shown)
        weight = math.prod(p if s else 1.0 - p for p, s in zip(chances.values(), shown, strict=True))
        found[names] = density * weight
    return found


TABLES = [  # rows of a person in the common cell and in texts of their own, in either world
    ((1, {}), (0, {})),
    ((1, {}), (0, {"a": 1})),
    ((0, {"a": 1}), (0, {"b": 1})),
    ((3, {}), (0, {"a": 3})),
    ((0, {"a": 1, "b": 1, "c": 1}), (3, {})),
    ((0, {"a": 3}), (0, {"b": 2, "c": 1})),
]


def proven(event: RowCounts) -> float:
    return accountant.epsilon_of(loss_of(event, 1, REPLACED), DELTA)


def audited(event: RowCounts, epsilon: float) -> float:
    """The largest exact delta at epsilon over small tables, both ways round."""
    worst = 0.0
    for one, other in TABLES:
        if max(count + sum(alone.values()) for count, alone in (one, other)) <= event.rows:
            laws = [law(count, alone, event) for count, alone in (one, other)]
            worst = max(worst, hockey_stick(*laws, epsilon), hockey_stick(*laws[::-1], epsilon))
    return worst


def threshold_for(rows: int, noise: float, epsilon: float) -> float:
    """The threshold whose failure just fits its share of delta, by another route than the product's."""
    return rows + noise * float(norm.isf(accountant.FAILED * DELTA / (rows * (1.0 + math.exp(epsilon)))))


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("noise", [1.5, 4.0])
def test_exact_small_tables_never_pass_what_is_proven(rows: int, noise: float) -> None:
    held = accountant.epsilon_of(loss_of(RowCounts(rows=rows, noise=noise), 1, REPLACED), 0.9 * DELTA)
    event = RowCounts(rows=rows, noise=noise, threshold=1.0001 * threshold_for(rows, noise, held))
    epsilon = proven(event)
    assert epsilon == held
    assert audited(event, epsilon) <= DELTA
    plain = dataclasses.replace(event, threshold=None)
    assert audited(plain, proven(plain)) <= DELTA


def test_the_audit_catches_a_threshold_too_low_and_noise_too_small() -> None:
    event = RowCounts(rows=3, noise=4.0, threshold=threshold_for(3, 4.0, 5.0))
    epsilon = accountant.epsilon_of(loss_of(dataclasses.replace(event, threshold=None), 1, REPLACED), 0.9 * DELTA)
    low = dataclasses.replace(event, threshold=3.0 + 4.0 * float(norm.isf(DELTA)) - 3.0)
    assert proven(low) == math.inf  # the accountant does not fall for it either
    assert audited(low, epsilon) > DELTA
    quiet = dataclasses.replace(event, noise=2.0, threshold=None)
    zeroed_only = accountant.epsilon_of(Loss(mu_squared=(3.0 / 4.0) ** 2), DELTA)
    assert audited(quiet, zeroed_only) > DELTA


def test_a_ledger_takes_a_plan_with_a_threshold_and_refuses_one_that_is_too_low() -> None:
    event = RowCounts(rows=1, noise=120.0, threshold=1000.0, live=True)
    plan = (Entry(event, 4), Entry(dataclasses.replace(event, threshold=None), 6))
    epsilon = accountant.epsilon_of(loss_of_all(plan, REPLACED), 1e-9)
    assert 0.1 < epsilon < 1.0
    ledger = Ledger(adjacency=REPLACED, claimed=EpsilonDelta(epsilon, 1e-9), allowance=plan)
    assert ledger.spend(event, 4).remaining(event) == 0
    low = (Entry(dataclasses.replace(event, threshold=500.0), 4),)
    with pytest.raises(InvalidInput, match="claimed must cover the allowance"):
        Ledger(adjacency=REPLACED, claimed=EpsilonDelta(10.0, 1e-9), allowance=low)


def test_live_noise_passes_a_threshold_no_more_often_than_charged() -> None:
    """P(discrete >= m) <= P(real >= m - 1), on the integers (Canonne, Kamath and Steinke 2020, proposition 25)."""
    for scale in (1.0, 3.0, 20.0):
        support = np.arange(-2000, 2001)
        weights = np.exp(-0.5 * (support / scale) ** 2)
        weights /= weights.sum()
        tail = weights[::-1].cumsum()[::-1]
        assert (tail <= norm.sf(support - 1.0, scale=scale) + 1e-15).all()
    event = RowCounts(rows=1, noise=40.0, threshold=200.0, live=True)
    assert loss_of(event, 1, ZEROED).failure >= norm.sf((200.0 - 1.0 - grid_of(40.0)) / 40.0)
