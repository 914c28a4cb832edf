"""Do prices earn what today's price earns? Sums of the holdout and of the others, batch by batch, from releases.

In a batch with n slots priced by the rule and m in the holdout, let w = n / (n + m). The sums w H of the holdout and
(1 - w) P of the others are then of equally many customers, n m / (n + m), and met the same days: a good week, or a time
in which the product was frozen, favours neither.

Whether the others earn less than a share s of what the holdout earns is a bet (`Evidence`). Before a batch its stakes
are chosen, x > 0 on the holdout and y = m x / (s n) < 1 against the others. With a = ln(1 + x), b = -ln(1 - y), noise
of the Laplace scales c and d, and what each customer earns independent and in [0, 1], with means h and p,

    E e^(a H) <= (1 + h x)^m / (1 - a^2 c^2) <= e^(m h x) / (1 - a^2 c^2),
    E e^(-b P) <= (1 - p y)^n / (1 - b^2 d^2) <= e^(-n p y) / (1 - b^2 d^2),

as e^(a e) <= 1 + e (e^a - 1) for e in [0, 1], and as Laplace noise of scale c has E e^(a X) = 1 / (1 - a^2 c^2); on a
grid it is less. Where p >= s h the two exponents add up to m h x - n p y <= 0. So what somebody holds who starts with 1
and multiplies it, batch after batch, by

    e^(a H - b P) (1 - a^2 c^2) (1 - b^2 d^2)

does not grow on average, whatever h is and however it changes, and ever reaches 1 / alpha with probability alpha at
most (Ville 1939; Waudby-Smith and Ramdas 2024 bet so on means). That holds over all looks together, and for the mean of
what several hold who put up different stakes: small ones find small losses, large ones find large losses soon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from hushprice import checks

STAKES = tuple(0.02 * 2.0**step for step in range(8))  # the best one for a loss of a share l is about l / (1 - l)
_MOST = 0.5  # of a stake times the scale of noise: at 1 the noise alone would cost everything


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """The holdout, or the others: noisy sums, in units of the largest earnings of a visit, and variances of noise."""

    slots: int = 0
    earned: float = 0.0
    noise: float = 0.0
    weighted: float = 0.0  # earnings times the batch's weight
    weighted_noise: float = 0.0
    squares: float = 0.0  # earnings times its square

    @property
    def deviation(self) -> float:
        """Of `earned`: noise and sampling."""
        return math.sqrt(self.noise + max(self.earned, 0.0))


@dataclass(frozen=True, kw_only=True, slots=True)
class Earned:
    """What a batch's release says: noisy sums of the holdout and of the others, their slots, and scales of noise."""

    sums: tuple[float, float]
    slots: tuple[int, int]
    scales: tuple[float, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Both of them over some batches."""

    holdout: Group = Group()
    others: Group = Group()
    pairs: float = 0.0  # customers of either group that are compared

    def after(self, batch: Earned) -> Comparison:
        """With one more batch."""
        apart, priced = batch.slots
        weight = priced / (apart + priced)
        return Comparison(
            holdout=_added(self.holdout, batch, 0, weight),
            others=_added(self.others, batch, 1, 1.0 - weight),
            pairs=self.pairs + apart * weight,
        )

    def difference(self) -> tuple[float, float]:
        """What the others earned more than the holdout, over all pairs, and its deviation."""
        held, others = self.holdout, self.others
        sampling = max(held.squares + others.squares, 0.0)
        return others.weighted - held.weighted, math.sqrt(held.weighted_noise + others.weighted_noise + sampling)


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """That the others earn less than a share of what the holdout earns: logarithms of what each stake has made of 1."""

    logs: tuple[float, ...] = (0.0,) * len(STAKES)

    def after(self, batch: Earned, share: float, usual: float) -> Evidence:
        """With one more batch. `usual` is what a visit is expected to earn, as was said before the first customer.

        A stake counts for less where noise hides most of what the batch says, which its number of slots tells.
        """
        apart, priced = batch.slots
        if share == 0.0:  # less than nothing is not earned
            return self
        ratio = apart / (share * priced)
        scale, other = batch.scales
        sampled = apart * usual * (1.0 + apart / priced)
        heard = sampled / (sampled + 2.0 * scale**2 + 2.0 * (ratio * other) ** 2)
        most = min(_limit(scale), (1.0 - math.exp(-_MOST / other) if other > 0.0 else _MOST) / ratio)
        return Evidence(
            logs=tuple(
                log + _gained(min(stake * heard, most), ratio, batch)
                for log, stake in zip(self.logs, STAKES, strict=True)
            )
        )

    @property
    def against(self) -> float:
        """The logarithm of what is held, on average over stakes."""
        most = max(self.logs)
        return most + math.log(math.fsum(math.exp(log - most) for log in self.logs) / len(self.logs))

    def certain(self, alpha: float) -> bool:
        """Is it enough? Wrong with probability `alpha` at most, however often it is asked."""
        checks.probability(alpha=alpha)
        return self.against >= -math.log(alpha)


def _limit(scale: float) -> float:
    return math.expm1(min(_MOST / scale, 1.0)) if scale > 0.0 else math.expm1(1.0)


def _gained(stake: float, ratio: float, batch: Earned) -> float:
    """The logarithm of what a batch multiplies by."""
    (held, others), (scale, other) = batch.sums, batch.scales
    up, down = math.log1p(stake), -math.log1p(-ratio * stake)
    return up * held - down * others + math.log1p(-((up * scale) ** 2)) + math.log1p(-((down * other) ** 2))


def _added(group: Group, batch: Earned, which: int, weight: float) -> Group:
    earned, noise = batch.sums[which], 2.0 * batch.scales[which] ** 2  # of a Laplace number
    more = Group(
        slots=batch.slots[which],
        earned=earned,
        noise=noise,
        weighted=weight * earned,
        weighted_noise=weight**2 * noise,
        squares=weight**2 * earned,
    )
    return Group(**{each.name: getattr(group, each.name) + getattr(more, each.name) for each in fields(Group)})
