"""Where noise comes from. Every random number a releaser or an exploring policy uses passes through here.

`Tape` is for simulation: reproducible, and therefore no protection at all. `System` is for live use. It draws from
NumPy's generator seeded by the operating system, in floating point: not yet secure against an attacker who studies the
low-order bits, and labelled so (`secure` is False) until exact discrete noise takes its place.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hushprice import checks
from hushprice.numerics import tape
from hushprice.types import FloatArray


class NoiseSource(Protocol):
    """Standard normals and uniforms, addressed by period and stream so that a simulated run can be replayed."""

    @property
    def label(self) -> str: ...
    @property
    def secure(self) -> bool: ...
    @property
    def simulated(self) -> bool: ...
    def normals(self, stream: int, period: int, count: int) -> FloatArray: ...
    def uniform(self, stream: int, period: int) -> float: ...


@dataclass(frozen=True, slots=True)
class Tape:
    """The random tape of one simulated trial."""

    seed: int
    trial: int
    label: str = "tape (simulation only, not private)"
    secure: bool = False
    simulated: bool = True

    def __post_init__(self) -> None:
        checks.whole(0, seed=self.seed, trial=self.trial)
        checks.within(0, 2**64 - 1, seed=self.seed)
        checks.within(0, 2**32 - 1, trial=self.trial)

    def normals(self, stream: int, period: int, count: int) -> FloatArray:
        rows = 4 * ((count + 3) // 4)
        out = np.empty((rows, 1))
        tape.fill_normals(np.uint64(self.seed), self.trial, stream, period, 1, rows, out)
        return out[:count, 0]

    def uniform(self, stream: int, period: int) -> float:
        return float(tape.uniform(np.uint64(self.seed), self.trial, period, stream))


class System:
    """Live noise: unpredictable, never replayable, not yet hardened."""

    label = "operating system seed, NumPy floating point: not yet secure"
    secure = False
    simulated = False

    def __init__(self) -> None:
        self._generator = np.random.Generator(np.random.PCG64DXSM(secrets.randbits(256)))

    def normals(self, stream: int, period: int, count: int) -> FloatArray:
        return self._generator.standard_normal(count)

    def uniform(self, stream: int, period: int) -> float:
        return float(self._generator.random())

    def __repr__(self) -> str:
        return "System(<state hidden>)"  # whoever knows the state can subtract the noise
