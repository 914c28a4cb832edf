"""Skeleton of a new mechanism, to be copied and overwritten. It runs as it stands, and a test runs it.

A new mechanism needs five things. They are marked [1] to [5] below.

[1] The formula, with its label. Here: after block k of B records release

        S_k = sum_{t <= kB} phi_t phi_t' + W_1 + ... + W_k,     W_i symmetric, upper triangle i.i.d. N(0, noise^2).

    Paper: (your label). Differs from alg:private-cov: a record enters one noisy sum instead of one a tree level.
    Why it is private: a record is in one block, and replacing it moves that block's upper triangle by at most sqrt(2)
    in Euclidean norm (attained by orthonormal features). So all S_k together are Gaussian-private with
    mu = sqrt(2) / noise. Noise is drawn once a block and before the next record is seen, so later features may depend
    on earlier releases.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from hushprice import checks
from hushprice.accounting.events import Event
from hushprice.numerics import tape
from hushprice.releasers.covariance import CovarianceReleaser
from hushprice.releasers.noise import NoiseSource, Tape
from hushprice.releases import CovarianceRelease
from hushprice.types import FloatArray


@dataclass(frozen=True, slots=True)
class BlockSums:
    """[2] The event. It goes to accounting/events.py, and into the union `Event` there.

    Says enough to write an accountant from it alone: sums of phi phi' over disjoint blocks, ||phi|| <= 1; every
    block's upper triangle gets independent N(0, noise^2) entries, once.
    """

    noise: float
    dimension: int

    def __post_init__(self) -> None:
        checks.positive(noise=self.noise)
        checks.whole(1, dimension=self.dimension)

    @property
    def mu(self) -> float:
        """The Gaussian-DP parameter when one record is replaced."""
        return math.sqrt(2.0) / self.noise


class BlockReleaser:
    """The mechanism. It goes to releasers/, reads records, and hands out nothing but releases."""

    def __init__(self, *, event: BlockSums, block: int, source: NoiseSource) -> None:
        checks.whole(1, block=block)
        size = event.dimension * (event.dimension + 1) // 2
        self._event = event
        self._block = block
        self._source = source  # never a generator of its own: all noise comes through releasers/noise.py
        self._count = 0
        self._exact = np.zeros(size)  # sensitive: never leaves this object
        self._released = np.zeros(size)

    def absorb(self, phi: FloatArray) -> CovarianceRelease:
        self._count += 1
        self._exact += np.outer(phi, phi)[np.triu_indices(phi.size)]
        if self._count % self._block == 0:
            noise = self._source.normals(tape.COVARIANCE_NOISE, self._count, self._exact.size)
            self._released += self._exact + self._event.noise * noise
            self._exact[:] = 0.0
        covered = self._count - self._count % self._block
        return CovarianceRelease(self._released, covered, cast(Event, self._event))  # no cast once `Event` has it

    def state(self) -> dict[str, FloatArray]:
        return {"exact": self._exact.copy(), "released": self._released.copy()}

    def restore(self, state: dict[str, FloatArray], count: int) -> None:
        self._exact[:] = state["exact"]
        self._released[:] = state["released"]
        self._count = count

    def __repr__(self) -> str:
        return "BlockReleaser(<sensitive>)"  # a record cannot be printed by accident


# [3] The oracle test, for tests/releasers/: a closed form, an inverse, a slow twin or a second library. Here the closed
# form: next to no noise must give the exact sum, and the noise of k blocks must add up to k variances.


def test_without_noise_the_release_is_the_exact_sum() -> None:
    phi = np.random.default_rng(3).uniform(-0.7, 0.7, (20, 2))
    releaser = BlockReleaser(event=BlockSums(1e-12, 2), block=5, source=Tape(1, 0))
    last = [releaser.absorb(row) for row in phi][-1]
    assert last.records == 20
    np.testing.assert_allclose(last.packed, (phi.T @ phi)[np.triu_indices(2)], atol=1e-10)


def test_four_blocks_have_four_variances() -> None:
    def release(trial: int) -> FloatArray:
        releaser = BlockReleaser(event=BlockSums(3.0, 1), block=2, source=Tape(1, trial))
        return [releaser.absorb(np.zeros(1)) for _ in range(8)][-1].packed

    variance = np.var([release(trial) for trial in range(2000)])
    assert abs(variance / (4 * 3.0**2) - 1.0) < 5 * math.sqrt(2 / 2000)  # false alarm: 6e-7


# [4] The audit, with a broken twin that it must catch: attack the worst pair of neighbours and bound mu from below.

FIRST, SECOND = np.array([1.0, 0.0]), np.array([0.0, 1.0])  # orthonormal: the pair that attains sqrt(2)


def audited_mu(make: Callable[[int], CovarianceReleaser], trials: int = 1000) -> float:
    """A lower bound on mu that holds with probability 1 - 3e-5."""
    towards = np.array([1.0, 0.0, -1.0])
    seen = np.array(
        [[make(2 * t + i).absorb((FIRST, SECOND)[i]).packed @ towards for i in (0, 1)] for t in range(trials)]
    )
    spread = math.sqrt(seen.var(axis=0, ddof=1).mean())
    mu = (seen[:, 0].mean() - seen[:, 1].mean()) / spread
    return float(mu - 4.0 * math.sqrt(2.0 / trials + mu**2 / (4 * trials)))


def test_the_audit_passes_the_mechanism_and_catches_half_the_noise() -> None:
    event = BlockSums(1.5, 2)

    def sound(trial: int) -> CovarianceReleaser:
        return BlockReleaser(event=event, block=1, source=Tape(5, trial))

    def broken(trial: int) -> CovarianceReleaser:
        return BlockReleaser(event=BlockSums(event.noise / 2, 2), block=1, source=Tape(5, trial))

    assert audited_mu(sound) <= event.mu < audited_mu(broken)


# [5] The row in docs/paper_map.md: label, one line, where, which reading, which test.
#
# | (your label) | Noisy sums over disjoint blocks. | `releasers/block.py` | | `releasers/test_block.py` |
