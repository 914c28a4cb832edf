"""What a device says whatever it is asked: how often, how surely, and that its record decides no refusal."""

from __future__ import annotations

import dataclasses
import math
import random
from typing import Any

import msgspec
import pytest

from hushprice.client.answers import Quote
from hushprice.client.device import Belief, Device, SharingDevice
from hushprice.errors import InvalidInput
from hushprice.trust import shares
from hushprice.trust.bits import keep_of
from hushprice.trust.question import Question, Record, contribution, held
from hushprice.trust.shares import Grids
from hushprice.trust.till import Rungs, Till

TILL = Till(
    reference_price=25.0,
    reach=10.0,
    step=None,
    ending=0.0,
    cheapest=10.0,
    dearest=40.0,
    ceiling=40.0,
    rungs=Rungs(top=4000, low=1000, high=4000, one=100, ladder=None, least=1000, most=4000),
)
ASKED: dict[str, Any] = {
    "contexts": 2,
    "theta": (0.1, 0.8, -0.5, 0.0, 0.3, 0.0),
    "margin": 2.0,
    "level": -0.2,
    "response": 2.0,
    "lowest": -1.0,
    "highest": 1.0,
    "spread": 0.1,
    "share": 0.25,
    "move": 0.8,
}
GRIDS = Grids(common=31, personal=30, description=28, holdout=29, earnings=27)
CONTEXT = [0.9, -0.7]


def belief(keep: float | None = None, **asked: Any) -> Belief:
    return Belief(
        product="tea",
        currency="EUR",
        version=1,
        most=1.0,
        question=Question(**ASKED | asked),
        till=TILL,
        mark="m",
        keep=keep_of(1.0) if keep is None else keep,
        choice=1,
        grids=GRIDS,
    )


def quote(number: int) -> Quote:
    return Quote(product="tea", price=25.0, id=f"{number:032x}", belief="m", coin=1)


@pytest.mark.parametrize("keep", [keep_of(1.0) + 2.0**-53, keep_of(1.1), 1.0 - 2.0**-53, 1.0, math.nan, 0.4, -1.0])
def test_a_device_keeps_no_bit_more_often_than_it_was_told_to(keep: float) -> None:
    device = Device(CONTEXT, epsilon=1.0)
    with pytest.raises(InvalidInput, match="keep must"):
        device.report(belief(keep), quote(1), purchased=True)
    assert device.report(belief(), quote(1), purchased=True) is not None


def test_a_device_gives_one_bit_a_quote_whatever_it_is_asked_again() -> None:
    device = Device(CONTEXT, epsilon=1.0, reports=3)
    first = device.report(belief(), quote(1), purchased=True)
    asked = [belief(share=share) for share in (0.0, 0.5, 0.9)]
    again = {device.report(each, quote(1), purchased=bought) for each in asked for bought in (True, False)}
    assert {first} | {device.report(belief(), quote(1), purchased=False) for _ in range(60)} == again == {first}
    assert [device.report(belief(), quote(n), purchased=True) is None for n in (2, 3, 4)] == [False, False, True]
    assert device.report(belief(), quote(1), purchased=True) == first  # told again, not drawn


def test_a_device_shares_one_record_a_quote_in_the_same_two_shares() -> None:
    device = SharingDevice(CONTEXT, reports=2)
    first = device.report(belief(), quote(1), purchased=True)
    assert all(device.report(belief(), quote(1), purchased=bought) is first for bought in (True, False))
    assert [device.report(belief(), quote(n), purchased=True) is None for n in (2, 3)] == [False, True]


@pytest.mark.parametrize("kind", [Device, SharingDevice])
def test_a_device_draws_a_price_once_a_quote_and_for_as_many_as_it_reports_on(kind: Any) -> None:
    epsilon = {"epsilon": 1.0} if kind is Device else {}
    seen = set()
    for _ in range(40):
        device = kind(CONTEXT, price_epsilon=0.5, reports=2, **epsilon)
        shown = [device.price(belief(spread=0.0), quote(n)) for n in (1, 2, 3, 1, 2, 3, 4)]
        assert shown[3:5] == shown[:2]
        assert shown[2] == shown[5] == shown[6] == 25.0  # no draw is left: the quote's own
        assert device.report(belief(), quote(3), purchased=True) is None
        seen |= set(shown[:2])
    assert len(seen) == 2


LARGE = ["margin", "level", "response", "lowest", "highest", "spread", "move", "offset"]


@pytest.mark.parametrize("field", LARGE)
@pytest.mark.parametrize("value", [1.001e6, -1e300])
def test_numbers_at_which_arithmetic_fails_for_some_are_refused_for_all(field: str, value: float) -> None:
    with pytest.raises(InvalidInput, match="belief must be of numbers up to"):
        belief(**{field: value})
    for wrong in ({"theta": (*ASKED["theta"][:5], value)}, {"step": 1e-7}):
        with pytest.raises(InvalidInput, match="belief must be of numbers up to"):
            belief(**wrong)
    for most in (0.0, -1.0, 1e7, math.nan):
        with pytest.raises(InvalidInput, match="belief must be of numbers up to"):
            Belief(**msgspec.structs.asdict(belief()) | {"most": most})


def _any_number(draw: random.Random, vast: float) -> float:
    odd = [0.0, 1.0, -1.0, 1e6, -1e6, 1e-6, 1e-12, -1e-300, 5e-324, vast, -vast]
    return draw.choice([*odd, draw.uniform(-1.0, 1.0), draw.uniform(-1e6, 1e6)])


def _any_question(draw: random.Random) -> Question:
    contexts = draw.randrange(4)
    vast = draw.choice([1.0, 1.0, 1e300])
    least, most = sorted(draw.choice([0.0, 1.0, draw.random()]) for _ in range(2))
    return Question(
        contexts=contexts,
        theta=tuple(_any_number(draw, vast) for _ in range(2 * contexts + 2)),
        step=draw.choice([0.0, 1e-6, 0.1, 1e300, -1.0]),
        least=least,
        most=most,
        share=draw.choice([0.0, 0.5, 0.999]),
        watching=draw.random() < 0.3,
        **{name: _any_number(draw, vast) for name in LARGE},
    )


def fails_for_some(question: Question, draw: random.Random) -> bool:
    """Does a device that takes this question answer for one customer and fail for another?"""
    try:
        asked = Belief(**msgspec.structs.asdict(belief()) | {"question": question})
    except InvalidInput:
        return False
    k, outcomes = question.contexts, set()
    contexts = [[0.0] * k, [1.0] * k, [-1e308] * k, [math.nan] * k, [draw.uniform(-1.0, 1.0) for _ in range(k)]]
    for context in contexts:
        for demand in (0.0, 1.0, math.inf):
            for price_epsilon in (None, 1.0):
                given = {"price_epsilon": price_epsilon}
                for device in (Device(context, epsilon=1.0, **given), SharingDevice(context, **given)):
                    try:
                        outcomes.add(device.report(asked, quote(1), quantity=demand) is None)
                    except (ArithmeticError, ValueError) as problem:
                        outcomes.add(type(problem))
    return outcomes != {False}


def test_whether_a_device_answers_does_not_depend_on_its_record() -> None:
    """Questions as odd as they come: each is refused for everybody, or answered by everybody."""
    draw = random.Random(3)
    assert not any(fails_for_some(_any_question(draw), draw) for _ in range(150))
    vast = {"theta": (0.0, -1e308, -1e308, 0.0, 1e308, 1e308)}  # both lines infinite, unless attributes are 0
    for wrong in ({"margin": -1.0}, vast, vast | {"step": 0.1}):
        assert not fails_for_some(dataclasses.replace(Question(**ASKED), **wrong), draw)


def test_shares_are_drawn_from_all_of_64_bits() -> None:
    asked: list[int] = []

    def draw(count: int) -> int:
        asked.append(count)
        return random.Random(len(asked)).getrandbits(count)

    first, second = shares.split([3, -1, 0, 2**62] * 500, draw)
    assert asked == [shares.WORD] * 2000
    for given in (first, second):  # each alone: every bit is set half the time, to 5 standard errors
        for place in range(64):
            assert abs(sum(word >> place & 1 for word in given) - 1000) < 5.0 * 22.4
        assert max(given) < 2**64
    assert shares.joined(first, second) == [3, -1, 0, 2**62] * 500


@pytest.mark.parametrize("seed", range(4))
def test_what_a_record_adds_keeps_to_the_bounds_whatever_it_is(seed: int) -> None:
    """docs/proofs/moments.md, sections 2 to 4: sizes along a side, two descriptions, and what was earned."""
    draw, described = random.Random(seed), list[list[float]]()
    for _ in range(300):
        question = dataclasses.replace(
            Question(**ASKED), least=0.1, most=0.4, margin=draw.uniform(-0.2, 2.0), highest=draw.uniform(0.3, 1.0)
        )
        record = Record(
            [draw.choice([-1e9, -1.0, 0.0, 0.4, 1.0]) for _ in range(2)],
            draw.choice([-1.0, 1.0]),
            draw.choice([-1e9, -1.0, 0.0, 1.0, 7.0]),
            draw.choice([-3.0, 0.0, 0.5, 1.0, 1e9]),
            draw.random() < 0.2,
        )
        given = contribution(question, record)
        sides = given.scores[:3], given.scores[3:]
        assert min(sum(map(abs, side)) for side in sides) == 0.0
        for residual, *personal in sides:
            assert -0.9 <= residual <= 0.4
            assert sum(map(abs, personal)) <= abs(residual) * (1.0 + 1e-12)
            assert not (record.holdout and residual)
        assert all(0.0 <= earned <= 1.0 for earned in given.earnings)
        assert given.earnings[0 if not record.holdout else 1] == 0.0
        described.append(given.descriptions)
        assert math.hypot(*given.descriptions) <= 1.0 + 1e-12
        assert sum(map(abs, held(record.context))) <= 1.0 + 1e-12
    assert max(math.dist(one, other) for one in described for other in described[:60]) <= math.sqrt(2.0) + 1e-12
