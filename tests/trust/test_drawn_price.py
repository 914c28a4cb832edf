"""A price that is drawn says one bit, turned over as often as it should be, and a device draws it once."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from hushprice.client.answers import Quote
from hushprice.client.device import Belief, Device
from hushprice.errors import InvalidInput
from hushprice.trust.bits import FINE, answer, bounds, keep_of
from hushprice.trust.drawn_price import drawn, middles
from hushprice.trust.question import Question, Record, chance, residual
from hushprice.trust.till import Rungs, Till


def asked_of(contexts: int = 2, step: float = 0.0, spread: float = 0.1) -> Question:
    half = contexts + 1
    theta = (0.1, *(0.8, -0.5, 0.3)[:contexts], *(0.0,) * half)
    given = {"margin": 2.0, "level": -0.2, "response": 2.0, "lowest": -1.0, "highest": 1.0, "move": 0.8}
    return Question(contexts=contexts, theta=theta, step=step, spread=spread, share=0.25, **given)


CONTEXTS = [list(each) for each in itertools.product((-1.0, -0.3, 0.0, 0.4, 1.0), repeat=2)]


@pytest.mark.parametrize("step", [0.0, 0.05, 0.5])
def test_a_price_is_one_of_two_and_no_context_makes_either_likelier_than_epsilon_allows(step: float) -> None:
    """Every probability exactly: the draw is compared with one threshold, below which a price is kept."""
    keep, asked = keep_of(1.0), asked_of(step=step)
    low, high = middles(asked, keep)
    assert (low < high) == (step < 0.5)  # on a coarse ladder the two are one
    edge = int(keep * 2**FINE)
    for context in (*CONTEXTS, [math.nan, 9.0]):
        below, above = (drawn(asked, keep, context, 1.0, lambda count, at=at: at) for at in (edge - 1, edge))  # type: ignore[misc]
        assert {below, above} == {low + asked.spread, high + asked.spread}
    assert math.log(edge / (2**FINE - edge)) <= 1.0 + 1e-15


def test_whose_own_price_is_dear_is_more_often_charged_the_dear_one() -> None:
    keep, asked = keep_of(1.0), asked_of()
    low, high = middles(asked, keep)
    common = asked.middle([0.0, 0.0])
    for context in CONTEXTS:
        kept = drawn(asked, keep, context, -1.0, lambda count: 0) + asked.spread
        assert kept == pytest.approx(high if asked.middle(context) > common else low)
    assert middles(asked_of(0), keep) == (pytest.approx(asked_of(0).middle(())),) * 2


def test_prices_stay_where_the_coin_can_move_them() -> None:
    asked = asked_of(spread=0.9)
    low, high = middles(asked, 1.0 - 2.0**-53)
    assert asked.lowest + 0.9 <= low <= high <= asked.highest - 0.9


def earned(asked: Question, keep: float, contexts: Sequence[Sequence[float]], step: float) -> float:
    """What customers are worth on average where the two prices are a step away from the common one."""
    common, total = asked.middle([0.0, 0.0]), 0.0
    for context in contexts:
        level, response = asked.lines(context)
        sign = 1.0 if asked.middle(context) > common else -1.0
        for price, share in ((common + sign * step, keep), (common - sign * step, 1.0 - keep)):
            total += share * (asked.margin + price) * chance(level - response * price)
    return total / len(contexts)


@pytest.mark.beyond_coverage
def test_the_step_earns_more_than_one_price_and_nearly_what_the_best_step_does() -> None:
    """Customers as it guesses them, at an epsilon of 3 and prices that are believed to be best."""
    base, keep = asked_of(spread=0.0), keep_of(3.0)
    asked = Question(**{name: getattr(base, name) for name in base.__slots__} | {"move": 1.0})
    contexts = np.random.default_rng(1).uniform(-1.0, 1.0, (400, 2)).tolist()
    low, high = middles(asked, keep)
    one, ours = (earned(asked, keep, contexts, step) for step in (0.0, 0.5 * (high - low)))
    best = max(earned(asked, keep, contexts, step) for step in np.linspace(0.0, 0.5, 101))
    assert ours - one > 0.8 * (best - one) > 0.0
    assert earned(asked, 0.5, contexts, 0.5 * (high - low)) < one  # a step that tells nothing costs


def test_a_report_is_about_the_price_that_was_drawn() -> None:
    asked = asked_of()
    low, high = bounds(asked, 1.0, 0)
    for price in (-0.4, 0.4):
        record = Record([0.3, 0.2], 1.0, price, 1.0)
        edge = int((residual(asked, record) - low) / (high - low) * 2**FINE)
        ups = []
        for value in (edge - 1, edge + 1):
            draws = iter([2**FINE - 1, value, 0])  # asked about the residual; rounded; kept
            ups.append(answer(asked, 0.75, record, lambda count, draws=draws: next(draws), priced=True).up)  # type: ignore[misc]
        assert ups == [True, False]


RUNGS = Rungs(top=4000, low=1000, high=4000, one=100, ladder=None, least=1000, most=4000)
TILL = Till(
    reference_price=25.0, reach=10.0, step=None, ending=0.0, cheapest=10.0, dearest=40.0, ceiling=40.0, rungs=RUNGS
)


def belief() -> Belief:
    return Belief(
        product="tea", currency="EUR", version=1, most=1.0, question=asked_of(), till=TILL, mark="m", keep=keep_of(1.0)
    )


def quote(number: int) -> Quote:
    return Quote(product="tea", price=25.0, id=f"{number:032x}", belief="m", coin=1)


def test_a_device_draws_the_price_of_a_quote_once_and_no_more_often_than_it_reports() -> None:
    device = Device([0.9, -0.7], epsilon=1.0, price_epsilon=1e-6, reports=60)
    first = [device.price(belief(), quote(number)) for number in range(60)]
    assert [device.price(belief(), quote(number)) for number in range(60)] == first
    assert len(set(first)) == 1  # at so small an epsilon both prices are the same

    shown = Counter[float]()
    device = Device([0.9, -0.7], epsilon=1.0, price_epsilon=2.0, reports=400)
    for number in range(400):
        price = device.price(belief(), quote(number))
        assert device.price(belief(), quote(number)) == price
        shown[price] += 1
    assert len(shown) == 2
    assert abs(shown[max(shown)] - 400 * keep_of(2.0)) < 6.0 * 6.5  # 2e-9 by chance
    assert device.price(belief(), quote(400)) == 25.0  # no draw is left: the quote's own
    assert device.report(belief(), quote(400), purchased=True) is None
    assert device.report(belief(), quote(3), purchased=True) is not None
    assert len({Device([0.9, -0.7], epsilon=1.0).price(belief(), quote(n)) for n in range(20)}) == 1


@pytest.mark.parametrize("highest", [-2.0, -9.0])
def test_a_belief_at_which_some_customers_devices_fail_is_refused(highest: float) -> None:
    """Where no price earns anything a record that can be read divides by zero, and one that cannot adds nothing."""
    question = dataclasses.replace(asked_of(), highest=highest)
    with pytest.raises(InvalidInput, match="a price that earns something"):
        Belief(**msgspec.structs.asdict(belief()) | {"question": question})
