"""PrivateCov for live use: whole numbers from the record to what is published, so no digit carries a trace of it.

Published is round(C x) + z on the event's grid, z the exact discrete Gaussian. Everything before the noise is computed
in Python's integers, and everything after it is public. docs/proofs/discrete_noise.md bounds what rounding adds to the
sensitivity; the two facts it needs are kept here: features never leave the unit ball, rounding included, and the filter
rounds each product once.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from hushprice import checks
from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.mechanisms.whole_numbers import FINER, Filter, hexed, outer, unhexed, without_root
from hushprice.noise import System
from hushprice.numerics.linear import packed_size
from hushprice.privacy.events import FROBENIUS, CovarianceStream
from hushprice.privacy.streams import Tree
from hushprice.releases import CovarianceRelease
from hushprice.types import FloatArray

_LARGEST = 2.0**64


class _State(msgspec.Struct, forbid_unknown_fields=True):
    """Integers as hexadecimal text: they pass 64 bits."""

    count: int
    exact: list[str]
    public: list[str]
    decoded: list[float]


class ExactCov:
    """The covariance stream of `event`, drawn live. `_exact` is sensitive; `_public` and `_decoded` are not."""

    def __init__(self, *, event: CovarianceStream, source: System) -> None:
        if not event.grid > 0.0:
            raise InvalidInput(f"event must have a grid for live noise, got {event!r}")
        self._event = event
        self._source = source
        self._count = 0
        self._frobenius = event.layout == FROBENIUS
        size = packed_size(event.dimension)
        self._shift = -math.frexp(event.grid)[1] + 1  # grid = 2^-shift
        if isinstance(event.strategy, Tree):
            self._exact = [[0] * size for _ in range(event.strategy.levels)]  # sums of closed nodes
            self._public = [[0] * size for _ in range(event.strategy.levels + 1)]  # noisy ones, from this level up
            self._decoded = np.empty((0, size))
        else:
            self._filter = Filter(event.strategy, self._shift)
            self._exact, self._decoded = self._filter.empty_memories(size)
            self._public = []

    def absorb(self, phi: FloatArray) -> CovarianceRelease:
        event = self._event
        if phi.shape != (event.dimension,):
            raise InvalidInput(f"phi must have {event.dimension} entries, got shape {phi.shape}")
        if not (np.abs(phi) < _LARGEST).all():  # NaN is not; records are within the unit ball long before
            raise InvalidInput("phi must be finite and of a sensible size")  # says no more: its values are sensitive
        if self._count >= event.steps:
            raise BudgetExhausted(f"{self._count} records are all that the stream was paid for")
        # Drawn before the record is looked at, so that no failure of the draw can depend on it.
        noise = self._source.integers(event.noise / event.grid, packed_size(event.dimension))
        self._count += 1
        if isinstance(event.strategy, Tree):
            packed = self._close_node(outer(phi, self._shift, self._frobenius), noise)
        else:
            row = outer(phi, self._shift + FINER, self._frobenius)
            packed = self._filter.publish(row, noise, self._exact, self._decoded)
        if self._frobenius:
            packed = without_root(packed, event.dimension)
        return CovarianceRelease(packed, self._count, event)

    def _close_node(self, row: list[int], noise: list[int]) -> FloatArray:
        """The node that closes with this record, in whole numbers (mechanisms/tree.py)."""
        level = (self._count & -self._count).bit_length() - 1
        packed = np.empty(len(row))
        for k, node in enumerate(row):
            for below in range(level):
                node += self._exact[below][k]
                self._exact[below][k] = 0
            self._exact[level][k] = node
            published = self._public[level + 1][k] + node + noise[k]
            for at in range(level + 1):
                self._public[at][k] = published
            packed[k] = math.ldexp(published, -self._shift)
        return packed

    def state(self) -> bytes:
        """What must survive a restart. Noise already released is part of it and is never drawn again."""
        return msgspec.msgpack.encode(
            _State(self._count, hexed(self._exact), hexed(self._public), self._decoded.ravel().tolist())
        )

    def restore(self, state: bytes, count: int) -> None:
        """Take up after `count` records."""
        checks.whole(0, count=count)
        try:
            saved = msgspec.msgpack.decode(state, type=_State)
            exact, public = unhexed(saved.exact, self._exact), unhexed(saved.public, self._public)
        except (msgspec.DecodeError, ValueError):
            raise InvalidInput("the saved covariance is not one of this releaser") from None
        decoded = np.array(saved.decoded, dtype=float)
        fits = saved.count == count <= self._event.steps and decoded.size == self._decoded.size
        if not (fits and exact is not None and public is not None and np.isfinite(decoded).all()):
            raise InvalidInput("the saved covariance is for another horizon or dimension")
        self._count, self._exact, self._public = count, exact, public
        self._decoded = decoded.reshape(self._decoded.shape)

    def __repr__(self) -> str:
        return "ExactCov(<sensitive>)"
