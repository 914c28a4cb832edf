"""A learner to whom devices send bits, and those devices: simulations of the trust models `local` and `shuffle`.

What a device does is trust/bits.py, here for many customers at once. The learner adds up what bits count for: a sum
whose mean is the sum of what the records would have added.
"""

from __future__ import annotations

import numpy as np

from hushprice.errors import InvalidInput
from hushprice.noise import NoiseSource
from hushprice.policies.cautious.pricing import population
from hushprice.policies.cautious.pricing.instruments import WATCHING
from hushprice.policies.cautious.private.learner import CautiousLearner
from hushprice.policies.cautious.private.sums import Contributions
from hushprice.policies.cautious.report_noise import asked_share, common_bounds, weights
from hushprice.policies.cautious.rules import CautiousRules
from hushprice.releases import MomentRelease
from hushprice.trust import bits
from hushprice.types import BoolArray, FloatArray, IntArray


class ReportLearner(CautiousLearner):
    """The batch at hand, of which bits are known. It has to be told how long a batch is to be: `keep` depends on it."""

    def __init__(
        self, *, rules: CautiousRules, source: NoiseSource, choice: int, slots: int, rng: np.random.Generator
    ) -> None:
        if rules.bits is None:
            raise InvalidInput(f"trust must be 'local' or 'shuffle' for reports of bits, got {rules.trust!r}")
        self._bits = rules.bits
        self._rng = rng  # of the devices and the shuffler
        super().__init__(rules=rules, source=source, choice=choice)
        self.expect(slots)

    def expect(self, slots: int) -> None:
        """The batch that has begun is to have so many slots."""
        self.among, self.keep = self._bits.step(slots, self.choice)
        self.sides = np.zeros(2, dtype=np.int64)  # reports so far

    def _contributions(
        self,
        contexts: FloatArray,
        prices: FloatArray,
        coins: FloatArray,
        demands: FloatArray,
        theta: FloatArray,
        *,
        holdout: BoolArray,
    ) -> Contributions:
        given = super()._contributions(contexts, prices, coins, demands, theta, holdout=holdout)
        side = np.where((coins > 0.0) | (self.choice == WATCHING), 0, 1)
        each, about = np.arange(side.size), self._about(side.size)
        own = given.scores.reshape(side.size, 2, -1)[each, side]
        low, high = self._between(own[:, 0] + np.clip(demands, 0.0, 1.0))
        middle = 0.5 * (low + high)
        largest, scale = max(1.0 - self._model.least, self._model.most), bits.scale(self._model.contexts)
        number = np.where(about == 0, (own[:, 0] - low) / (high - low), 0.5 + 0.5 * own[each, about] * scale / largest)
        up = self._rng.random(side.size) < number
        up ^= self._rng.random(side.size) >= self.keep
        self.sides += np.bincount(side, minlength=2)
        rows = self._counted(side, about, up)
        rows.reshape(side.size, 2, -1)[each, side, 0] += middle
        return Contributions(rows, np.zeros_like(given.descriptions), np.zeros_like(given.earnings))

    def _between(self, believed: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bounds of residuals: trust.bits.bounds."""
        if self._model.contexts == 0:
            return believed - 1.0, believed
        low, high = common_bounds(self._model)
        return np.full(believed.size, low), np.full(believed.size, high)

    def _counted(self, side: IntArray, about: IntArray, up: BoolArray) -> FloatArray:
        """Rows of a score: what each bit counts for, where it belongs."""
        common, personal = weights(self._model, self.choice, self.keep)
        rows = np.zeros((side.size, 2, self._model.contexts + 1))
        rows[np.arange(side.size), side, about] = np.where(about == 0, common, personal) * np.where(up, 1.0, -1.0)
        return rows.reshape(side.size, rows.shape[1] * rows.shape[2])

    def _about(self, count: int) -> IntArray:
        """What each device is asked about, which it draws itself."""
        k = self._model.contexts
        asked = self._rng.random(count) < asked_share(self._model, self.choice)
        return np.asarray(np.where(asked, 1 + self._rng.integers(max(k, 1), size=count), 0))

    def release(self) -> MomentRelease:
        if self.last is None and self._bits.delta is not None:
            self._pad()
        return super().release()

    def _pad(self) -> None:
        """The shuffler adds fair bits where a side has too few to hide among."""
        used = [0] if self.choice == WATCHING else [0, 1]
        side = np.repeat(used, np.maximum(self.among - self.sides[used], 0))
        rows = self._counted(side, self._about(side.size), self._rng.random(side.size) < 0.5)
        described = np.zeros((side.size, population.entries(self._model.contexts)))
        self.batch.add(Contributions(rows, described, np.zeros((side.size, 2))))
        self.sides = np.maximum(self.sides, self.among)
