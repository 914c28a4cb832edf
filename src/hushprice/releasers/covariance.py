"""PrivateCov (alg:private-cov): the covariance of the records so far, released after every one of them."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from hushprice import checks
from hushprice.accounting.events import ContinualCovariance, Event, NotPrivate
from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.numerics import tape
from hushprice.numerics.jit import step
from hushprice.numerics.linear import packed_size
from hushprice.releasers import tree
from hushprice.releasers.noise import NoiseSource
from hushprice.releases import CovarianceRelease
from hushprice.types import FloatArray


class CovarianceReleaser(Protocol):
    """Anything that turns a stream of features into a stream of private covariances; bring your own by writing this."""

    def absorb(self, phi: FloatArray) -> CovarianceRelease:
        """Take the next record's features (||phi|| <= 1) and release the covariance of all so far."""
        ...

    def state(self) -> dict[str, FloatArray]:
        """Arrays that must survive a restart. Noise already released is among them and is never drawn again."""
        ...

    def restore(self, state: dict[str, FloatArray], count: int) -> None:
        """Take up after `count` records."""
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
    """The binary-tree releaser with independent N(0, noise^2) on the upper triangle of every node."""

    def __init__(self, *, horizon: int, dimension: int, noise: float, source: NoiseSource, event: Event) -> None:
        checks.whole(1, horizon=horizon, dimension=dimension)
        checks.non_negative(noise=noise)
        levels, size = tree.levels(horizon), packed_size(dimension)
        described = ContinualCovariance(noise, levels, dimension) if noise > 0.0 else NotPrivate()
        if event not in (described, NotPrivate()):
            raise InvalidInput(f"event must describe this release, {described!r}, got {event!r}")
        self._horizon = horizon
        self._dimension = dimension
        self._noise = noise
        self._source = source
        self._event = event
        self._count = 0
        self._exact = np.zeros((levels, size))
        self._running = np.zeros((levels + 1, size))
        self._summand = np.zeros(size)

    def absorb(self, phi: FloatArray) -> CovarianceRelease:
        if phi.shape != (self._dimension,):
            raise InvalidInput(f"phi must have {self._dimension} entries, got shape {phi.shape}")
        if self._count + 1 >= self._horizon:
            raise BudgetExhausted(f"{self._count} records are all that a horizon of {self._horizon} periods sums")
        self._count += 1
        outers(phi.reshape(-1, 1), 0, 1, self._summand.reshape(-1, 1))
        noise = np.zeros(self._summand.size)
        if self._noise > 0.0:
            noise = self._noise * self._source.normals(tape.COVARIANCE_NOISE, self._count, noise.size)
        tree.absorb(self._exact, self._running, self._count, self._summand, noise)
        return CovarianceRelease(self._running[0], self._count, self._event)

    def state(self) -> dict[str, FloatArray]:
        return {"exact": self._exact.copy(), "running": self._running.copy()}

    def restore(self, state: dict[str, FloatArray], count: int) -> None:
        checks.whole(0, count=count)
        exact, running = state["exact"], state["running"]
        if exact.shape != self._exact.shape or running.shape != self._running.shape or count >= self._horizon:
            raise InvalidInput("the saved tree is for another horizon or dimension")
        self._exact[:] = exact
        self._running[:] = running
        self._count = count

    def __repr__(self) -> str:
        return "PrivateCov(<sensitive>)"
