"""The live learner of one product: due slots in, releases and a durable state out.

It holds exact sums of customers' records, so it lives in the learner's process and never in one that quotes. What it
releases, and after which slot, is decided by slot numbers and earlier releases alone (docs/proofs/operation.md).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from hushprice.errors import InvalidInput
from hushprice.noise import NoiseSource, System
from hushprice.policies.cautious import saved as cautious_saved
from hushprice.policies.cautious.engine import CautiousEngine
from hushprice.policies.cautious.joined_engine import JoinedEngine
from hushprice.policies.cautious.policy import CautiousPolicy
from hushprice.policies.cautious.report_engine import ReportEngine
from hushprice.policies.newton import saved as newton_saved
from hushprice.policies.newton.engine import NewtonEngine
from hushprice.privacy.certificates.statements import plain
from hushprice.privacy.ledger import Ledger
from hushprice.releases import CurvatureRelease, MomentRelease
from hushprice.service.learning.aggregated_totals import Totals
from hushprice.service.learning.learner_state import Clipped, SavedLearner, pack, unpack
from hushprice.service.learning.slot_records import (
    SlotRecords,
    features_at,
    priced_records,
    read_reports,
    read_slots,
    reports_asked,
)
from hushprice.service.shared.aggregator_messages import BatchOver
from hushprice.service.shared.product import AGGREGATED, LOCAL, Product, demand_of, features_of, learning_policy_of
from hushprice.service.shared.quoters import belief_json
from hushprice.service.store.values import LearnerState, ReleaseKind, SeenRelease, Slot, StoredRelease
from hushprice.types import FloatArray

# Where a stored learner keeps the engine of each policy, and who writes and reads it.
_SAVED: dict[type, tuple[str, Any]] = {
    NewtonEngine: ("engine", newton_saved),
    CautiousEngine: ("cautious", cautious_saved),
    ReportEngine: ("cautious", cautious_saved),
    JoinedEngine: ("cautious", cautious_saved),
}

_ENGINES = {LOCAL: ReportEngine, AGGREGATED: JoinedEngine}  # of policy cautious, where records do not come here


class _ReleaseMade(NamedTuple):
    """A release as it is stored."""

    kind: ReleaseKind
    numbers: FloatArray
    records: int


def _moments(made: MomentRelease | None) -> list[_ReleaseMade]:
    if made is None:
        return []
    return [_ReleaseMade("moments", np.concatenate([made.score, made.descriptions, made.earnings]), made.records)]


class ProductLearner:
    """Learns each slot once, in order. After a failure it is thrown away, and another begins from what is stored."""

    def __init__(self, spec: bytes, *, source: NoiseSource | None = None, simulation: bool = False) -> None:
        source = System() if source is None else source
        if source.simulated and not simulation:
            raise InvalidInput(f"source {source.label!r} is refused outside simulation: a known seed removes the noise")
        product = msgspec.json.decode(spec, type=Product)
        self.product = product
        self._digest = hashlib.sha256(spec).digest()
        self.learned = 0  # slots
        self.sequence = 0  # releases
        self.pending: list[StoredRelease] = []  # made since the last commit; nobody has seen them
        self.drawn = False  # was noise asked for since the last commit?
        self.alarmed: int | None = None  # the slot after which prices were last found to earn too little
        self._features = features_of(product)
        self._unreadable = 0
        self._ended = Clipped()
        self.retired = False
        self._version = 0
        self._engine: NewtonEngine | CautiousEngine | None = None
        self.ledger: Ledger | None = None
        policy = learning_policy_of(product)
        if isinstance(policy, CautiousPolicy):
            self._engine = _ENGINES.get(product.trust, CautiousEngine)(policy=policy, source=source)
        elif policy is not None:
            demand = demand_of(product)
            self._engine = NewtonEngine(policy=policy, demand=demand, features=self._features, source=source)
        if self._engine is not None:
            self.ledger = self._engine.learner.ledger

    @property
    def learning(self) -> bool:
        """Does the next slot still contribute?"""
        return self._engine is not None

    @property
    def version(self) -> int:
        """The number of batches accepted."""
        return self._version if self._engine is None else self._engine.quoter.version

    @property
    def clipped(self) -> Clipped:
        """How many records had to be held to their bounds: raw, for the operator alone."""
        if self._engine is None:
            return self._ended
        learner = self._engine.learner
        return Clipped(learner.clipped_features, learner.clipped_demands, self._unreadable)

    @property
    def next_release(self) -> int | None:
        """The slot after which something is released next; None where nothing will be."""
        look = None if self._engine is None else self._engine.quoter.look
        return None if look is None or look > self.product.horizon else look

    def learn(self, slots: Sequence[Slot], now: float) -> int:
        """Take due slots, in order, up to the one after which something is released; returns how many were taken."""
        self._check_order(slots)
        if self._engine is None:  # past the horizon a slot is counted and not read
            self.learned += len(slots)
            return len(slots)
        quoter = self._engine.quoter
        look, batch, version, before = quoter.look, quoter.batch, quoter.version, belief_json(quoter)
        taken = slots[: min(look, self.product.horizon) - self.learned]
        self.learned += len(taken)
        self.drawn = self.drawn or (self.learned == look and not isinstance(self._engine, JoinedEngine))
        made = self._step(self._engine, taken)
        self._note_releases(made, batch, (version, before), now)
        self._note_alarm(self._engine)
        if self.learned >= self.product.horizon and not self.waits:
            self._end()
        return len(taken)

    @property
    def waits(self) -> bool:
        """Is a batch over whose totals two aggregators have? Until they are joined, no slot is taken."""
        return isinstance(self._engine, JoinedEngine) and self._engine.waits

    def batch_over(self) -> BatchOver:
        """The batch whose totals are to be asked for. Once it is stored: asked again it must be the same."""
        assert isinstance(self._engine, JoinedEngine)
        return BatchOver(
            product=self.product.name,
            follows=self._engine.quoter.batch,
            choice=self._engine.learner.choice,
            quotes=b"".join(self._engine.learner.batch.names).hex(),
        )

    def join(self, totals: Totals, now: float) -> None:
        """Learn what the two published of the batch that is over."""
        engine = self._engine
        assert isinstance(engine, JoinedEngine)
        batch, before = engine.quoter.batch, (engine.quoter.version, belief_json(engine.quoter))
        self._note_releases(_moments(engine.join(*totals)), batch, before, now)
        self._note_alarm(engine)
        if self.learned >= self.product.horizon:
            self._end()

    def jump(self, seen: SeenRelease) -> None:
        """After a restored backup: learn no slot and number no release that somebody may have seen the effect of."""
        if self.pending:
            raise InvalidInput("a learner that has released something since its last commit cannot jump")
        records = max(self.learned, seen.records)
        if self._engine is not None:
            self._engine.jump(records)
        self.learned, self.sequence = records, max(self.sequence, seen.sequence)
        if self.learned >= self.product.horizon:
            self._end()

    def retire(self) -> None:
        """Learn nothing more, and erase the sums of the unfinished batch, as after the horizon."""
        if self.pending:
            raise InvalidInput("a learner that has released something since its last commit cannot end")
        self.retired = True
        if self._engine is not None:
            self._end()

    def committed(self) -> None:
        """Forget what was pending: it is stored."""
        self.pending, self.drawn = [], False

    def state(self) -> LearnerState:
        """The learner as it is stored, to survive a restart. Sensitive."""
        engines: dict[str, Any] = {"engine": None}
        if self._engine is not None:
            field, module = _SAVED[type(self._engine)]
            engines[field] = module.engine_state(self._engine)
        saved = SavedLearner(
            product=self._digest,
            learned=self.learned,
            sequence=self.sequence,
            version=self.version,
            clipped=self.clipped,
            retired=self.retired,
            **engines,
        )
        ended = self._engine is None
        return LearnerState(self.product.name, self.learned, self.sequence, pack(saved), self._account(), ended)

    def restore(self, stored: LearnerState) -> None:
        """Become the learner that was stored. Released noise is read back, never drawn again."""
        saved = unpack(stored.state)
        state = saved.engine if saved.cautious is None else saved.cautious
        sound = {
            "product": stored.product == self.product.name and saved.product == self._digest,
            "learned": saved.learned == stored.learned >= 0,
            "sequence": saved.sequence == stored.sequence >= 0,
            "version": 0 <= saved.version <= saved.sequence,
            "engine": (state is not None) == (self.learning and not saved.retired and not self._past(saved)),
        }
        for field, fits in sound.items():
            if not fits:
                raise InvalidInput(f"the stored {field} does not fit the rest of the learner")
        if state is not None and (state.learned, state.version) != (saved.learned, saved.version):
            raise InvalidInput("the stored engine does not fit the rest of the learner")
        if state is None or self._engine is None:
            self._engine = None
        else:
            field, module = _SAVED[type(self._engine)]
            if getattr(saved, field) is not state:
                raise InvalidInput("the stored engine is of another policy")
            module.restore_engine(state, self._engine)
            self._note_alarm(self._engine)
        self.learned, self.sequence, self._version = saved.learned, saved.sequence, saved.version
        self._ended, self._unreadable, self.retired = saved.clipped, saved.clipped.unreadable, saved.retired

    def _past(self, saved: SavedLearner) -> bool:
        return saved.learned >= self.product.horizon

    def _check_order(self, slots: Sequence[Slot]) -> None:
        for expected, slot in enumerate(slots, self.learned + 1):
            if slot.slot != expected:
                raise InvalidInput(f"slot {expected} must come next, got slot {slot.slot}")

    def _records(self, slots: Sequence[Slot]) -> SlotRecords:
        records = read_slots(slots, self._features.contexts)
        self._unreadable += records.unreadable
        return records

    def _step(self, engine: NewtonEngine | CautiousEngine, taken: Sequence[Slot]) -> list[_ReleaseMade]:
        """Learn the slots taken, with those that contribute nothing; returns what is released after them."""
        if isinstance(engine, ReportEngine):
            reports, unreadable = read_reports(taken, engine.quoter.version)
            made = engine.learn_reports(reports, len(taken))
            self._unreadable += unreadable
            return _moments(made)
        if isinstance(engine, JoinedEngine):
            engine.ask(reports_asked(taken, engine.quoter.version), len(taken))
            return []
        records = self._records(taken)
        skipped = len(taken) - records.demands.size
        if isinstance(engine, CautiousEngine):
            apart = sum(slot.holdout for slot in taken) - sum(slot.holdout for slot in records.slots)
            made = engine.steps(priced_records(records, engine.product, self.product.ceiling), skipped, apart)
            return _moments(made)
        return [
            _ReleaseMade("curvature", each.packed, each.records)
            if isinstance(each, CurvatureRelease)
            else _ReleaseMade("score", each.score, each.records)
            for each in engine.steps(features_at(records, self._features), records.demands, skipped)
        ]

    def _note_releases(self, releases: list[_ReleaseMade], batch: int, before: tuple[int, bytes], now: float) -> None:
        """Note what was released, each with version and belief after it; a curvature alone leaves them as before."""
        assert self._engine is not None
        after = self._engine.quoter.version, belief_json(self._engine.quoter)
        for number, release in enumerate(releases, 1):
            self.sequence += 1
            version, belief = after if number == len(releases) else before
            self.pending.append(
                StoredRelease(
                    product=self.product.name,
                    sequence=self.sequence,
                    version=version,
                    kind=release.kind,
                    records=release.records,
                    batch=batch,
                    numbers=release.numbers.astype("<f8").tobytes(),
                    belief=belief,
                    at=now,
                )
            )

    def _note_alarm(self, engine: NewtonEngine | CautiousEngine) -> None:
        if isinstance(engine, CautiousEngine):
            self.alarmed = engine.quoter.health.alarmed

    def _end(self) -> None:
        self._ended, self._version = self.clipped, self.version
        self._engine = None

    def _account(self) -> bytes:
        """What was paid for and spent, and how many releases came of it: all public."""
        ledger = self.ledger
        claimed = None if ledger is None or ledger.claimed is None else ledger.claimed
        account: dict[str, Any] = {
            "claimed": None if claimed is None else {"epsilon": claimed.epsilon, "delta": claimed.delta},
            "allowance": [] if ledger is None else plain(ledger.allowance),
            "spent": [] if ledger is None else plain(ledger.spent),
            "releases": self.sequence,
            "versions": self.version,
        }
        return msgspec.json.encode(account)

    def __repr__(self) -> str:
        return f"ProductLearner({self.product.name!r}, <sensitive>)"
