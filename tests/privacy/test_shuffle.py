"""What shuffling adds: never below what small cases have exactly, and below the published closed form."""

from __future__ import annotations

import decimal
import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from hushprice.errors import InvalidInput
from hushprice.privacy import accountant, shuffle
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import ShuffledBits
from hushprice.privacy.loss import loss_of


def heads(keep: float, ones: int, others: int) -> np.ndarray:
    """The law of the number of true answers, of `others` records of which `ones` hold 1: nothing else is left."""
    law = np.ones(1)
    for number in range(others):
        chance = keep if number < ones else 1.0 - keep
        law = np.convolve(law, [1.0 - chance, chance])
    return law


def apart(first: np.ndarray, second: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum())


@pytest.mark.parametrize("keep", [0.55, 0.75, 0.95])
@pytest.mark.parametrize("among", [1, 2, 7, 40])
def test_one_bit_is_never_more_than_the_bound_says(keep: float, among: int) -> None:
    """Exactly, by the count of true answers, whatever the others hold: and the bound is not twice too large."""
    for epsilon in (0.0, 0.2, 0.7, 1.5):
        worst = 0.0
        for ones in range(among):
            rest = heads(keep, ones, among - 1)
            first, second = np.convolve(rest, [1.0 - keep, keep]), np.convolve(rest, [keep, 1.0 - keep])
            worst = max(worst, apart(first, second, epsilon), apart(second, first, epsilon))
        bound = shuffle.delta_of(keep, among, epsilon)
        assert worst <= bound
        if worst > 1e-6:
            assert bound <= 2.0 * worst


def seen(chances: list[list[float]], shares: list[float]) -> Counter[tuple[int, ...]]:
    """The law of what a shuffler hands over, exactly: each record's chance of a true answer about each number."""
    law: Counter[tuple[int, ...]] = Counter({(0,) * (2 * len(shares)): 1.0})  # type: ignore[dict-item]
    for record in chances:
        after: Counter[tuple[int, ...]] = Counter()
        for counts, mass in law.items():
            for about, up in itertools.product(range(len(shares)), (0, 1)):
                more = list(counts)
                more[2 * about + up] += 1
                after[tuple(more)] += mass * shares[about] * (record[about] if up else 1.0 - record[about])  # type: ignore[assignment]
        law = after
    return law


def test_bits_about_several_numbers_hide_among_all_of_their_side() -> None:
    """The bound is for one number asked of everybody: with several it is no less, whatever the records hold."""
    keep, shares, rng = 0.8, [0.5, 0.25, 0.25], np.random.default_rng(4)
    corners = list(itertools.product((keep, 1.0 - keep), repeat=3))
    pairs = [(corners[0], corners[-1]), (corners[0], corners[3]), (corners[2], corners[5])]
    pairs += [tuple(rng.uniform(1.0 - keep, keep, (2, 3)).tolist()) for _ in range(3)]
    worst = 0.0
    for first, second in pairs:
        for rest in ([list(corners[0])] * 4, [list(corners[0]), list(corners[-1])] * 2):
            one, other = seen([*rest, list(first)], shares), seen([*rest, list(second)], shares)
            for epsilon in (0.0, 0.4):
                found = sum(max(mass - math.exp(epsilon) * other[counts], 0.0) for counts, mass in one.items())
                assert found <= shuffle.delta_of(keep, 5, epsilon)
                worst = max(worst, found / shuffle.delta_of(keep, 5, epsilon))
    assert worst > 0.6  # not because the bound is far away


@pytest.mark.parametrize(("own", "among", "delta"), [(1.0, 10_000, 1e-6), (2.0, 100_000, 1e-9), (0.5, 3000, 1e-6)])
def test_it_is_below_the_published_closed_form(own: float, among: int, delta: float) -> None:
    """Feldman, McMillan and Talwar 2021, theorem 3.1, where its condition holds."""
    assert own <= math.log(among / (16.0 * math.log(2.0 / delta)))
    root = 8.0 * math.sqrt(math.exp(own) * math.log(4.0 / delta) / among) + 8.0 * math.exp(own) / among
    published = math.log1p(math.tanh(0.5 * own) * root)
    keep = 1.0 / (1.0 + math.exp(-own))
    assert published / 20.0 < shuffle.epsilon_of(keep, among, delta) < published


@pytest.mark.parametrize("among", [1, 50, 5000, 2_000_000, 10**9])
def test_keep_is_what_epsilon_allows_and_nearly_no_less(among: int) -> None:
    for epsilon in (0.3, 1.0, 4.0):
        keep = shuffle.keep_of(epsilon, 1e-9, among)
        assert 0.5 <= keep < 1.0
        found = shuffle.epsilon_of(keep, among, 1e-9)
        assert 0.99 * epsilon <= found <= epsilon * (1.0 + 1e-7) or keep == 1.0 - 2.0**-30
    assert shuffle.keep_of(30.0, 1e-3, 1000) == 1.0 - 2.0**-30


def test_more_reports_hide_better_and_epsilon_goes_down_with_delta() -> None:
    found = [shuffle.epsilon_of(0.9, among, 1e-9) for among in (1, 10, 100, 1000, 10_000)]
    assert found == sorted(found, reverse=True)
    assert found[0] == math.log(9.0) == shuffle.epsilon_of(0.9, 2, 1e-30)
    assert shuffle.epsilon_of(0.5, 7, 1e-9) == shuffle.epsilon_of(0.51, 10_000_000, 0.4) == 0.0
    assert shuffle.epsilon_of(0.9, 1000, 1e-12) > shuffle.epsilon_of(0.9, 1000, 1e-6)


def test_an_event_is_charged_at_the_step_that_tells_most() -> None:
    steps = ((500, 0.9), (5000, 0.9), (50_000, 0.99))
    worst = max(shuffle.epsilon_of(keep, among, 1e-9) for among, keep in steps)
    for adjacency in Adjacency:
        loss = loss_of(ShuffledBits(steps=steps, delta=1e-9), 2, adjacency)
        assert loss.epsilon == pytest.approx(2.0 * worst)
        assert loss.epsilon >= 2.0 * worst
        assert loss.delta == 2e-9
    assert worst == shuffle.epsilon_of(0.9, 500, 1e-9)
    assert accountant.epsilon_of(loss, 2.1e-9) == loss.epsilon
    assert accountant.epsilon_of(loss, 2e-9) == math.inf  # nothing is left for what else there may be


@pytest.mark.parametrize("wrong", [{"steps": ()}, {"steps": ((0, 0.9),)}, {"steps": ((5, 1.0),)}, {"delta": 0.0}])
def test_an_event_that_is_none_is_refused(wrong: dict[str, object]) -> None:
    given: dict[str, object] = {"steps": ((5, 0.9),), "delta": 1e-9, **wrong}
    with pytest.raises(InvalidInput):
        ShuffledBits(**given)  # type: ignore[arg-type]


def test_an_epsilon_out_of_reach_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffle, "brentq", lambda *given, **more: math.log(1e-6))  # a root that is none
    with pytest.raises(InvalidInput, match="no bound"):
        shuffle.keep_of(0.123, 1e-9, 50)


@pytest.mark.parametrize(("keep", "among", "least"), [(0.9, 5000, 1e-6), (0.999, 100_000, 1e-9), (0.6, 3000, 1e-12)])
def test_numbers_of_coins_that_are_left_out_are_charged_whole(keep: float, among: int, least: float) -> None:
    """Their probability by another library; and the bound is no less than it where nothing else is left of it."""
    coins, mass, lost = shuffle._coins(keep, among, math.log(least) - 30.0)
    law = stats.binom(among - 1, 2.0 * (1.0 - keep))
    outside = law.cdf(coins[0] - 1.0) + law.sf(coins[-1])
    assert 0.0 < outside <= lost == pytest.approx(2.0 * least * math.exp(-30.0))
    assert mass == pytest.approx(law.pmf(coins), rel=1e-6)
    assert shuffle.delta_of(keep, among, math.log(keep / (1.0 - keep)) * 0.99, least) >= lost


@pytest.mark.parametrize(("keep", "among", "epsilon"), [(0.75, 300, 0.2), (0.9, 60, 0.3), (0.97, 200, 1.0)])
def test_rounding_errs_upwards_in_both_parts_of_a_difference(keep: float, among: int, epsilon: float) -> None:
    """To 50 digits: the bound, by as much as floats may be off in what is left, and in the larger of two parts."""
    with decimal.localcontext(prec=50):
        kept, times = decimal.Decimal(keep), decimal.Decimal(epsilon).exp()
        turned, left, first = 1 - kept, decimal.Decimal(0), decimal.Decimal(0)
        for coins in range(among):
            weight = math.comb(among - 1, coins) * (2 * turned) ** coins * (1 - 2 * turned) ** (among - 1 - coins)
            heads = [decimal.Decimal(math.comb(coins, a)) / 2**coins for a in range(coins + 1)]
            at_least = [*reversed([*itertools.accumulate(reversed(heads))]), decimal.Decimal(0)]
            more = [decimal.Decimal(1), *at_least]  # at least a - 1 heads, for a from 0 on
            made = [(kept * m + turned * n, turned * m + kept * n) for m, n in zip(more, at_least, strict=False)]
            one, other = max(made, key=lambda both: both[0] - times * both[1])
            if one > times * other:
                left, first = left + weight * (one - times * other), first + weight * one
        found = decimal.Decimal(shuffle.delta_of(keep, among, epsilon))
        raised = [
            (decimal.Decimal(one), decimal.Decimal(two)) for one, two in (("0.99e-6", "0.9e-9"), ("1.01e-6", "1.1e-9"))
        ]
        least, most = (left * (1 + one) + first * two for one, two in raised)
        assert first > 3 * left
        assert least <= found <= most


def test_a_bound_that_forgets_the_record_itself_is_caught() -> None:
    """The other direction: one fair coin too many would be believed below what two records have exactly."""
    keep, among, epsilon = 0.75, 2, 0.2
    rest = heads(keep, 0, among - 1)
    exact = apart(np.convolve(rest, [1 - keep, keep]), np.convolve(rest, [keep, 1 - keep]), epsilon)
    assert shuffle.delta_of(keep, among + 3, epsilon) < exact <= shuffle.delta_of(keep, among, epsilon)
