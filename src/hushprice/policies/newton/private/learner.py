"""The side of noisy-newton that reads records: each is added to its batch's sums, and kept nowhere.

What a record can move is settled here, whatever the other side asks: it enters one batch, a batch's score is released
once and ends it, its curvature once a block and at most 2^level times. All of it is one event, paid at the start.
"""

from __future__ import annotations

import numpy as np

from hushprice import checks
from hushprice.demand.protocol import Demand, lowest
from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.noise import NoiseSource, Normals, System, Tape
from hushprice.policies.newton.noise import open_ledger
from hushprice.policies.newton.private.batches import Batch, IdealBatch, Scorer
from hushprice.policies.newton.private.exact_batches import ExactBatch
from hushprice.policies.newton.private.scores import ROWS
from hushprice.policies.newton.rules import NewtonRules
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import Batches, NotPrivate
from hushprice.records import hold_to_unit_ball
from hushprice.releases import CurvatureRelease, ScoreRelease
from hushprice.types import FloatArray


class NewtonLearner:
    """The batch at hand of one product."""

    def __init__(
        self,
        *,
        demand: Demand,
        dimension: int,
        rules: NewtonRules,
        source: NoiseSource,
        adjacency: Adjacency = Adjacency.REPLACE_ONE,
        level: int = 0,
    ) -> None:
        self.event = rules.noise.event(dimension, live=not source.simulated) if rules.drawn else NotPrivate()
        self.ledger = open_ledger(rules.noise, self.event, adjacency).spend(self.event)  # all batches are one release
        self.batch = _batch(dimension, source, self.event)
        self._scorer = Scorer(demand=demand, cap=rules.cap)
        self._dimension = dimension
        self._bounds = lowest(demand), float(demand.bound)
        self.levels = rules.noise.levels
        self.count = 0  # records, of all batches
        self.clipped_features = 0
        self.clipped_demands = 0
        self.begin(level)

    def begin(self, level: int) -> None:
        """The next batch, with at most 2^level blocks. Only once the last one's score is out, or before any record."""
        checks.whole(0, level=level)
        checks.within(0, self.levels, level=level)
        if self.count > 0 and not self.ended:
            raise InvalidInput("a batch must end before the next one begins")
        self._begin(level)

    def check_jump(self, records: int) -> None:
        """Only forwards: a slot that was learned is never learned again."""
        checks.whole(0, records=records)
        if records < self.count:
            raise InvalidInput(f"records must be at least {self.count}, the slots learned, got {records}")

    def jump(self, records: int, level: int) -> None:
        """Drop the batch at hand, its sums unreleased, and begin one after slot `records`. No slot is in both."""
        self.check_jump(records)
        self.count = records
        self._begin(level)

    def _begin(self, level: int) -> None:
        self.batch.begin(level)
        self.level = level
        self.blocks = 0  # looked at
        self.last_curvature: CurvatureRelease | None = None
        self.last_score: ScoreRelease | None = None

    @property
    def ended(self) -> bool:
        """Is the batch's score out?"""
        return self.last_score is not None

    def absorb(self, phi: FloatArray, demand: float, theta: FloatArray, inverse: FloatArray) -> None:
        """Add one record to the batch, scored at the belief N(theta, inverse), which is public.

        One that cannot be scored adds nothing, and keeps its slot: what is released when must not depend on it.
        """
        self.absorb_all(np.reshape(phi, (-1, 1)), np.array([demand], dtype=float), theta, inverse)

    def absorb_all(self, phi: FloatArray, demand: FloatArray, theta: FloatArray, inverse: FloatArray) -> None:
        """Add records, columns of phi, each as if it were the only one. All keep their slots if one cannot be."""
        self.skip(demand.size)
        if phi.shape != (self._dimension, demand.size):
            raise InvalidInput(f"phi must have {self._dimension} entries a record, got shape {phi.shape}")
        if not (np.isfinite(phi).all() and np.isfinite(demand).all()):
            raise InvalidInput("a record must be finite")  # says no more: its values are sensitive
        columns = np.array(phi, dtype=float, order="C")
        self.clipped_features += hold_to_unit_ball(columns, 0, demand.size)
        held = np.clip(demand, *self._bounds)
        self.clipped_demands += int((held != demand).sum())
        work = np.empty((ROWS, demand.size))
        self._scorer.weigh(columns, held, theta, inverse, work)
        self.batch.add(columns, work)

    def skip(self, slots: int = 1) -> None:
        """Count slots of the batch. All that they add is their number, whatever records they have."""
        if self.ended:
            raise BudgetExhausted("the batch has ended: a record may not enter it")
        self.count += slots

    def curvature(self) -> CurvatureRelease:
        """The batch's curvature so far. Asked again before the next record, it is the same release, not a new one."""
        if self.last_curvature is not None and self.last_curvature.records == self.count:
            return self.last_curvature
        if self.ended or self.blocks >= 1 << self.level:
            raise BudgetExhausted(f"a batch's curvature is looked at {1 << self.level} times at most")
        self.last_curvature = CurvatureRelease(self.batch.look(self.count), self.count, self.event)
        self.blocks += 1
        return self.last_curvature

    def score(self) -> ScoreRelease:
        """The batch's score, which ends it. Asked again, it is the same release."""
        if self.last_score is None:
            self.last_score = ScoreRelease(self.batch.score(self.count), self.count, self.event)
        return self.last_score

    def __repr__(self) -> str:
        return "NewtonLearner(<sensitive>)"


def _batch(dimension: int, source: NoiseSource, event: Batches | NotPrivate) -> Batch:
    """Ideal noise from a tape, exact noise from the operating system; without noise the two are the same sums."""
    if isinstance(event, NotPrivate):
        return IdealBatch(dimension=dimension, score_noise=0.0, curvature_noise=0.0, source=Tape(0, 0))
    if isinstance(source, System):
        return ExactBatch(event=event, source=source)
    if not isinstance(source, Normals):
        raise InvalidInput(f"source {source.label!r} gives no normals, which the batches need")
    return IdealBatch(
        dimension=dimension, score_noise=event.score_noise, curvature_noise=event.curvature_noise, source=source
    )
