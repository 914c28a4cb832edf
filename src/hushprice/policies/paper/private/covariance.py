"""PrivateCov (alg:private-cov): the covariance of the records so far, released after every one of them."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from hushprice import checks
from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.mechanisms import toeplitz, tree
from hushprice.mechanisms.continual_sum import empty_state, scales_of, sections_of
from hushprice.noise import ManyNormals, Normals
from hushprice.numerics import tape
from hushprice.numerics.jit import step
from hushprice.numerics.linear import packed_size
from hushprice.policies.paper.noise import strategy_of
from hushprice.privacy.events import FROBENIUS, CovarianceStream, Event, NotPrivate
from hushprice.privacy.streams import Tree, steps_of
from hushprice.releases import CovarianceRelease
from hushprice.types import FloatArray


class CovarianceReleaser(Protocol):
    """Anything that turns a stream of features into a stream of private covariances; bring your own by writing this."""

    def absorb(self, phi: FloatArray) -> CovarianceRelease:
        """Take the next record's features (||phi|| <= 1) and release the covariance of all so far."""
        ...


@step
def outers(phi: FloatArray, start: int, count: int, out: FloatArray) -> None:
    """phi phi' of the columns start .. start + count - 1 of phi (d, records), packed, one column each."""
    k = 0
    for i in range(phi.shape[0]):
        left = phi[i, start : start + count]
        for j in range(i, phi.shape[0]):
            right, target = phi[j, start : start + count], out[k]
            for c in range(count):
                target[c] = left[c] * right[c]
            k += 1


class PrivateCov:
    """The covariance stream with ideal noise from a tape: the simulator's arithmetic, one record at a time.

    Live use takes `exact.ExactCov` instead. An `event` of NotPrivate means no noise.
    """

    def __init__(self, *, horizon: int, dimension: int, source: Normals, event: Event) -> None:
        checks.whole(1, horizon=horizon, dimension=dimension)
        steps = steps_of(horizon)
        noise, frobenius, strategy = 0.0, False, strategy_of("tree", horizon)
        if isinstance(event, CovarianceStream):
            if (event.steps, event.dimension, event.grid) != (steps, dimension, 0.0):
                raise InvalidInput(f"event must describe this release, got {event!r}")
            noise, frobenius, strategy = event.noise, event.layout == FROBENIUS, event.strategy
        elif not isinstance(event, NotPrivate):
            raise InvalidInput(f"event must be a CovarianceStream or NotPrivate, got {event!r}")
        self._horizon = horizon
        self._dimension = dimension
        self._scales = scales_of(noise, frobenius, dimension)
        self._source = source
        self._event = event
        self._count = 0
        self._exact, self._running = empty_state(strategy, dimension)
        self._sections = None if isinstance(strategy, Tree) else sections_of(strategy)
        self._summand = np.zeros(packed_size(dimension))

    def absorb(self, phi: FloatArray) -> CovarianceRelease:
        if phi.shape != (self._dimension,):
            raise InvalidInput(f"phi must have {self._dimension} entries, got shape {phi.shape}")
        self._check_steps_left(1)
        self._count += 1
        outers(phi.reshape(-1, 1), 0, 1, self._summand.reshape(-1, 1))
        noise = np.zeros(self._summand.size)
        if self._scales[0] > 0.0:
            noise = self._scales * self._source.normals(tape.COVARIANCE_NOISE, self._count, noise.size)
        if self._sections is None:
            tree.absorb(self._exact, self._running, self._count, self._summand, noise)
        else:
            toeplitz.absorb(self._exact, self._running, *self._sections, self._summand, noise)
        return CovarianceRelease(self._running[0], self._count, self._event)

    def absorb_many(self, phi: FloatArray) -> FloatArray:
        """`absorb` the columns of phi (d, records) one after the other; returns what was released, a row a record."""
        if phi.ndim != 2 or phi.shape[0] != self._dimension:
            raise InvalidInput(f"phi must have {self._dimension} rows, got shape {phi.shape}")
        first, count, size = self._count + 1, phi.shape[1], self._summand.size
        self._check_steps_left(count)
        summands, noise, before = (np.zeros((size, count)) for _ in range(3))
        if self._scales[0] > 0.0:
            if not isinstance(self._source, ManyNormals):
                raise InvalidInput("source must give the noise of many periods at once")
            noise = self._source.normals_many(tape.COVARIANCE_NOISE, first, count, size)
        self._count += count
        outers(phi, 0, count, summands)
        if self._sections is None:
            tree.absorb_many(self._exact, self._running, first, count, summands, noise, self._scales, before)
        else:
            toeplitz.absorb_many(
                self._exact, self._running, *self._sections, count, summands, noise, self._scales, before
            )
        return np.vstack([before.T[1:], self._running[0]])

    def _check_steps_left(self, records: int) -> None:
        if self._count + records >= self._horizon:
            raise BudgetExhausted(f"{self._count} records are all that a horizon of {self._horizon} periods sums")

    def state(self) -> bytes:
        """What must survive a restart. Noise already released is part of it and is never drawn again."""
        return np.concatenate([self._exact.ravel(), self._running.ravel()]).astype("<f8").tobytes()

    def restore(self, state: bytes, count: int) -> None:
        """Take up after `count` records."""
        checks.whole(0, count=count)
        size = self._exact.size + self._running.size
        if len(state) != 8 * size or count >= self._horizon:
            raise InvalidInput("the saved covariance is for another horizon or dimension")
        numbers = np.frombuffer(state, dtype="<f8")
        if not np.isfinite(numbers).all():
            raise InvalidInput("the saved covariance must be finite")
        self._exact[:] = numbers[: self._exact.size].reshape(self._exact.shape)
        self._running[:] = numbers[self._exact.size :].reshape(self._running.shape)
        self._count = count

    def __repr__(self) -> str:
        return "PrivateCov(<sensitive>)"
