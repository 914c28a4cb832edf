"""One bit about a customer, as private on its own as `keep` says: all that leaves the device besides its price.

The device is asked for one number of its record: a residual, or, as often as the batch's public choice says, a
residual times one of its attributes. Which one is drawn without looking at the record. The number becomes a bit, true
with the probability that keeps its mean, and the bit is turned over with probability 1 - keep: whatever the record is,
no answer is more than keep / (1 - keep) times as likely as for any other (docs/proofs/pure.md, section 2).
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from typing import NamedTuple

from hushprice.errors import InvalidInput
from hushprice.trust.question import Question, Record, held, residual

FINE = 53  # binary places of a probability: those of a float in [1/2, 1), so that `keep` is met exactly
_DOUBT = 3  # units of 2^-53: more than the largest probability is off by, computed in floats
Bits = Callable[[int], int]  # so many random bits as a whole number


class Bit(NamedTuple):
    """A report. Where two sides are told apart, the customer's coin, which the price shows, says which."""

    side: int
    about: int  # 0: the residual; j: the residual times entry j of the context
    up: bool


def keep_of(epsilon: float) -> float:
    """The largest probability of telling the truth that is `epsilon`-private.

    >>> round(keep_of(1.0), 4)
    0.7311
    """
    if not (math.isfinite(epsilon) and epsilon > 0.0):
        raise InvalidInput(f"epsilon must be a positive number, got {epsilon!r}")
    nearest = math.floor(2**FINE / (1.0 + math.exp(-min(epsilon, 30.0))))
    return max(nearest - _DOUBT, 2 ** (FINE - 1)) / 2**FINE


def bounds(question: Question, coin: float, index: int) -> tuple[float, float]:
    """Between which the number lies that is asked for. Public: with no attributes, so is what was believed."""
    if index > 0:
        largest = max(1.0 - question.least, question.most)
        return -largest, largest
    if question.contexts == 0:
        believed = question.believed((), question.price((), coin))
        return believed - 1.0, believed
    return question.least - 1.0, question.most


def scale(contexts: int) -> float:
    """x^ times this is in [-1, 1]: x itself, for most customers."""
    return max(0.5 * contexts, 1.0)


def answer(
    question: Question, keep: float, record: Record, draw: Bits = secrets.randbits, *, priced: bool = False
) -> Bit:
    """What the device sends. The price is the question's own, whatever was charged; the record's where `priced`."""
    if not 0.5 <= keep < 1.0:
        raise InvalidInput(f"keep must lie in [0.5, 1), got {keep!r}")
    index = _index(question, draw)
    low, high = bounds(question, record.coin, index)
    if not priced:
        record = record._replace(price=question.price(record.context, record.coin))
    number = residual(question, record)
    if index > 0:
        number *= held(question.read(record.context))[index - 1] * scale(question.contexts)
    up = happens(min(max((number - low) / (high - low), 0.0), 1.0), draw)
    return Bit(question.side(record.coin), index, up if happens(keep, draw) else not up)


def _index(question: Question, draw: Bits) -> int:
    if question.contexts == 0 or not happens(question.share, draw):
        return 0
    while True:  # the same chance for each
        at = draw(question.contexts.bit_length())
        if at < question.contexts:
            return 1 + at


def happens(probability: float, draw: Bits) -> bool:
    """Does it, with this probability, a multiple of 2^-53 if it is to be met exactly?"""
    return draw(FINE) < probability * 2**FINE
