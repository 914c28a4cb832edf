"""A noise source that reads out given numbers, so that an audit sees how each of them reaches each release."""

from __future__ import annotations

from itertools import chain, islice, repeat
from typing import ClassVar

import numpy as np

from hushprice.types import FloatArray


class ScriptedNoise:
    """Numbers one after the other, each once; then zeros, or where these are not asked for, a failure."""

    label: ClassVar[str] = "script (audit only, not private)"
    secure: ClassVar[bool] = False
    simulated: ClassVar[bool] = True

    def __init__(self, numbers: FloatArray, *, then_zeros: bool = False) -> None:
        self._left = chain(numbers.tolist(), repeat(0.0) if then_zeros else ())

    def normals(self, stream: int, period: int, count: int) -> FloatArray:
        """The next numbers, as the tape gives them."""
        return np.array(self._next(count))

    def normals_many(self, stream: int, first: int, periods: int, count: int) -> FloatArray:
        """The next numbers, a column a period."""
        return np.stack([self.normals(stream, first + n, count) for n in range(periods)], axis=1)

    def integers(self, scale: float, count: int) -> list[int]:
        """The next numbers as whole ones of this standard deviation, as the system gives them."""
        return [round(scale * number) for number in self._next(count)]

    def next(self) -> None:
        """The script goes on."""

    def add(self, values: FloatArray, noise: float, stream: int, period: int) -> FloatArray:
        raise NotImplementedError

    def uniform(self, stream: int, period: int) -> float:
        raise NotImplementedError

    def _next(self, count: int) -> list[float]:
        read = list(islice(self._left, count))
        if len(read) < count:
            raise IndexError("the script has no number left")
        return read
