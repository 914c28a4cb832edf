"""A block: what consecutive trials of one cell left, as arrays, and as bytes that notice damage."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from hushprice.simulation import tally
from hushprice.simulation.trial import Trial, Trials
from hushprice.types import AnyArray, FloatArray, IntArray

MAGIC = b"hushprice trials 2\n"
COLUMNS = {  # sums over the periods of a trial, by name
    "regret": tally.REGRET,
    "revenue": tally.REVENUE,
    "surplus": tally.SURPLUS,
    "estimates": tally.ESTIMATES,
    "indefinite": tally.INDEFINITE,
    "clipped": tally.CLIPPED,
    "start": tally.START,
}


class Damaged(ValueError):
    """Bytes that are not, or no longer, a block."""


class _Array(msgspec.Struct):
    dtype: str
    shape: tuple[int, ...]
    data: bytes


class _BlockBody(msgspec.Struct):
    key: str
    first: int
    seconds: float
    setting: dict[str, Any]
    arrays: dict[str, _Array]


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """Trials `first` .. `first + len - 1` of a cell, and the seconds one worker took."""

    first: int
    seconds: float
    totals: FloatArray  # (trials, room.TOTALS)
    regret_at: FloatArray  # (trials, checkpoints)
    estimate_periods: Sequence[IntArray]

    @classmethod
    def of(cls, trials: Sequence[Trial], *, first: int, seconds: float) -> Block:
        """The block that starts at trial `first`."""
        return cls.holding(Trials.of(trials), first=first, seconds=seconds)

    @classmethod
    def holding(cls, trials: Trials, *, first: int, seconds: float) -> Block:
        """The block that starts at trial `first`, from the arrays of all its trials."""
        return cls(
            first=first,
            seconds=seconds,
            totals=trials.totals,
            regret_at=trials.regret_at,
            estimate_periods=trials.estimate_periods,
        )

    @property
    def numbers(self) -> range:
        """The trials it holds."""
        return range(self.first, self.first + len(self.totals))

    def trials(self, numbers: range) -> Trials:
        """Some of its trials, without the prices, which are never kept."""
        whole = Trials(totals=self.totals, regret_at=self.regret_at, estimate_periods=self.estimate_periods)
        return whole.part(slice(numbers.start - self.first, numbers.stop - self.first))

    def encode(self, key: str, setting: dict[str, Any]) -> bytes:
        """Bytes that say what they are: a first line, a checksum, then MessagePack with the cell's key and setting."""
        arrays = {name: self.totals[:, column] for name, column in COLUMNS.items()}
        arrays["cumulative_regret"] = self.regret_at
        arrays["estimate_periods"] = np.concatenate(list(self.estimate_periods))  # `estimates` of them for each trial
        packed = {name: _Array(array.dtype.str, array.shape, array.tobytes()) for name, array in arrays.items()}
        body = _BlockBody(key=key, first=self.first, seconds=self.seconds, setting=setting, arrays=packed)
        content = msgspec.msgpack.encode(body)
        return MAGIC + hashlib.sha256(content).digest() + content

    @classmethod
    def decode(cls, data: bytes, key: str) -> Block:
        """The block in those bytes, or Damaged with the reason."""
        checksum, content = data[len(MAGIC) :][:32], data[len(MAGIC) + 32 :]
        if not data.startswith(MAGIC):
            raise Damaged("it does not begin like a result file")
        if hashlib.sha256(content).digest() != checksum:
            raise Damaged("its checksum does not match")
        try:
            body = msgspec.msgpack.decode(content, type=_BlockBody)
            arrays = {name: _array(packed) for name, packed in body.arrays.items()}
            totals = np.zeros((len(arrays["regret"]), tally.TOTALS))
            for name, column in COLUMNS.items():
                totals[:, column] = arrays[name]
            ends = np.cumsum(totals[:, tally.ESTIMATES].astype(np.int64))
            periods = tuple(np.split(arrays["estimate_periods"], ends)[:-1])
        except (msgspec.DecodeError, KeyError, TypeError, ValueError) as problem:
            raise Damaged(f"it has an unknown layout, {problem}") from None
        if body.key != key:
            raise Damaged("it holds the result of another setting")
        regret_at = arrays["cumulative_regret"]
        return cls(first=body.first, seconds=body.seconds, totals=totals, regret_at=regret_at, estimate_periods=periods)


def _array(packed: _Array) -> AnyArray:
    return np.frombuffer(packed.data, dtype=packed.dtype).reshape(packed.shape)
