"""A price drawn by a private mechanism, for customers who would not have their price say what they are like.

Everybody's price is one of two, the same for all: a step above the price of a customer whose attributes are all 0, or a
step below. Which one is whether the customer's own price lies above that, turned over with probability 1 - keep. So the
price says no more than a bit of trust `local` does (docs/proofs/trust.md, section 7). Both prices are public.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence

from hushprice.trust.bits import Bits, happens
from hushprice.trust.question import Question

_USUAL = math.sqrt(2.0 / math.pi) / math.sqrt(3.0)  # mean distance of a normal number, deviation of a uniform one


def middles(question: Question, keep: float) -> tuple[float, float]:
    """The two prices before the coin moves them, whoever the customer is.

    With customers' own prices D away from the common one, a step of w earns as much as 2 (2 keep - 1) w E|D| - w^2,
    which is largest at (2 keep - 1) E|D|; E|D| is guessed by attributes that are uniform in [-1, 1].
    """
    k, far = question.contexts, 0.0
    for j in range(k):
        up, down = (question.middle([sign * float(j == i) for i in range(k)]) for sign in (1.0, -1.0))
        far += (0.5 * (up - down)) ** 2
    step = (2.0 * keep - 1.0) * _USUAL * math.sqrt(far)
    low, high = question.lowest + question.spread, question.highest - question.spread  # the coin moves both prices
    common = min(max(question.middle((0.0,) * k), low), high)
    if question.step > 0.0:
        rungs = math.floor((high - low) / question.step + 1e-9)
        at, away = round((common - low) / question.step), round(step / question.step)
        return low + question.step * max(at - away, 0), low + question.step * min(at + away, rungs)
    return max(common - step, low), min(common + step, high)


def drawn(
    question: Question, keep: float, context: Sequence[float], coin: float, draw: Bits = secrets.randbits
) -> float:
    """The relative price of a customer whose coin is +1 or -1: one of two, both `ln(keep / (1 - keep))`-private."""
    low, high = middles(question, keep)
    above = question.middle(context) > question.middle((0.0,) * question.contexts)
    return (high if above == happens(keep, draw) else low) + question.spread * coin
