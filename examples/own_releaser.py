"""A covariance releaser of your own: publish once a block of records instead of after every record.

The built-in releaser pays for 999 releases with one budget, so one record reaches many numbers, and the noise covers
all of them: it is `column_norm` times what a single release would need. Here a record enters one sum, that of its
block, and the noise may be that much smaller at the same privacy. The price: nothing is learned inside a block.

Run: python examples/own_releaser.py
"""

import math
from dataclasses import replace

import numpy as np

from hushprice import open_pricer
from hushprice.noise import NoiseSource, System, Tape
from hushprice.numerics import tape
from hushprice.policies.paper.private.covariance import CovarianceReleaser, PrivateCov
from hushprice.privacy.events import CovarianceStream
from hushprice.releases import CovarianceRelease
from hushprice.types import FloatArray

HORIZON = 1_000


class BlockCovariance:
    """The sum of phi phi' over whole blocks; each block's noise is drawn once, when the block is full."""

    def __init__(self, event: CovarianceStream, *, block: int, source: NoiseSource) -> None:
        self._event = event  # what the ledger charges: this releaser must cost no more
        self._noise = event.noise / event.strategy.column_norm(event.steps)
        self._block, self._source = block, source
        self._upper = np.triu_indices(event.dimension)
        # Off-diagonal entries times sqrt(2): then a record's length is that of phi phi', at most 1, in either layout.
        self._weight = np.where(self._upper[0] == self._upper[1], 1.0, math.sqrt(2.0))
        self._count = 0
        self._released, self._open = np.zeros((2, self._weight.size))  # the second is exact: it never leaves

    def absorb(self, phi: FloatArray) -> CovarianceRelease:
        self._count += 1
        self._open += self._weight * np.outer(phi, phi)[self._upper]
        if self._count % self._block == 0:
            # Live noise is on a grid, and `add` rounds to it what it is added to: no digit tells anything of a record.
            self._released += self._source.add(self._open, self._noise, tape.COVARIANCE_NOISE, self._count)
            self._open[:] = 0.0
        covered = self._count - self._count % self._block
        return CovarianceRelease(self._released / self._weight, covered, self._event)


def error(releaser: CovarianceReleaser, customers: FloatArray) -> float:
    """How far the last release lies from the truth, as only a simulation can know it."""
    release = [releaser.absorb(phi) for phi in customers][-1]
    covered = customers[: release.records]
    return float(np.abs(release.packed - (covered.T @ covered)[np.triu_indices(2)]).mean())


def main() -> None:
    """Both releasers on the same customers, then a pricer that learns through the blocks."""
    ledger = open_pricer(policy="paper", horizon=HORIZON, contexts=1, epsilon=4.0).ledger
    event = ledger.spent[0].event
    assert isinstance(event, CovarianceStream)
    ideal = replace(event, grid=0.0)  # simulated noise is not on a grid
    customers = np.random.default_rng(1).uniform(-0.7, 0.7, (HORIZON - 1, 2))
    errors = np.empty((40, 2))
    for trial in range(40):
        source = Tape(seed=1, trial=trial)  # reproducible noise, for simulation: it protects nobody
        built_in = PrivateCov(horizon=HORIZON, dimension=2, source=source, event=ideal)
        errors[trial] = error(built_in, customers), error(BlockCovariance(ideal, block=200, source=source), customers)
    print(f"Typical error of the last release: built-in {errors[:, 0].mean():.1f}, blocks {errors[:, 1].mean():.1f}")

    own = BlockCovariance(event, block=200, source=System())
    pricer = open_pricer(policy="paper", horizon=HORIZON, contexts=1, epsilon=4.0, covariance=own)
    for context in customers[:, :1]:
        pricer.observe(pricer.quote(context).id, 1.0)
    print(f"Plugged in: {pricer.slots.count} customers, {pricer.quoter.version} estimates released")


if __name__ == "__main__":
    main()
