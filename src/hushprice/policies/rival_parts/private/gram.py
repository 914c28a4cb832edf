"""The side that reads records: the Gram matrix of rows [psi; y], released after every record."""

from __future__ import annotations

import numpy as np

from hushprice.errors import InvalidInput
from hushprice.mechanisms import toeplitz, tree
from hushprice.mechanisms.continual_sum import empty_state, scales_of, sections_of
from hushprice.mechanisms.exact_covariance import ExactCov
from hushprice.noise import ManyNormals, System, Tape
from hushprice.numerics import tape
from hushprice.numerics.linear import packed_size
from hushprice.policies.rival_parts.private.arithmetic import Source
from hushprice.privacy import streams
from hushprice.privacy.events import CovarianceStream, Event, NotPrivate
from hushprice.privacy.streams import Tree
from hushprice.records import hold_to_unit_ball
from hushprice.releases import CovarianceRelease
from hushprice.types import FloatArray


class GramReleaser:
    """Prefix sums of w w', ||w|| <= 1, with a stream's noise; without an event, without noise.

    Every row is held to the unit ball as it comes, since the noise is sized by that (docs/proofs/continual_release.md).
    Records past the event's steps change nothing: no price is left that could use them.
    """

    def __init__(self, dimension: int, horizon: int, event: CovarianceStream | None, source: ManyNormals) -> None:
        if event is not None and (event.dimension, event.grid) != (dimension, 0.0):
            raise InvalidInput(f"event must describe this release, got {event!r}")
        self._steps = streams.steps_of(horizon) if event is None else event.steps
        self._event: Event = NotPrivate() if event is None else event
        self._scales = scales_of(0.0 if event is None else event.noise, True, dimension)
        self._source, self._count, self._dimension = source, 0, dimension
        strategy = streams.tree(horizon) if event is None else event.strategy
        self._exact, self._running = empty_state(strategy, dimension)
        self._sections = None if isinstance(strategy, Tree) else sections_of(strategy)

    def absorb_many(self, rows: FloatArray) -> None:
        """Take rows (records, dimension), in order. NaN is refused before anything changes."""
        if not np.isfinite(rows).all():
            raise InvalidInput("a record must be finite")  # says no more: its values are sensitive
        rows = rows[: self._steps - self._count]
        count, size = len(rows), packed_size(self._dimension)
        if count == 0:
            return
        held = np.ascontiguousarray(rows.T)
        hold_to_unit_ball(held, 0, count)
        first, second = np.triu_indices(self._dimension)
        summands = held[first] * held[second]
        noise = self._source.normals_many(tape.COVARIANCE_NOISE, self._count + 1, count, size)
        noise, before = np.ascontiguousarray(noise), np.empty((size, count))
        if self._sections is None:
            first_record = self._count + 1
            tree.absorb_many(self._exact, self._running, first_record, count, summands, noise, self._scales, before)
        else:
            toeplitz.absorb_many(
                self._exact, self._running, *self._sections, count, summands, noise, self._scales, before
            )
        self._count += count

    def absorb(self, row: FloatArray) -> CovarianceRelease:
        """Take one row and release, for audits."""
        self.absorb_many(row.reshape(1, -1))
        return self.release()

    def release(self) -> CovarianceRelease:
        """The noisy sum of all rows so far. Noise was drawn when the rows came, so asking again tells nothing new."""
        return CovarianceRelease(self._running[0], self._count, self._event)

    def __repr__(self) -> str:
        return "GramReleaser(<sensitive>)"


class LiveGramReleaser:
    """The same with exact noise on the event's grid, a record at a time."""

    def __init__(self, event: CovarianceStream, source: System) -> None:
        self._stream, self._left = ExactCov(event=event, source=source), event.steps
        self._newest = CovarianceRelease(np.zeros(packed_size(event.dimension)), 0, event)

    def absorb_many(self, rows: FloatArray) -> None:
        """Take rows (records, dimension), in order. NaN is refused before anything changes."""
        if not np.isfinite(rows).all():
            raise InvalidInput("a record must be finite")  # says no more: its values are sensitive
        for row in rows[: self._left]:
            self._newest = self._stream.absorb(row)
            self._left -= 1

    def absorb(self, row: FloatArray) -> CovarianceRelease:
        """Take one row and release, for audits."""
        self.absorb_many(row.reshape(1, -1))
        return self.release()

    def release(self) -> CovarianceRelease:
        """The noisy sum of all rows so far."""
        return self._newest

    def __repr__(self) -> str:
        return "LiveGramReleaser(<sensitive>)"


def gram_releaser(
    dimension: int, horizon: int, event: CovarianceStream | None, source: Source
) -> GramReleaser | LiveGramReleaser:
    """What the event describes: simulated noise comes from a generator, and live noise from the system."""
    if not isinstance(source, System):
        return GramReleaser(dimension, horizon, event, Tape(int(source.integers(2**62)), 0))
    if event is None or event.dimension != dimension:
        raise InvalidInput(f"event must describe this release, got {event!r}")
    return LiveGramReleaser(event, source)  # which refuses an event without a grid
