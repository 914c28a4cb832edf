"""Do prices earn what today's price earns? Sums of the holdout and of the others, batch by batch, from releases.

In a batch with n slots priced by the rule and m in the holdout, let w = n / (n + m). The sums w H of the holdout and
(1 - w) P of the others are then of equally many customers, n m / (n + m), and met the same days: a good week, or a time
in which the product was frozen, favours neither.

`certainly_less` may be asked after every batch. What it says is wrong with probability `alpha` at most over all looks
together: look k has alpha / (k (k + 1)), and these add up to alpha. Half of it is for the tail. With D = share w H -
(1 - w) P, summed, customers independent and what each earns in [0, 1], Bernstein's inequality says that with
probability exp(-L) at most

    D - E D > sqrt(2 V L) + c L,        c = max(share / 3, the largest scale of noise).

It asks ln E e^(tX) <= v t^2 / (2 (1 - c t)) of each term. For Laplace noise of scale b, v = 2 b^2, the left side is
-ln(1 - b^2 t^2) <= b^2 t^2 / (1 - b^2 t^2) <= b^2 t^2 / (1 - b t): so c = b (Boucheron, Lugosi and Massart 2013,
section 2.4).

The other half is for V: sampling variance is at most the sum of squared weights times earnings. Its noisy sum S, of
terms of at most 1, falls below its expectation V by more than sqrt(2 L (V + its noise)) + b L with probability exp(-L)
at most, which gives V <= S' + L + sqrt(L^2 + 2 L (S' + its noise)), S' = S + b L. How many are in the holdout is known:
coins decide it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """The holdout, or the others: noisy sums, in units of the largest earnings of a visit, and variances of noise."""

    slots: int = 0
    earned: float = 0.0
    noise: float = 0.0
    weighted: float = 0.0  # earnings times the batch's weight
    weighted_noise: float = 0.0
    squares: float = 0.0  # earnings times its square
    squares_noise: float = 0.0

    @property
    def deviation(self) -> float:
        """Of `earned`: noise and sampling."""
        return math.sqrt(self.noise + max(self.earned, 0.0))


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Both of them over some batches."""

    holdout: Group = Group()
    others: Group = Group()
    pairs: float = 0.0  # customers of either group that are compared
    scale: float = 0.0  # of Laplace noise, times a batch's weight: the largest

    def after(self, earnings: tuple[float, float], slots: tuple[int, int], noise: float) -> Comparison:
        """With one more batch: noisy earnings and slots of the holdout and of the others, and the noise's deviation."""
        apart, priced = slots
        weight = priced / (apart + priced)
        return Comparison(
            holdout=_added(self.holdout, earnings[0], apart, weight, noise),
            others=_added(self.others, earnings[1], priced, 1.0 - weight, noise),
            pairs=self.pairs + apart * weight,
            scale=max(self.scale, max(weight, 1.0 - weight) * noise / math.sqrt(2.0)),
        )

    def difference(self) -> tuple[float, float]:
        """What the others earned more than the holdout, over all pairs, and its deviation."""
        held, others = self.holdout, self.others
        sampling = max(held.squares + others.squares, 0.0)
        return others.weighted - held.weighted, math.sqrt(held.weighted_noise + others.weighted_noise + sampling)

    def certainly_less(self, share: float, alpha: float, looks: int) -> bool:
        """Do the others earn less than this share of what the holdout earns? `looks` counts this one too."""
        if self.pairs == 0.0:
            return False
        held, others = self.holdout, self.others
        doubt = math.log(2.0 * looks * (looks + 1) / alpha)
        squares = share**2 * held.squares + others.squares + self.scale * doubt
        noise = share**4 * held.squares_noise + others.squares_noise
        variance = squares + doubt + math.sqrt(max(doubt**2 + 2.0 * doubt * (squares + noise), 0.0))
        variance = max(variance, 0.0) + share**2 * held.weighted_noise + others.weighted_noise
        limit = math.sqrt(2.0 * variance * doubt) + max(share / 3.0, self.scale) * doubt
        return share * held.weighted - others.weighted > limit


def _added(group: Group, earned: float, slots: int, weight: float, noise: float) -> Group:
    more = Group(
        slots=slots,
        earned=earned,
        noise=noise**2,
        weighted=weight * earned,
        weighted_noise=(weight * noise) ** 2,
        squares=weight**2 * earned,
        squares_noise=(weight**2 * noise) ** 2,
    )
    return Group(**{each.name: getattr(group, each.name) + getattr(more, each.name) for each in fields(Group)})
