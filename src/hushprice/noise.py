"""Where noise comes from. Every random number a releaser or an exploring policy uses passes through here.

`Tape` is for simulation: reproducible, ideal Gaussians in floating point, and therefore no protection at all. `System`
is for live use: the exact discrete Gaussian and the exact discrete Laplace distribution (Canonne, Kamath and Steinke
2020, as implemented and proved in OpenDP) on a grid, from the operating system's randomness. Numbers are rounded to the
grid before noise is added, so what comes out is a multiple of the grid whatever went in, and no low-order digit tells
anything.
"""

from __future__ import annotations

import functools
import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from hushprice import checks
from hushprice.numerics import tape
from hushprice.privacy.events import FINENESS, grid_of
from hushprice.trust.bits import happens
from hushprice.types import BoolArray, FloatArray


class NoiseSource(Protocol):
    """Gaussian noise and uniforms, addressed by period and stream so that a simulated run can be replayed."""

    @property
    def label(self) -> str: ...
    @property
    def secure(self) -> bool: ...
    @property
    def simulated(self) -> bool: ...
    def add(self, values: FloatArray, noise: float, stream: int, period: int) -> FloatArray:
        """The values with independent Gaussian noise of this standard deviation."""
        ...

    def uniform(self, stream: int, period: int) -> float: ...


@runtime_checkable
class Normals(Protocol):
    """A simulated source that can be asked for plain standard normals."""

    def normals(self, stream: int, period: int, count: int) -> FloatArray: ...


@runtime_checkable
class ManyNormals(Normals, Protocol):
    """One that gives those of many periods at once."""

    def normals_many(self, stream: int, first: int, periods: int, count: int) -> FloatArray:
        """`normals` of the periods from `first` on, one column each."""
        ...


@dataclass(frozen=True, slots=True)
class Tape:
    """The random tape of one simulated trial."""

    seed: int
    trial: int
    label: ClassVar[str] = "tape (simulation only, not private)"
    secure: ClassVar[bool] = False
    simulated: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.whole(0, seed=self.seed, trial=self.trial)
        checks.within(0, 2**63 - 1, seed=self.seed)
        checks.within(0, 2**32 - 1, trial=self.trial)

    def add(self, values: FloatArray, noise: float, stream: int, period: int) -> FloatArray:
        return values + noise * self.normals(stream, period, values.size)

    def normals(self, stream: int, period: int, count: int) -> FloatArray:
        """Standard normals, the ones the compiled simulator draws."""
        return self.normals_many(stream, period, 1, count)[:, 0]

    def normals_many(self, stream: int, first: int, periods: int, count: int) -> FloatArray:
        """Those of the periods from `first` on, one column each."""
        rows = 4 * ((count + 3) // 4)
        out = np.empty((rows, periods))
        tape.fill_normals(self.seed, self.trial, stream, first, periods, rows, out)
        return out[:count]

    def uniform(self, stream: int, period: int) -> float:
        return float(tape.uniform(self.seed, self.trial, period, stream))


@dataclass(frozen=True, slots=True)
class System:
    """Live noise: exact, unpredictable and never replayable.

    It keeps no state, so there is none to steal, to save, or to share by forking a process.
    """

    label: ClassVar[str] = "exact discrete Gaussian, operating system randomness"
    secure: ClassVar[bool] = True
    simulated: ClassVar[bool] = False

    def add(self, values: FloatArray, noise: float, stream: int, period: int) -> FloatArray:
        """Multiples of grid_of(noise): the values rounded to it, plus discrete noise on it."""
        checks.positive(noise=noise)
        grid = grid_of(noise)
        shift = math.frexp(grid)[1] - 1
        whole = [round(math.ldexp(float(value), -shift)) for value in values]
        drawn = self.integers(noise / grid, len(whole))
        return np.array([math.ldexp(value + each, shift) for value, each in zip(whole, drawn, strict=True)])

    def integers(self, scale: float, count: int) -> list[int]:
        """Discrete Gaussian integers: P(k) proportional to e^(-k^2 / 2 scale^2)."""
        checks.within(2.0**FINENESS, 2.0 ** (FINENESS + 1), scale=scale)  # what grid_of leads to, and the proof covers
        return _measurement(scale)([0] * count)

    def laplace_integers(self, scale: float, count: int) -> list[int]:
        """Discrete Laplace integers: P(k) proportional to e^(-|k| / scale)."""
        checks.within(2.0**FINENESS, 2.0 ** (FINENESS + 1), scale=scale)
        return _laplace(scale)([0] * count)

    def uniform(self, stream: int, period: int) -> float:
        bits = int.from_bytes(secrets.token_bytes(8)) >> 12
        return (bits + 0.5) * 2.0**-52

    def bits(self, count: int) -> int:
        """So many random bits as a whole number."""
        return secrets.randbits(count)

    def truths(self, keep: float, count: int) -> BoolArray:
        """Which of so many coins tell the truth: each with exactly this probability, as every float in [1/2, 1) is
        a multiple of 2^-53."""
        return np.array([happens(keep, self.bits) for _ in range(count)], dtype=bool)


@functools.lru_cache(maxsize=64)
def _measurement(scale: float) -> Callable[[list[int]], list[int]]:
    """OpenDP's discrete Gaussian over vectors of integers. Imported here: it takes a tenth of a second to load."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    return dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=scale)


@functools.lru_cache(maxsize=64)
def _laplace(scale: float) -> Callable[[list[int]], list[int]]:
    """OpenDP's discrete Laplace distribution over vectors of integers."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    return dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)
