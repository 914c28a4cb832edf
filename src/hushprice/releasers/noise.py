"""Where noise comes from. Every random number a releaser or an exploring policy uses passes through here.

`Tape` is for simulation: reproducible, and therefore no protection at all. `System` is for live use. Its bits are the
operating system's, but it turns them into normals in floating point: not yet secure against an attacker who studies the
low-order bits, and labelled so (`secure` is False) until exact discrete noise takes its place.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import ClassVar, Protocol

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
    label: ClassVar[str] = "tape (simulation only, not private)"
    secure: ClassVar[bool] = False
    simulated: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.whole(0, seed=self.seed, trial=self.trial)
        checks.within(0, 2**63 - 1, seed=self.seed)
        checks.within(0, 2**32 - 1, trial=self.trial)

    def normals(self, stream: int, period: int, count: int) -> FloatArray:
        rows = 4 * ((count + 3) // 4)
        out = np.empty((rows, 1))
        tape.fill_normals(self.seed, self.trial, stream, period, 1, rows, out)
        return out[:count, 0]

    def uniform(self, stream: int, period: int) -> float:
        return float(tape.uniform(self.seed, self.trial, period, stream))


@dataclass(frozen=True, slots=True)
class System:
    """Live noise: unpredictable and never replayable, not yet hardened.

    It keeps no state, so there is none to steal, to save, or to share by forking a process.
    """

    label: ClassVar[str] = "operating system randomness, floating point: not yet secure"
    secure: ClassVar[bool] = False
    simulated: ClassVar[bool] = False

    def normals(self, stream: int, period: int, count: int) -> FloatArray:
        half = (count + 1) // 2
        u = _uniforms(2 * half)
        length = np.sqrt(-2.0 * np.log(u[:half]))  # Box and Muller; 52 bits, so tails end at 8.6 deviations
        angle = 2.0 * np.pi * u[half:]
        return np.concatenate([length * np.cos(angle), length * np.sin(angle)])[:count]

    def uniform(self, stream: int, period: int) -> float:
        return float(_uniforms(1)[0])


def _uniforms(count: int) -> FloatArray:
    """Uniforms on the open unit interval from the operating system's generator."""
    bits = np.frombuffer(secrets.token_bytes(8 * count), dtype=np.uint64) >> np.uint64(12)
    return (bits.astype(np.float64) + 0.5) * 2.0**-52
