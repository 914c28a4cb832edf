"""The side of policy cautious that reads records: each is added to its batch's sums, and kept nowhere.

What a record can move is settled here, whatever the other side asks: it enters one batch, and a batch is released once,
which ends it. All of it is one event, paid at the start.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit

from hushprice import checks
from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.noise import NoiseSource, Normals, System, Tape
from hushprice.numerics import tape
from hushprice.policies.cautious.noise import open_ledger
from hushprice.policies.cautious.pricing.instruments import SHARES, entries, instruments
from hushprice.policies.cautious.pricing.population import described
from hushprice.policies.cautious.pricing.shop_model import with_constant
from hushprice.policies.cautious.private.exact_batch import ExactSums
from hushprice.policies.cautious.private.sums import BatchSums, Contributions, IdealShares, IdealSums
from hushprice.policies.cautious.rules import CENTRAL, CautiousRules
from hushprice.privacy.events import AggregatedBatches, Event, LaplaceBatches, NotPrivate
from hushprice.releases import MomentRelease
from hushprice.types import BoolArray, FloatArray


class CautiousLearner:
    """The batch at hand of one product."""

    def __init__(self, *, rules: CautiousRules, source: NoiseSource, choice: int) -> None:
        self._rules = rules
        self._model = rules.model
        noise = rules.noise
        if not (noise.least <= rules.model.least and rules.model.most <= noise.most):  # of a file, or other constants
            raise InvalidInput("rules must have noise for what residuals are taken from in this version")
        if rules.trust != CENTRAL and not source.simulated:
            raise InvalidInput(f"trust {rules.trust!r} keeps records away from here: whoever learns is given reports")
        self.event = rules.event(live=not source.simulated) if rules.drawn else NotPrivate()
        self.ledger = open_ledger(noise, self.event, rules.paid).spend(self.event)  # all batches are one release
        self.batch = _sums(rules, source, self.event)
        self.count = 0  # slots, of all batches
        self.clipped_features = 0
        self.clipped_demands = 0
        self._begin(choice)

    def begin(self, choice: int) -> None:
        """The next batch, with this choice of weights. Only once the last one is out, or before any slot."""
        if not self.ended and self.count > 0:
            raise InvalidInput("a batch begins when the last one was released")
        self._begin(choice)

    def _begin(self, choice: int) -> None:
        if not (isinstance(choice, int) and 0 <= choice < len(SHARES)):
            raise InvalidInput(f"choice must be one of the {len(SHARES)} there are, got {choice!r}")
        self.choice = choice
        self.batch.begin()
        self._begun = self.count
        self.priced = 0  # slots of the batch outside the holdout: coins, not records, decide how many
        self.last: MomentRelease | None = None

    def jump(self, records: int, choice: int) -> None:
        """Drop the batch at hand, its sums unreleased, and begin one after slot `records`. No slot is in both."""
        checks.whole(self.count, records=records)  # the slots learned
        self.count = records
        self._begin(choice)

    @property
    def ended(self) -> bool:
        """Is the batch out?"""
        return self.last is not None

    def skip(self, slots: int = 1, holdout: int = 0) -> None:
        """Count slots of the batch, so many of them in the holdout. All that they add is their number."""
        checks.whole(0, slots=slots)
        checks.whole(0, holdout=holdout)
        if self.ended:
            raise BudgetExhausted("the batch was released: a record may not enter it")
        self.count += slots
        self.priced += slots - holdout

    def absorb(
        self,
        contexts: FloatArray,
        prices: FloatArray,
        coins: FloatArray,
        demands: FloatArray,
        theta: FloatArray,
        *,
        holdout: BoolArray | None = None,
    ) -> None:
        """Add records, rows of contexts, with their relative prices and demands in [0, 1], scored at a public belief.

        Coins, and who is in the holdout, are drawn without looking at the customer. A record that cannot be read adds
        nothing and keeps its slot: what is released when must not depend on it.
        """
        model, size = self._model, (demands.size,)
        apart = np.zeros(size, dtype=bool) if holdout is None else holdout
        self.skip(demands.size, int(np.count_nonzero(apart)))
        if contexts.shape != (*size, model.contexts):
            raise InvalidInput(f"contexts must have {model.contexts} entries a record, got shape {contexts.shape}")
        for name, given in (("prices", prices), ("coins", coins), ("demands", demands), ("holdout", apart)):
            if given.shape != size:
                raise InvalidInput(f"{name} must have a number a record, got shape {given.shape}")
        if apart.dtype != np.bool_:  # of numbers, "not in the holdout" would be no share between 0 and 1
            raise InvalidInput(f"holdout must be True or False, got {apart.dtype} numbers")
        theta = checks.vector(model.size, theta=theta)
        known = np.isfinite(contexts).all(axis=1) & np.isfinite(prices) & np.isfinite(demands)
        if known.any():
            self.batch.add(
                self._contributions(
                    contexts[known], prices[known], coins[known], demands[known], theta, holdout=apart[known]
                )
            )

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
        """What each record adds. All that a record is, is held to its bounds first: sensitivity rests on it.

        Bit for bit the same whoever comes with it: else one record would move what the others add. A product of
        matrices is not (its last digits depend on how many rows there are), so rows are added up one by one.
        """
        model = self._model
        x, z, y = np.clip(contexts, -1.0, 1.0), np.clip(prices, -1.0, 1.0), np.clip(demands, 0.0, 1.0)
        self.clipped_features += int(((x != contexts).any(axis=1) | (z != prices)).sum())
        self.clipped_demands += int((y != demands).sum())
        coin = np.where(coins > 0.0, 1.0, -1.0)
        rows, half = with_constant(x), model.contexts + 1
        level, response = model.level + _along(rows, theta[:half]), model.response + _along(rows, theta[half:])
        residuals = model.held(expit(level - response * z)) - y
        # Who is in the holdout was not priced by the rule, so a residual says nothing about it. The flag is a coin's,
        # not the record's: replacing a record moves a score of the holdout by nothing.
        scores = np.where(holdout, 0.0, residuals)[:, None] * instruments(x, coin, self.choice)
        earned = np.clip(y * (model.margin + z) / (model.margin + model.highest), 0.0, 1.0)
        return Contributions(scores, described(x), np.column_stack([earned * holdout, earned * ~holdout]))

    def release(self) -> MomentRelease:
        """The batch's sums with noise, which ends it. Asked again, it is the same release."""
        if self.last is None:
            if self.count == self._begun:  # simulated noise goes by slots: it would be the last batch's again
                raise InvalidInput("a batch without a slot has nothing to release")
            sums = self.batch.release(self._rules.released_noise(self.choice), self.count)
            self.last = MomentRelease(*sums, self.count, self.event, self.priced)
        return self.last

    def __repr__(self) -> str:
        return "CautiousLearner(<sensitive>)"


def _along(rows: FloatArray, direction: FloatArray) -> FloatArray:
    """Each row times the direction."""
    return np.asarray((rows * direction).sum(axis=1))


def _sums(rules: CautiousRules, source: NoiseSource, event: Event) -> BatchSums:
    """Ideal noise from a tape, exact noise from the operating system; without noise the two are the same sums."""
    if isinstance(event, LaplaceBatches) and isinstance(source, System):
        return ExactSums(event=event, source=source)
    given = rules.noise.event(rules.model.contexts, live=False)
    sizes = (entries(given.contexts), given.descriptions, 2)
    if not isinstance(event, LaplaceBatches):  # no noise at all, or noise of the reports
        return IdealSums(sizes=sizes, noise=(0.0, (0.0, 0.0)), source=Tape(0, 0))
    if not isinstance(source, Normals):
        raise InvalidInput(f"source {source.label!r} gives no normals, which the batches need")
    apart, priced = (math.sqrt(2.0) * scale for scale in event.earned_scales)
    noise_of = (event.description_noise, (apart, priced))
    if isinstance(event, AggregatedBatches):
        return IdealShares(sizes=sizes, noise=noise_of, sources=(source, _Elsewhere(source)))
    return IdealSums(sizes=sizes, noise=noise_of, source=source)


class _Elsewhere:
    """The second aggregator's simulated noise: of a stream that the first does not use."""

    def __init__(self, source: Normals) -> None:
        self._source = source

    def normals(self, stream: int, period: int, count: int) -> FloatArray:
        return self._source.normals(tape.OUTPUT_NOISE, period, count)
