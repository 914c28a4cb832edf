"""cautious where devices report (trust `local`): a quoter, and a learner that counts their bits."""

from __future__ import annotations

from collections.abc import Iterable

from hushprice.errors import InvalidInput
from hushprice.noise import NoiseSource
from hushprice.policies.cautious.engine import CautiousEngine, PricedRecords
from hushprice.policies.cautious.policy import CautiousPolicy
from hushprice.policies.cautious.private.bit_learner import BitLearner, CountedBit
from hushprice.releases import MomentRelease


class ReportEngine(CautiousEngine):
    """Learns reports in place of records; everything else is the engine's. It draws no noise: devices have."""

    learner: BitLearner

    def _learner_of(self, policy: CautiousPolicy, source: NoiseSource) -> BitLearner:
        return BitLearner(rules=policy.rules, quoter=self.quoter)

    def learn_reports(self, reports: Iterable[CountedBit], slots: int) -> MomentRelease | None:
        """Learn so many slots, up to the batch's end at most; returns what is released after them."""
        room = self.quoter.end - self.learner.count
        if slots > room:
            raise InvalidInput(f"slots must be at most {room}, those before the next release, got {slots}")
        self.learner.count_bits(reports, slots)
        return self.release()

    def steps(self, records: PricedRecords, skipped: int, skipped_holdout: int = 0) -> MomentRelease | None:
        raise InvalidInput("trust is 'local': records stay on their customers' devices, and reports are learned")
