"""What a device computes is what the policy does, a report says as much as it should, and shares add up."""

from __future__ import annotations

import decimal
import itertools
import math
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hushprice.errors import InvalidInput
from hushprice.noise import Tape
from hushprice.policies.cautious.pricing.belief import Rule
from hushprice.policies.cautious.pricing.population import described
from hushprice.policies.cautious.pricing.question import question_of
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.policies.cautious.pricing.shop_model import model_of
from hushprice.policies.cautious.private.learner import CautiousLearner
from hushprice.policies.cautious.rules import CautiousRules, cautious
from hushprice.privacy.budget import EpsilonDelta
from hushprice.product import Product
from hushprice.trust import bits, question, shares
from hushprice.trust.bits import Bit, answer, keep_of
from hushprice.trust.question import Question, Record, best_price, contribution


def rules_of(contexts: int, step: float | None = None) -> CautiousRules:
    product = Product(
        floor=20.0, ceiling=30.0, reference_price=25.0, unit_cost=8.0, conversion=0.2, contexts=contexts, step=step
    )
    return cautious(EpsilonDelta(1.0, 1e-9), model=model_of(product), risk=0.02, horizon=10_000)


RULES = {"half way": (0.5, 0.0), "own prices": (1.0, 0.0), "one price": (0.0, -0.3), "the ceiling": (0.0, 0.9)}


@pytest.mark.parametrize("where", RULES)
@pytest.mark.parametrize(("contexts", "choice", "step"), [(0, 0, None), (1, 1, None), (3, 2, 0.5), (4, 3, None)])
def test_a_device_prices_and_adds_what_the_policy_does(
    contexts: int, choice: int, step: float | None, where: str
) -> None:
    rng, rules = np.random.default_rng(contexts), rules_of(contexts, step)
    theta = rng.normal(size=rules.model.size)
    (move, offset), spread = RULES[where], rules.model.fitting(0.2)
    rule = Rule(count=100, move=move, spread=spread, choice=choice, offset=offset)
    quoter = CautiousQuoter(rules, rule)
    object.__setattr__(quoter.belief, "theta", theta)
    learner = CautiousLearner(rules=rules, source=Tape(1, 0), choice=choice)
    asked = question_of(quoter)
    x, y = rng.uniform(-1.2, 1.2, (50, contexts)), rng.uniform(-0.1, 1.1, 50)
    coins, apart = rng.choice([-1.0, 1.0], 50), rng.random(50) < 0.3
    prices = quoter.relative_prices(np.clip(x, -1.0, 1.0), coins)
    rows = learner._contributions(x, prices, coins, y, theta, holdout=apart)
    for i in range(50):
        assert asked.price(x[i].tolist(), coins[i]) == pytest.approx(prices[i], abs=1e-12)
        record = Record(x[i].tolist(), coins[i], float(prices[i]), y[i], bool(apart[i]))
        given = contribution(asked, record)
        for mine, theirs in zip(given, rows, strict=True):
            assert mine == pytest.approx(theirs[i].tolist(), abs=1e-12)
    assert question.described(x[0].tolist()) == pytest.approx(described(x[:1])[0].tolist(), abs=1e-12)


def test_the_best_price_is_where_earnings_are_largest() -> None:
    for level, response, margin in itertools.product((-6.0, 0.0, 5.0, 400.0), (0.5, 3.0), (0.8, 4.0)):
        found = best_price(level, response, margin=margin, lowest=-1.0, highest=1.0)
        around = [min(max(found + off, -1.0), 1.0) for off in (-1e-3, 0.0, 1e-3)]
        earned = [(margin + z) * question.chance(level - response * z) for z in around]
        assert earned[1] >= max(earned) - 1e-12
    assert best_price(0.0, 0.0, margin=1.0, lowest=-1.0, highest=0.7) == 0.7
    assert question.chance(-800.0) == pytest.approx(0.0)


def test_what_cannot_be_read_adds_nothing() -> None:
    rules = rules_of(2)
    asked = question_of(CautiousQuoter(rules, Rule(count=1, move=0.0, spread=0.1, choice=1)))
    for record in (Record([math.nan, 0.0], 1.0, 0.0, 1.0), Record([0.0, 0.0], 1.0, 0.0, math.inf)):
        assert not any(itertools.chain(*contribution(asked, record)))
    assert asked.read([math.nan, 3.0]) == (0.0, 1.0)


SOUND: dict[str, Any] = {"theta": (0.0, 0.0), "margin": 2.0, "level": 0.0, "response": 1.0}


@pytest.mark.parametrize(
    "wrong", [{"theta": (0.0,)}, {"level": math.nan}, {"contexts": -1, "theta": ()}, {"share": 1.0}, {"least": 2.0}]
)
def test_a_question_that_is_none_is_refused(wrong: dict[str, Any]) -> None:
    Question(**{"contexts": 0, "lowest": -1.0, "highest": 1.0, **SOUND})
    with pytest.raises(InvalidInput):
        Question(**{"contexts": 0, "lowest": -1.0, "highest": 1.0, **SOUND, **wrong})


def tape_of(numbers: list[int]) -> Callable[[int], int]:
    """Random bits that are given: the draws of a device one after the other."""
    left = iter(numbers)
    return lambda count: next(left)


def asked_of(contexts: int, share: float = 0.0) -> Question:
    return Question(
        contexts=contexts,
        theta=(0.0,) * (2 * contexts + 2),
        margin=2.0,
        level=-1.0,
        response=1.0,
        lowest=-1.0,
        highest=1.0,
        spread=0.2,
        share=share,
    )


def test_no_answer_is_likelier_than_epsilon_allows() -> None:
    """Every probability exactly, by the two thresholds that a device's draws are compared with."""
    keep, epsilon = keep_of(1.0), 1.0
    assert math.log(keep / (1.0 - keep)) <= epsilon + 1e-15
    chances = []
    asked = asked_of(0)
    for demand in (0.0, 0.3, 1.0, math.nan, 7.0):
        up = [answer(asked, keep, Record((), 1.0, 0.0, demand), tape_of([first, 0])).up for first in (0, 2**53 - 1)]
        turned = answer(asked, keep, Record((), 1.0, 0.0, demand), tape_of([0, 2**53 - 1])).up
        assert turned != up[0]
        chances.append(up)
    assert [True, True] in chances  # nobody who does not buy is told from certainty: r = high
    assert [False, False] in chances  # r = low: the lowest draw is not below 0


def test_a_bit_is_kept_no_more_often_than_epsilon_allows() -> None:
    """To 60 digits: the largest probability is not on a float's grid, and a float's exponential is off by its own."""
    draw = random.Random(11)
    with decimal.localcontext(prec=60):
        for _ in range(2000):
            epsilon = draw.choice([draw.uniform(0.0, 2.0), draw.uniform(2.0, 30.0), 10.0 ** draw.uniform(-9.0, 1.4)])
            keep = decimal.Decimal(keep_of(epsilon))
            largest = 1 / (1 + (-decimal.Decimal(epsilon)).exp())
            assert keep <= largest
            assert keep >= min(largest, decimal.Decimal("0.5")) - 6 * decimal.Decimal(2) ** -53
            assert keep % decimal.Decimal(2) ** -53 == 0


def test_bits_have_the_mean_that_the_learner_takes_back() -> None:
    draw, keep = random.Random(5).getrandbits, keep_of(2.0)
    asked, record = asked_of(2, share=0.5), Record([0.8, -0.5], -1.0, 0.0, 1.0)
    seen = Counter(answer(asked, keep, record, draw) for _ in range(20_000))
    away = asked.believed(record.context, asked.price(record.context, -1.0)) - 1.0
    truth = {0: away, 1: 0.8 / 1.3 * away, 2: -0.5 / 1.3 * away}
    for index, value in truth.items():
        low, high = bits.bounds(asked, -1.0, index)
        told = {up: seen[Bit(1, index, up)] for up in (True, False)}
        count = sum(told.values())
        assert count == pytest.approx(20_000 * (0.5 if index == 0 else 0.25), rel=0.06)
        sign = (told[True] - told[False]) / count / (2.0 * keep - 1.0)
        mean = 0.5 * (low + high) + 0.5 * (high - low) * sign
        error = 0.5 * (high - low) / (2.0 * keep - 1.0) / math.sqrt(count)
        assert abs(mean - value * (bits.scale(2) if index else 1.0)) < 5.0 * error  # 6e-7, three times


def test_a_bit_that_is_kept_too_often_is_caught() -> None:
    """The other direction of the test above: a device that forgets to turn bits over."""
    draw, asked = random.Random(6).getrandbits, asked_of(0)
    sent = sum(answer(asked, 1.0 - 2.0**-53, Record((), 1.0, 0.0, 1.0), draw).up for _ in range(4000))
    honest = sum(answer(asked, keep_of(1.0), Record((), 1.0, 0.0, 1.0), draw).up for _ in range(4000))
    assert sent == 0
    assert abs(honest - 4000 / (1.0 + math.e)) < 6.0 * 28.1


def test_an_odd_number_of_attributes_is_drawn_evenly() -> None:
    draw = tape_of([0, 3, 1, 0, 0])  # asked about attributes; 3 is none of three; the second is
    assert answer(asked_of(3, 0.5), 0.75, Record([0.1, 0.2, 0.3], 1.0, 0.0, 0.0), draw).about == 2


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, math.inf])
def test_an_epsilon_that_is_none_is_refused(wrong: float) -> None:
    with pytest.raises(InvalidInput, match="epsilon"):
        keep_of(wrong)
    with pytest.raises(InvalidInput, match="keep"):
        answer(asked_of(0), wrong, Record((), 1.0, 0.0, 0.0))


GRIDS = shares.Grids(common=31, personal=30, description=28, holdout=29, earnings=27)


def test_shares_add_up_and_either_alone_is_uniform() -> None:
    rng, asked = np.random.default_rng(3), asked_of(2, share=0.25)
    size = len(shares.numbers(asked, GRIDS, Record([0.0, 0.0], 1.0, 0.0, 0.0)))
    first, second, whole = [0] * size, [0] * size, [0] * size
    for _ in range(40):
        record = Record(rng.uniform(-1, 1, 2).tolist(), float(rng.choice([-1.0, 1.0])), 0.1, 1.0, rng.random() < 0.2)
        added = shares.numbers(asked, GRIDS, record)
        one, other = shares.split(added)
        first, second = shares.added(first, one), shares.added(second, other)
        whole = [total + value for total, value in zip(whole, added, strict=True)]
    assert shares.joined(first, second) == whole
    assert min(whole) < 0 < max(whole)
    both = Counter(shares.split([value], lambda count: 5)[0][0] for value in (0, 1, -(2**40)))
    assert both == {5: 3}  # the first share is the draw itself, whatever the number
    seconds = {shares.split([7], lambda count, at=at: at << 56)[1][0] >> 56 for at in range(256)}
    assert len(seconds) == 256  # and the second takes every value once


def test_a_grid_too_fine_for_64_bits_is_refused() -> None:
    with pytest.raises(InvalidInput, match="binary places"):
        shares.Grids(common=41, personal=30, description=28, holdout=29, earnings=27)


def test_a_context_of_another_length_is_refused() -> None:
    with pytest.raises(InvalidInput, match="context"):
        asked_of(2).price([0.0], 1.0)


def test_a_device_needs_the_standard_library_alone() -> None:
    names = ("attributes", "bits", "drawn_price", "question", "shares", "till")
    code = f"import sys; from hushprice.trust import {', '.join(names)}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {name for name in loaded if name.split(".")[0] in ("numpy", "scipy", "numba", "msgspec", "opendp")}
    ours = {name for name in loaded if name.startswith("hushprice.")}
    own = {f"hushprice.trust.{name}" for name in names}
    assert ours == {"hushprice.errors", "hushprice.trust"} | own


def test_shares_go_over_safe_ways_alone() -> None:
    safe = ["https://one.example", "http://127.0.0.1:8790", "http://localhost", "http://[::1]:1"]
    unsafe = ["http://one.example", "http://127.0.0.1.example", "ftp://127.0.0.1", "127.0.0.1", "http://["]
    assert [shares.is_safe(url) for url in (*safe, *unsafe)] == [True] * 4 + [False] * 5


@pytest.mark.parametrize("text", ["0", "g" * 16, "A" * 16, "0" * 15 + " ", "0" * 17])
def test_what_are_no_words_is_refused(text: str) -> None:
    assert shares.read(shares.written([0, 2**64 - 1])) == [0, 2**64 - 1]
    with pytest.raises(InvalidInput, match="16 hexadecimal"):
        shares.read(text)
