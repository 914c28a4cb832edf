"""Do prices earn less than a share of what the holdout earns? May be asked after every batch, from releases alone.

In a batch the holdout has m customers who earn h each on average, the others n who earn p each, and what is released is
H and P, their sums with noise of deviations s_H and s_P. Suppose p >= share h. For what a customer earns, in
[0, 1], E exp(a X) <= exp(E X (exp(a) - 1)), whatever a. So with

    m (exp(a) - 1) = share n (1 - exp(-b))

the number exp(a H - b P) (1 - a^2 s_H^2 / 2) (1 - b^2 s_P^2 / 2) has an expectation of at most exp(m (exp(a) - 1) (h -
p / share)), which is at most 1 whatever h is: nothing has to be known about demand. (Laplace noise of deviation s has E
exp(a Z) = 1 / (1 - a^2 s^2 / 2), and Gaussian noise, discrete or not, has less: exp(a^2 s^2 / 2).)

Products of such numbers over batches are a supermartingale, and so are their means over several a and over the batch at
which the product begins. A supermartingale that starts at 1 ever reaches 1/alpha with probability alpha at most
(Ville's inequality): that is when `certain` says yes. It may be asked after every batch, and a batch may depend on all
before it.

How large a is matters for power alone. With r = m / (share n), a shortfall d of p under the share is found soonest with

    a = d m h / (m h (1 - d) (1 + r) + s_H^2 + r^2 s_P^2).

The mean is over the SHORTFALLS, and h is what was expected, or seen before.
Beginnings have weights 1/(k (k + 1)), so that prices which did well at first are found when they do badly later.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

SHORTFALLS = (0.03, 0.08, 0.2, 0.5)
_MOST_BELIEVED = 0.5  # of the share's customers, that exp(a) - 1 may stand for: b stays finite
_MOST_NOISE = 0.7  # a s_H and b s_P at most: a quarter of what noise could be multiplied up to


@dataclass(frozen=True, kw_only=True, slots=True)
class Watch:
    """What all batches since some moment say against prices."""

    batches: int = 0
    evidence: tuple[float, ...] = ()  # logarithms, one a shortfall

    def after(
        self,
        earnings: tuple[float, float],
        slots: tuple[int, int],
        noise: tuple[float, float],
        *,
        share: float,
        expected: float,
    ) -> Watch:
        """With one more batch of both groups: holdout first. `expected` is h, as it was known before the batch."""
        begins = -math.log((self.batches + 1) * (self.batches + 2))
        before = self.evidence or (-math.inf,) * len(SHORTFALLS)
        against = (_against(earnings, slots, noise, _bet(each, slots, noise, share, expected)) for each in SHORTFALLS)
        evidence = tuple(_log_sum(sofar, begins) + new for sofar, new in zip(before, against, strict=True))
        return Watch(batches=self.batches + 1, evidence=evidence)

    @property
    def against(self) -> float:
        """The logarithm of the supermartingale: at 1/alpha, it is certain but for alpha."""
        mean = math.log(len(SHORTFALLS))
        total = -math.log(self.batches + 1)  # of beginnings still to come
        for each in self.evidence:
            total = _log_sum(total, each - mean)
        return total

    def certain(self, alpha: float) -> bool:
        """Do prices earn less than the share?"""
        return self.against >= -math.log(alpha)

    @property
    def sound(self) -> bool:
        """Can it be so?"""
        return (
            self.batches >= 0
            and len(self.evidence) == (len(SHORTFALLS) if self.batches else 0)
            and all(math.isfinite(each) for each in self.evidence)
        )


def _bet(
    shortfall: float, slots: tuple[int, int], noise: tuple[float, float], share: float, expected: float
) -> tuple[float, float]:
    """a and b."""
    apart, priced = slots
    ratio = apart / (share * priced)
    earned = apart * expected
    variance = earned * (1.0 - shortfall) * (1.0 + ratio) + noise[0] ** 2 + (ratio * noise[1]) ** 2
    most = min(_MOST_BELIEVED, -math.expm1(-_MOST_NOISE / noise[1]) if noise[1] > 0.0 else 1.0)
    a = min(shortfall * earned / variance, math.log1p(most / ratio))
    if noise[0] > 0.0:
        a = min(a, _MOST_NOISE / noise[0])
    return a, -math.log1p(-ratio * math.expm1(a))


def _against(
    earnings: tuple[float, float], slots: tuple[int, int], noise: tuple[float, float], bet: tuple[float, float]
) -> float:
    a, b = bet
    paid = math.log1p(-0.5 * (a * noise[0]) ** 2) + math.log1p(-0.5 * (b * noise[1]) ** 2)
    return a * earnings[0] - b * earnings[1] + paid


def _log_sum(first: float, second: float) -> float:
    """log(exp(first) + exp(second)); one of them is finite."""
    high, low = max(first, second), min(first, second)
    return high + math.log1p(math.exp(low - high))
