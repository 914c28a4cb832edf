"""Privacy cost as data: what was released, described fully enough that an accountant can be written from it alone.

Events are never removed and never change meaning, because certificates outlive versions.
"""

from __future__ import annotations

from dataclasses import dataclass

from hushprice import checks


@dataclass(frozen=True, slots=True)
class ContinualCovariance:
    """All prefix sums of phi phi' over a horizon, by a Gaussian binary tree (alg:private-cov).

    One record enters one node per level. Every node's upper triangle gets independent N(0, noise^2) entries.
    """

    noise: float
    levels: int
    dimension: int

    def __post_init__(self) -> None:
        checks.positive(noise=self.noise)
        checks.whole(1, levels=self.levels, dimension=self.dimension)


@dataclass(frozen=True, slots=True)
class PerturbedEstimate:
    """One constrained maximum-likelihood estimate with the objective tilted by N(0, noise^2 I) (alg:private-mle)."""

    noise: float
    ridge: float
    dimension: int

    def __post_init__(self) -> None:
        checks.positive(noise=self.noise, ridge=self.ridge)
        checks.whole(1, dimension=self.dimension)


@dataclass(frozen=True, slots=True)
class NotPrivate:
    """A release without noise: no finite epsilon covers it."""


Event = ContinualCovariance | PerturbedEstimate | NotPrivate
