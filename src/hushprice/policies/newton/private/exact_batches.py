"""The sums of one batch for live use: whole numbers from the record to what is published.

A score is cut to multiples of 2^-40 of length at most 1, exactly, and scores add up without rounding; the sum is
rounded once, to the noise's grid. psi = sqrt(w f' / cap) phi is held to the unit ball in the same way, and a block's
psi psi' add up without rounding, in units of 2^-80. Their sum is rounded once and goes through the filter as one row.

What rounding moves: records that two worlds share contribute the same integers in both, wherever they stand. The
one that differs contributes a score of length at most 1, exactly, so the sums differ by at most 2, and rounding each
to the grid adds at most one grid step a number, half of what loss._of_batches charges. Cutting also turns score and
psi off the line of phi, by less than 3 2^-40 a number: charged as well. Its block's row is rounded to 2^-48 of a grid
step, once in each world, the filter rounds as for a stream with a row a block
(docs/proofs/discrete_noise.md, section 4, steps 1 to 5, with T = 2^level + 1), and the release is rounded once: in all
less than two grid steps a number. That grid is at most 2^-32 of the batch's noise, curvature_noise times the longest
column, and grid_of(curvature_noise) is above 2^-33 of curvature_noise. So in units of curvature_noise two steps are
less than the four grid_of(curvature_noise) a number that are charged.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from hushprice.errors import InvalidInput
from hushprice.mechanisms.exact_sums import MOST_TERMS, in_unit_balls, products
from hushprice.mechanisms.whole_numbers import (
    FINER,
    UNIT_BITS,
    Filter,
    hexed,
    in_unit_ball,
    on_grid,
    round_bits,
    square,
    unhexed,
    without_root,
)
from hushprice.noise import System
from hushprice.numerics.linear import packed_size
from hushprice.policies.newton.noise import column_norm, strategy
from hushprice.privacy.events import Batches, grid_of
from hushprice.types import FloatArray


class _State(msgspec.Struct, forbid_unknown_fields=True):
    """Integers as hexadecimal text: they pass 64 bits."""

    score: list[str]
    products: list[str]
    memories: list[str]
    decoded: list[float]


class ExactBatch:
    """The batch at hand of `event`, drawn live. All but `_decoded` is sensitive."""

    def __init__(self, *, event: Batches, source: System) -> None:
        if not event.live:
            raise InvalidInput(f"event must be for live noise, got {event!r}")
        self._event = event
        self._source = source
        self._grid = grid_of(event.score_noise)
        self.begin(0)

    def begin(self, level: int) -> None:
        size = packed_size(self._event.dimension)
        self._deviation = self._event.curvature_noise * column_norm(level)
        self._shift = _shift(grid_of(self._deviation))
        self._filter = Filter(strategy(level), self._shift)
        self._score = [0] * self._event.dimension  # in units of 2^-40
        self._products = [0] * size  # of the block at hand, in units of 2^-80
        self._memories, self._decoded = self._filter.empty_memories(size)

    def add(self, phi: FloatArray, work: FloatArray) -> None:
        if work.shape[1] == 1:  # the same integers as below, five times as fast
            self._add_one(phi[:, 0], float(work[2, 0]), float(work[3, 0]))
            return
        known = np.isfinite(work[2]) & np.isfinite(work[3])  # a demand family of one's own may give anything
        phi, pull, turn = phi[:, known], np.clip(work[2, known], -_MOST, _MOST), np.clip(work[3, known], 0.0, _MOST)
        for start in range(0, pull.size, MOST_TERMS):
            part = slice(start, start + MOST_TERMS)
            scores = in_unit_balls(pull[part] * phi[:, part])
            turns = products(in_unit_balls(np.sqrt(turn[part]) * phi[:, part]))
            self._score = _added(self._score, scores.sum(axis=1).tolist())
            self._products = _added(self._products, turns)

    def _add_one(self, phi: FloatArray, pull: float, turn: float) -> None:
        if math.isfinite(pull) and math.isfinite(turn):
            psi = in_unit_ball(math.sqrt(min(max(turn, 0.0), _MOST)) * phi)
            self._score = _added(self._score, in_unit_ball(min(max(pull, -_MOST), _MOST) * phi))
            self._products = _added(self._products, square(psi))

    def look(self, records: int) -> FloatArray:
        # Drawn before the sums are looked at, so that no failure of the draw can depend on them.
        noise = self._source.integers(self._deviation / grid_of(self._deviation), len(self._products))
        row = on_grid(self._products, self._event.dimension, self._shift + FINER, frobenius=True)
        packed = self._filter.publish(row, noise, self._memories, self._decoded)
        self._products = [0] * len(self._products)
        return without_root(packed, self._event.dimension)

    def score(self, records: int) -> FloatArray:
        shift = _shift(self._grid)
        noise = self._source.integers(self._event.score_noise / self._grid, len(self._score))
        published = [
            round_bits(total, UNIT_BITS - shift) + drawn for total, drawn in zip(self._score, noise, strict=True)
        ]
        return np.array([math.ldexp(value, -shift) for value in published])

    def state(self) -> bytes:
        """What must survive a restart. Noise already released is part of it and is never drawn again."""
        sums = hexed([self._score]), hexed([self._products]), hexed(self._memories)
        return msgspec.msgpack.encode(_State(*sums, self._decoded.ravel().tolist()))

    def restore(self, state: bytes, level: int) -> None:
        """Take up in the middle of a batch."""
        self.begin(level)
        try:
            saved = msgspec.msgpack.decode(state, type=_State)
            score, block = unhexed(saved.score, [self._score]), unhexed(saved.products, [self._products])
            memories = unhexed(saved.memories, self._memories)
        except (msgspec.DecodeError, ValueError):
            raise InvalidInput("the saved batch is not one of this releaser") from None
        decoded = np.array(saved.decoded, dtype=float)
        if score is None or block is None or memories is None or decoded.size != self._decoded.size:
            raise InvalidInput("the saved batch is for another dimension")
        if not np.isfinite(decoded).all():
            raise InvalidInput("the saved batch must be finite")
        self._score, self._products, self._memories = score[0], block[0], memories
        self._decoded = decoded.reshape(self._decoded.shape)

    def __repr__(self) -> str:
        return "ExactBatch(<sensitive>)"


# Of the factors. in_unit_ball holds score and psi to the unit ball, along the line of phi; this keeps them finite.
_MOST = 2.0**60


def _added(totals: list[int], values: list[int]) -> list[int]:
    return [total + value for total, value in zip(totals, values, strict=True)]


def _shift(grid: float) -> int:
    """grid = 2^-shift."""
    return 1 - math.frexp(grid)[1]
