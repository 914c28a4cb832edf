"""Logistic, Gaussian and Poisson demand: the built-in families as objects over the compiled switch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from hushprice import checks
from hushprice.demand import family
from hushprice.demand.protocol import Demand
from hushprice.types import FloatArray


class _BuiltInFamily(Demand, Protocol):
    """What the built-in families share: arrays in, one compiled loop over the entries, arrays out."""

    def mean(self, z: FloatArray) -> FloatArray:
        return self._each(family.fill_mean, z)

    def mean_slope(self, z: FloatArray) -> FloatArray:
        return self._each(family.fill_mean_slope, z)

    def log_partition(self, z: FloatArray) -> FloatArray:
        return self._each(family.fill_log_partition, z)

    def log_base(self, y: FloatArray) -> FloatArray:
        return self._each(family.fill_log_base, y)

    def log_likelihood(self, y: FloatArray, z: FloatArray) -> FloatArray:
        return self.slope * (y * z - self.log_partition(z)) + self.log_base(y)

    def sample(self, z: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        z, first, second = np.broadcast_arrays(z, first, second)  # the loop trusts that they are equally long
        out = np.empty(z.shape)
        slope, bound = float(self.slope), float(self.bound)
        family.fill_draws(self.family, slope, bound, _flat(z), _flat(first), _flat(second), out.reshape(-1))
        return out

    @property
    def scale(self) -> float:
        return max(self.slope, 1.0 / self.slope)

    def _each(self, loop: Callable[[int, float, FloatArray, FloatArray], None], values: FloatArray) -> FloatArray:
        out = np.empty(np.shape(values))
        loop(self.family, float(self.slope), _flat(values), out.reshape(-1))
        return out


def _flat(values: FloatArray) -> FloatArray:
    return np.ravel(np.asarray(values, dtype=np.float64))


@dataclass(frozen=True, kw_only=True)
class Logistic(_BuiltInFamily):
    """One unit or none: Pr[y = 1] = 1 / (1 + e^(-slope z)). sec:numerical has slope 4.

    Differs from the paper's example in h: it prints h(y) = 1, but probabilities sum to one with h(y) = 0.

    >>> Logistic(slope=4.0).mean(np.array([-0.5, 0.0, 0.5])).round(3).tolist()
    [0.119, 0.5, 0.881]
    """

    slope: float = 4.0
    bound: float = 1.0
    name: ClassVar[str] = "logistic"
    family: ClassVar[int] = family.LOGISTIC
    paper_curvature: ClassVar[float] = (1 + math.e**2) ** 2 / math.e**2
    largest_revenue: ClassVar[float] = 1.0
    lowest: ClassVar[float] = 0.0
    subgaussian: ClassVar[float] = 0.5  # a variable on an interval of length 1 (Hoeffding); the paper states 1

    def __post_init__(self) -> None:
        checks.within(1e-3, 300.0, slope=self.slope)  # beyond, K = e^(2 slope) leaves float64
        checks.at_least(1.0, bound=self.bound)  # a sale is 1, and a lower bound would clip it

    @property
    def curvature(self) -> float:
        return max(1.0, self.slope / 4, (2 + 2 * math.cosh(2 * self.slope)) / self.slope)

    @property
    def steepest(self) -> float:
        return self.slope / 4


@dataclass(frozen=True, kw_only=True)
class Gaussian(_BuiltInFamily):
    """y = z + N(0, noise^2), clipped to [-bound, bound]; zeta = 1/noise^2.

    The printed example is unbounded, and clipping is what gives it a B_Y. The default bound lies four deviations past
    the largest mean. f maps to the whole line and not to [0, 1], so condition 4 fails and the price cap becomes 1.
    """

    noise: float = 1.0
    bound: float = 5.0  # at noise 1; a value is needed here, or the protocol's property would answer
    name: ClassVar[str] = "gaussian"
    family: ClassVar[int] = family.GAUSSIAN
    paper_curvature: ClassVar[float] = 1.0
    curvature: ClassVar[float] = 1.0
    steepest: ClassVar[float] = 1.0
    largest_revenue: ClassVar[float] = 1.0

    def __init__(self, *, noise: float = 1.0, bound: float | None = None) -> None:
        checks.within(1e-6, 1e6, noise=noise)
        object.__setattr__(self, "noise", noise)
        object.__setattr__(self, "bound", 1.0 + 4.0 * noise if bound is None else bound)
        self.__post_init__()

    def __post_init__(self) -> None:  # msgspec calls this one alone when it reads a file
        checks.within(1e-6, 1e6, noise=self.noise)
        checks.positive(bound=self.bound)

    @property
    def slope(self) -> float:
        return 1.0 / self.noise**2

    @property
    def lowest(self) -> float:
        return -self.bound

    @property
    def subgaussian(self) -> float:
        return self.noise


@dataclass(frozen=True, kw_only=True)
class Poisson(_BuiltInFamily):
    """Counts with mean e^(slope z), clipped at `bound`.

    Counts are not sub-Gaussian; clipped ones are, with s = bound/2 (Hoeffding). f passes 1, so condition 4 fails and
    the price cap becomes e^slope, the largest mean with ||phi||, ||theta*|| <= 1.
    """

    slope: float = 1.0
    bound: float = 10.0
    name: ClassVar[str] = "poisson"
    family: ClassVar[int] = family.POISSON
    lowest: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        checks.within(1e-3, 10.0, slope=self.slope)
        checks.positive(bound=self.bound)

    @property
    def paper_curvature(self) -> float:
        return self.curvature

    @property
    def curvature(self) -> float:
        return max(self.slope, 1.0 / self.slope) * math.exp(2 * self.slope)

    @property
    def steepest(self) -> float:
        return self.slope * math.exp(2 * self.slope)

    @property
    def subgaussian(self) -> float:
        return self.bound / 2

    @property
    def largest_revenue(self) -> float:
        return math.exp(self.slope)


BUILT_IN: dict[str, type[Logistic] | type[Gaussian] | type[Poisson]] = {
    each.name: each for each in (Logistic, Gaussian, Poisson)
}
