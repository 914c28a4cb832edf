"""What a batch of policy cautious asks of every customer's device, and what a record adds to its sums.

The same arithmetic as the policy's, a customer at a time in plain Python: pricing/shop_model.py, instruments.py and
population.py of policies/cautious, which tests hold it to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hushprice.errors import InvalidInput

_BINS = 8
_NEAREST = 0.5  # of the entries: the 1-norm up to which a context is taken as it is
_BALL = 0.6  # of the root of the entries: the length up to which products are
_FLAT = 1e-9  # a response below this is none: the highest price is best
_STEPS = 12  # of Newton: the error is squared by each


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """Public numbers, the same for every customer of a batch, settled before its first one.

    Prices are relative: 0 is today's, and so many times the product's reach above it. `theta` is the belief, its first
    half about log-odds, its second about the price response, each of a constant and every entry of a context.
    """

    contexts: int
    theta: tuple[float, ...]
    margin: float
    level: float
    response: float
    lowest: float
    highest: float
    step: float = 0.0
    least: float = 0.0  # a chance to buy is held between these before a purchase is compared with it
    most: float = 1.0
    move: float = 0.0  # share of the way from today's price to the believed best one
    spread: float = 0.0  # a fair coin puts the price so much above or below
    offset: float = 0.0  # and so much for everybody alike, before that
    share: float = 0.0  # of what is asked that is about attributes: a public choice of the batch
    watching: bool = False  # are all on one side, whatever their coin?

    def __post_init__(self) -> None:
        numbers = (*self.theta, self.margin, self.level, self.response, self.lowest, self.highest, self.step)
        numbers += (self.least, self.most, self.move, self.spread, self.offset, self.share)
        if not all(math.isfinite(number) for number in numbers):
            raise InvalidInput(f"a question must be of finite numbers, got {self}")
        if self.contexts < 0 or len(self.theta) != 2 * (self.contexts + 1):
            raise InvalidInput(f"theta must have {2 * (self.contexts + 1)} entries, got {len(self.theta)}")
        if not (0.0 <= self.least <= self.most <= 1.0 and 0.0 <= self.share < 1.0):
            raise InvalidInput(f"least, most and share must be chances, got {self.least}, {self.most}, {self.share}")

    def lines(self, context: Sequence[float]) -> tuple[float, float]:
        """Level and response of the log-odds of a customer."""
        customer, half = (1.0, *self.read(context)), self.contexts + 1
        level = self.level + sum(a * b for a, b in zip(self.theta[:half], customer, strict=True))
        return level, self.response + sum(a * b for a, b in zip(self.theta[half:], customer, strict=True))

    def read(self, context: Sequence[float]) -> tuple[float, ...]:
        """A context held to [-1, 1]; what is no number is 0."""
        if len(context) != self.contexts:
            raise InvalidInput(f"context must have {self.contexts} entries, got {len(context)}")
        return tuple(min(max(float(value), -1.0), 1.0) if math.isfinite(value) else 0.0 for value in context)

    def price(self, context: Sequence[float], coin: float) -> float:
        """The relative price of a customer whose coin is +1 or -1."""
        level, response = self.lines(context)
        best = best_price(level, response, margin=self.margin, lowest=self.lowest, highest=self.highest)
        own, away = self.move > 0.0, self.move * best + self.offset
        inside = 0.0 if own else self.spread  # of the limits: own prices stay where they are
        middle = min(max(away, self.lowest + inside), self.highest - inside)
        fits = min(self.spread, self.highest - middle, middle - self.lowest) if own else self.spread
        dearer, cheaper = middle + fits, middle - fits
        if self.step > 0.0:
            cheaper = self.lowest + self.step * round((cheaper - self.lowest) / self.step)
            on_ladder = self.lowest + self.step * round((dearer - self.lowest) / self.step)
            dearer = on_ladder if own else cheaper + 2.0 * self.spread
        return dearer if coin > 0.0 else cheaper

    def middle(self, context: Sequence[float]) -> float:
        """Between the two relative prices of a customer, before the coin."""
        return 0.5 * (self.price(context, 1.0) + self.price(context, -1.0))

    def believed(self, context: Sequence[float], price: float) -> float:
        """The chance to buy that a purchase is compared with."""
        level, response = self.lines(context)
        return min(max(chance(level - response * price), self.least), self.most)

    def side(self, coin: float) -> int:
        """Which of the two sums of a batch a customer with this coin adds to."""
        return 0 if self.watching or coin > 0.0 else 1


class Record(NamedTuple):
    """What one customer was like, was charged, and did."""

    context: Sequence[float]
    coin: float
    price: float  # relative, as charged
    demand: float  # in [0, 1]
    holdout: bool = False

    @property
    def readable(self) -> bool:
        """Are all of them numbers? Otherwise the record adds nothing."""
        return all(math.isfinite(value) for value in (*self.context, self.price, self.demand))


class Contribution(NamedTuple):
    """What a record adds: two sides of a score, a description, earnings of the holdout and of the others."""

    scores: list[float]
    descriptions: list[float]
    earnings: list[float]


def residual(question: Question, record: Record) -> float:
    """How much more was believed of a customer than came: in [least - 1, most]."""
    if not record.readable or record.holdout:
        return 0.0
    price = min(max(record.price, -1.0), 1.0)
    return question.believed(record.context, price) - min(max(record.demand, 0.0), 1.0)


def contribution(question: Question, record: Record) -> Contribution:
    """What a record adds to the sums of its batch: entries of these sizes are what docs/proofs/moments.md bounds."""
    half = question.contexts + 1
    scores, earnings = [0.0] * (2 * half), [0.0, 0.0]
    if not record.readable:
        return Contribution(scores, [0.0] * _entries(question.contexts), earnings)
    away, at = residual(question, record), half * question.side(record.coin)
    scores[at] = away
    if question.share > 0.0:
        scores[at + 1 : at + half] = [away * value for value in held(question.read(record.context))]
    demand, price = min(max(record.demand, 0.0), 1.0), min(max(record.price, -1.0), 1.0)
    earned = demand * (question.margin + price) / (question.margin + question.highest)
    earnings[0 if record.holdout else 1] = min(max(earned, 0.0), 1.0)
    return Contribution(scores, described(question.read(record.context)), earnings)


def held(context: Sequence[float]) -> list[float]:
    """x / max(|x|, k/2): sizes add up to at most 1."""
    size = max(sum(abs(value) for value in context), _NEAREST * max(len(context), 1))
    return [value / size for value in context]


def described(context: Sequence[float]) -> list[float]:
    """Eight bins of every entry, and products of pairs; two customers differ by at most sqrt(2)."""
    k = len(context)
    bins = [0.0] * (k * _BINS)
    for j, value in enumerate(context):
        bins[j * _BINS + min(max(math.floor((value + 1.0) * (0.5 * _BINS)), 0), _BINS - 1)] = 1.0 / math.sqrt(2.0 * k)
    radius = _BALL * math.sqrt(k)
    shrunk = min(1.0, radius / max(math.sqrt(sum(value * value for value in context)), 1e-12)) if k else 1.0
    x = [value * shrunk for value in context]
    return bins + [x[i] * x[j] / (radius * radius) for i in range(k) for j in range(i + 1, k)]


def _entries(contexts: int) -> int:
    return contexts * _BINS + contexts * (contexts - 1) // 2


def chance(odds: float) -> float:
    """Of log-odds."""
    return 1.0 / (1.0 + math.exp(-odds)) if odds >= 0.0 else math.exp(odds) / (1.0 + math.exp(max(odds, -700.0)))


def best_price(level: float, response: float, *, margin: float, lowest: float, highest: float) -> float:
    """The z that maximizes (margin + z) chance(level - response z): w + ln w = L by Newton's steps on ln w.

    price_search/logistic.py says why; w is there wrightomega(L).
    """
    if response <= _FLAT:
        return highest
    target = min(level + response * margin - 1.0, 700.0)
    log_w = target if target < 1.0 else math.log(target)
    for _ in range(_STEPS):
        w = math.exp(log_w)
        log_w += (target - w - log_w) / (1.0 + w)
    return min(max((1.0 + math.exp(log_w)) / response - margin, lowest), highest)
