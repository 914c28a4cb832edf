"""A covariance releaser of your own: publish once a block of records instead of after every record.

The built-in tree puts each record into one noisy sum a level, 10 of them for 1,000 customers. Here a record enters one
sum, that of its block. One Gaussian release of noise s costs what `levels` releases of noise s sqrt(levels) cost, so
the block's noise may be that much smaller at the same privacy. The price: nothing is learned inside a block.

Run: python examples/own_releaser.py
"""

import math

import numpy as np

from hushprice import open_pricer
from hushprice.accounting.events import ContinualCovariance
from hushprice.numerics import tape
from hushprice.releasers.covariance import CovarianceReleaser, PrivateCov
from hushprice.releasers.noise import NoiseSource, System, Tape
from hushprice.releases import CovarianceRelease
from hushprice.types import FloatArray

HORIZON = 1_000


class BlockCovariance:
    """The sum of phi phi' over whole blocks; each block's noise is drawn once, when the block is full."""

    def __init__(self, event: ContinualCovariance, *, block: int, source: NoiseSource) -> None:
        self._event = event  # what the ledger charges: this releaser must cost no more
        self._noise = event.noise / math.sqrt(event.levels)
        self._block, self._source = block, source
        self._upper = np.triu_indices(event.dimension)
        self._count = 0
        self._released, self._open = np.zeros((2, self._upper[0].size))  # the second is exact: it never leaves

    def absorb(self, phi: FloatArray) -> CovarianceRelease:
        self._count += 1
        self._open += np.outer(phi, phi)[self._upper]
        if self._count % self._block == 0:
            noise = self._source.normals(tape.COVARIANCE_NOISE, self._count, self._open.size)
            self._released += self._open + self._noise * noise
            self._open[:] = 0.0
        return CovarianceRelease(self._released, self._count - self._count % self._block, self._event)

    def state(self) -> dict[str, FloatArray]:
        return {"open": self._open.copy(), "released": self._released.copy()}

    def restore(self, state: dict[str, FloatArray], count: int) -> None:
        self._open[:], self._released[:], self._count = state["open"], state["released"], count


def error(releaser: CovarianceReleaser, customers: FloatArray) -> float:
    """How far the last release lies from the truth, as only a simulation can know it."""
    release = [releaser.absorb(phi) for phi in customers][-1]
    covered = customers[: release.records]
    return float(np.abs(release.packed - (covered.T @ covered)[np.triu_indices(2)]).mean())


def main() -> None:
    """Both releasers on the same customers, then a pricer that learns through the blocks."""
    event = open_pricer(horizon=HORIZON, contexts=1, epsilon=4.0).ledger.allowance[0].event
    assert isinstance(event, ContinualCovariance)
    customers = np.random.default_rng(1).uniform(-0.7, 0.7, (HORIZON - 1, 2))
    errors = np.empty((40, 2))
    for trial in range(40):
        source = Tape(seed=1, trial=trial)  # reproducible noise, for simulation: it protects nobody
        tree = PrivateCov(horizon=HORIZON, dimension=2, noise=event.noise, source=source, event=event)
        errors[trial] = error(tree, customers), error(BlockCovariance(event, block=100, source=source), customers)
    print(f"Typical error of the last release: tree {errors[:, 0].mean():.0f}, blocks {errors[:, 1].mean():.0f}")

    own = BlockCovariance(event, block=100, source=System())
    pricer = open_pricer(horizon=HORIZON, contexts=1, epsilon=4.0, covariance=own)
    for context in customers[:, :1]:
        pricer.observe(pricer.quote(context).id, 1.0)
    print(f"Plugged in: {pricer.slots.count} customers, {pricer.quoter.version} estimates released")


if __name__ == "__main__":
    main()
