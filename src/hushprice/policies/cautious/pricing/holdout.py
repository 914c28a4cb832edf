"""Do prices earn what today's price earns? Sums of the holdout and of the others, batch by batch, from releases.

In a batch with n slots priced by the rule and m in the holdout, let w = n / (n + m). The sums w H of the holdout and
(1 - w) P of the others are then of equally many customers, n m / (n + m), and met the same days: a good week, or a time
in which the product was frozen, favours neither.
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

    def after(self, earnings: tuple[float, float], slots: tuple[int, int], noise: tuple[float, float]) -> Comparison:
        """With one more batch: noisy earnings, slots and the noise's deviation, of the holdout and of the others."""
        apart, priced = slots
        weight = priced / (apart + priced)
        return Comparison(
            holdout=_added(self.holdout, earnings[0], apart, weight, noise[0]),
            others=_added(self.others, earnings[1], priced, 1.0 - weight, noise[1]),
            pairs=self.pairs + apart * weight,
        )

    def difference(self) -> tuple[float, float]:
        """What the others earned more than the holdout, over all pairs, and its deviation."""
        held, others = self.holdout, self.others
        sampling = max(held.squares + others.squares, 0.0)
        return others.weighted - held.weighted, math.sqrt(held.weighted_noise + others.weighted_noise + sampling)


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
