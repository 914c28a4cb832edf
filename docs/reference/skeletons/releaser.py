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
from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.noise import NoiseSource, System, Tape
from hushprice.numerics import tape
from hushprice.policies.paper.private.covariance import CovarianceReleaser
from hushprice.privacy import sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import Event, grid_of
from hushprice.privacy.loss import Loss
from hushprice.releases import CovarianceRelease
from hushprice.types import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class BlockSums:
    """[2] The event. It goes to privacy/events.py, and into the union `Event` there; its cost to privacy/loss.py.

    Says enough to write an accountant from it alone: sums of phi phi' over `blocks` disjoint blocks, ||phi|| <= 1;
    every block's upper triangle gets independent N(0, noise^2) entries, once. `grid` is 0 for ideal noise; live noise
    is the discrete Gaussian on its multiples.
    """

    blocks: int
    dimension: int
    noise: float
    grid: float = 0.0

    def __post_init__(self) -> None:
        checks.whole(1, blocks=self.blocks, dimension=self.dimension)
        checks.positive(noise=self.noise)
        if self.grid not in (0.0, grid_of(self.noise)):
            raise InvalidInput(f"grid must be 0 or {grid_of(self.noise)!r}, got {checks.shown(self.grid)}")

    @property
    def entries(self) -> int:
        """Numbers in one block's upper triangle."""
        return self.dimension * (self.dimension + 1) // 2


def loss_of_block_sums(event: BlockSums, count: int, adjacency: Adjacency) -> Loss:
    """What `count` of them cost: a branch of `loss_of` in privacy/loss.py, which refuses events it has none for."""
    moved = sensitivity.of_covariance(adjacency)
    if event.grid > 0.0:
        # Two worlds' sums are rounded to the grid before noise: one step a number, and another covers the float sums.
        moved += 2.0 * event.grid * math.sqrt(event.entries)
    return Loss(
        mu_squared=count * (moved / event.noise) ** 2,
        coordinates=count * event.blocks * event.entries if event.grid > 0.0 else 0,
    )


class BlockReleaser:
    """The mechanism. It goes to releasers/, reads records, and hands out nothing but releases."""

    def __init__(self, *, event: BlockSums, block: int, source: NoiseSource) -> None:
        checks.whole(1, block=block)
        if (event.grid > 0.0) != (not source.simulated):  # the event must say what is drawn
            raise InvalidInput(f"event must describe this release, got {event!r}")
        self._event = event
        self._block = block
        self._source = source  # never a generator of its own: all noise comes through noise.py
        self._count = 0
        self._exact = np.zeros(event.entries)  # sensitive: never leaves this object
        self._released = np.zeros(event.entries)

    def absorb(self, phi: FloatArray) -> CovarianceRelease:
        if self._count >= self._block * self._event.blocks:
            raise BudgetExhausted(f"{self._count} records are all that was paid for")
        self._count += 1
        self._exact += np.outer(phi, phi)[np.triu_indices(phi.size)]
        if self._count % self._block == 0:
            # `add`, and not a sum of your own: live, it rounds to the grid first, so that no low digit tells anything.
            self._released += self._source.add(self._exact, self._event.noise, tape.COVARIANCE_NOISE, self._count)
            self._exact[:] = 0.0
        covered = self._count - self._count % self._block
        return CovarianceRelease(self._released, covered, cast(Event, self._event))  # no cast once `Event` has it

    def __repr__(self) -> str:
        return "BlockReleaser(<sensitive>)"  # a record cannot be printed by accident


# [3] The oracle test, for tests/releasers/: a closed form, an inverse, a slow twin or a second library. Here the closed
# form: next to no noise must give the exact sum, and the noise of k blocks must add up to k variances.


def test_without_noise_the_release_is_the_exact_sum() -> None:
    phi = np.random.default_rng(3).uniform(-0.7, 0.7, (20, 2))
    releaser = BlockReleaser(event=BlockSums(blocks=4, dimension=2, noise=1e-12), block=5, source=Tape(1, 0))
    last = [releaser.absorb(row) for row in phi][-1]
    assert last.records == 20
    np.testing.assert_allclose(last.packed, (phi.T @ phi)[np.triu_indices(2)], atol=1e-10)


def test_four_blocks_have_four_variances() -> None:
    def release(trial: int) -> FloatArray:
        releaser = BlockReleaser(event=BlockSums(blocks=4, dimension=1, noise=3.0), block=2, source=Tape(1, trial))
        return [releaser.absorb(np.zeros(1)) for _ in range(8)][-1].packed

    variance = np.var([release(trial) for trial in range(2000)])
    assert abs(variance / (4 * 3.0**2) - 1.0) < 5 * math.sqrt(2 / 2000)  # false alarm: 6e-7


def test_live_releases_lie_on_the_grid() -> None:
    event = BlockSums(blocks=2, dimension=2, noise=3.0, grid=grid_of(3.0))
    releaser = BlockReleaser(event=event, block=1, source=System())
    for phi in (FIRST, SECOND):
        assert not np.modf(releaser.absorb(phi).packed / event.grid)[0].any()


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
    event, half = (BlockSums(blocks=1, dimension=2, noise=noise) for noise in (1.5, 0.75))

    def sound(trial: int) -> CovarianceReleaser:
        return BlockReleaser(event=event, block=1, source=Tape(5, trial))

    def broken(trial: int) -> CovarianceReleaser:
        return BlockReleaser(event=half, block=1, source=Tape(5, trial))

    paid = loss_of_block_sums(event, 1, Adjacency.REPLACE_ONE).mu
    assert audited_mu(sound) <= paid < audited_mu(broken)


# [5] The line in docs/proofs/README.md: the page of its proof, what it proves, and which function uses it.
#
# - [block_sums.md](block_sums.md): noisy sums over disjoint blocks (`loss._of_block_sums`).
