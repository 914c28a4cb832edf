"""What each attacker sees where the shop is not trusted (docs/proofs/trust.md), beside what is charged for it.

The shop's seat and the aggregator's are looked at exactly, with the code that runs on devices: a device's draws are
compared with thresholds, which are found by halving. The watcher of prices is given more than prices, the releases that
they are made of, and many of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy.special import gammaln

from hushprice.noise import Tape
from hushprice.policies.cautious.pricing.belief import Belief, Rule
from hushprice.policies.cautious.pricing.instruments import SHARES
from hushprice.policies.cautious.pricing.question import grids_of, question_of
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.policies.cautious.private.learner import CautiousLearner
from hushprice.policies.cautious.private.reports import ReportLearner
from hushprice.policies.cautious.rules import AGGREGATED, LOCAL, SHUFFLE, CautiousRules
from hushprice.privacy import accountant
from hushprice.privacy.events import AggregatedBatches, ShuffledBits
from hushprice.privacy.loss import loss_of
from hushprice.research.audits.finding import Measurement
from hushprice.research.audits.trade_off import cuts_of, separation
from hushprice.trust import bits, shares
from hushprice.trust.drawn_price import drawn, middles
from hushprice.trust.question import Question, Record
from hushprice.types import FloatArray

_SLACK = 1e-9
_WATCHED = 2000  # releases of each world, and as many to find cuts
_CONFIDENCE = 0.999
_DELTA = 1e-6


def audit_trust(rules: CautiousRules, *, seed: int = 0, watched: int = _WATCHED) -> list[Measurement]:
    """A measurement from each attacker's seat; none where the shop is trusted. `watched` as at `_WATCHED`."""
    if not rules.drawn or rules.trust not in (LOCAL, SHUFFLE, AGGREGATED):
        return []
    seats = {
        LOCAL: (_shop, _drawn_price),
        SHUFFLE: (_shuffler, _shop_behind_a_shuffler),
        AGGREGATED: (_shares, _other_total),
    }
    found = [seat(rules) for seat in seats[rules.trust]]
    return [*found, _watcher(rules, seed, watched)]


def _quoter(rules: CautiousRules, choice: int, count: int = 100) -> CautiousQuoter:
    rule = Rule(count=count, move=0.5, spread=0.5 * rules.model.fitting(rules.model.widest), choice=choice)
    quoter = CautiousQuoter(rules, rule)
    if rules.model.contexts > 0:  # a belief under which some are sure to buy and others not
        theta = _theta(rules)
        theta[1] = 9.0
        quoter.belief = Belief(theta, quoter.belief.covariance)
    return quoter


def _records(question: Question) -> list[Record]:
    """Corners of what a record can be: who buys and who does not, at every sign of their attributes, and beyond."""
    signs = list(itertools.islice(itertools.product((1.0, -1.0), repeat=question.contexts), 4))
    contexts = [*(list(each) for each in signs), [-9.0] * question.contexts]
    return [
        Record(context, 1.0, question.price(context, 1.0), demand)
        for context in contexts
        for demand in (0.0, 1.0, 7.0, math.nan)
    ]


def _chance(question: Question, keep: float, record: Record, about: int) -> float:
    """The chance that a device says yes, given what it is asked: exactly, by where its two draws change its answer."""

    def asked() -> Iterator[int]:
        if question.contexts > 0:
            yield 0 if about > 0 else 2**bits.FINE - 1
            if about > 0:
                yield about - 1

    def up(value: int, kept: int) -> bool:
        draws = itertools.chain(asked(), (value, kept))
        said = bits.answer(question, keep, record, lambda count: next(draws))
        assert said.about == about
        return said.up

    first, last = 0, 2**bits.FINE - 1
    told = _threshold(lambda draw: up(draw, first))  # with the second draw at 0, an answer is kept
    if up(first, last) == up(first, first):  # never turned
        return told
    kept = _threshold(lambda draw: up(first, draw) == up(first, first))
    return told * kept + (1.0 - told) * (1.0 - kept)


def _threshold(says: Callable[[int], bool]) -> float:
    """The share of draws, from 0 up, of which it is true."""
    low, high = 0, 2**bits.FINE
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if says(middle) else (low, middle)
    return low / 2**bits.FINE


def _extremes(rules: CautiousRules, keep: float) -> tuple[float, float]:
    """The least and the largest chance of a yes, over records, choices and what is asked."""
    found = []
    for choice in range(len(SHARES)):
        question = question_of(_quoter(rules, choice))
        abouts = range(1 + question.contexts) if question.share > 0.0 else (0,)
        found += [_chance(question, keep, record, about) for record in _records(question) for about in abouts]
    return min(found), max(found)


def _ratio(rules: CautiousRules, keep: float) -> float:
    least, most = _extremes(rules, keep)
    if least <= 0.0 or most >= 1.0:
        return math.inf
    return max(math.log(most / least), math.log((1.0 - least) / (1.0 - most)))


def _shop(rules: CautiousRules) -> Measurement:
    assert rules.bits is not None
    found = _ratio(rules, rules.bits.steps[0][1])
    allowed = loss_of(rules.event(live=True), 1, rules.noise.adjacency).pure
    return _measured("the shop: one report", found, allowed, "largest ln of a ratio of chances, exact")


def _drawn_price(rules: CautiousRules) -> Measurement:
    """The price of a device that draws it, at the epsilon of its report; without attributes it is everybody's."""
    assert rules.bits is not None
    keep, dearer = rules.bits.steps[0][1], [0.5]
    for choice in range(len(SHARES)):
        question = question_of(_quoter(rules, choice))
        low, high = middles(question, keep)
        if low < high:
            dearer += [_dearer(question, keep, record.context, 0.5 * (low + high)) for record in _records(question)]
    least, most = min(dearer), max(dearer)
    found = math.inf if least <= 0.0 or most >= 1.0 else math.log(max(most / least, (1.0 - least) / (1.0 - most)))
    allowed = loss_of(rules.event(live=True), 1, rules.noise.adjacency).pure
    return _measured("the shop: a price that is drawn", found, allowed, "largest ln of a ratio of chances, exact")


def _dearer(question: Question, keep: float, context: Sequence[float], middle: float) -> float:
    """The chance of the dearer price, exactly."""

    def dear(value: int) -> bool:
        return drawn(question, keep, context, 0.0, lambda count: value) > middle

    share = _threshold(lambda value: dear(value) == dear(0))
    return share if dear(0) else 1.0 - share


def _shuffler(rules: CautiousRules) -> Measurement:
    assert rules.bits is not None
    keep = rules.bits.steps[-1][1]
    allowed = math.log(keep) - math.log1p(-keep)
    return _measured("the shuffler: one report", _ratio(rules, keep), allowed, "of the longest batch, exact")


def _shop_behind_a_shuffler(rules: CautiousRules) -> Measurement:
    """Counts of the shortest side, of which fewer reports came: two records, the others in the worst of a few ways."""
    event = rules.event(live=True)
    assert isinstance(event, ShuffledBits)
    among, keep = event.steps[0]
    least, most = _extremes(rules, keep)
    shown = _padded(rules)
    found = max(
        _epsilon(_mixed(most, least, yes, shown - yes - 1), least, most, event.delta)
        for yes in (0, shown // 2, shown - 1)
    )
    allowed = loss_of(event, 1, rules.noise.adjacency).epsilon
    return _measured(f"the shop: counts of {among} reports", found, allowed, f"epsilon at {event.delta:.1g}, exact")


def _padded(rules: CautiousRules) -> int:
    """How many reports a side has once the shuffler is done, where one device reported: dummies hide no worse."""
    assert rules.bits is not None
    rng = np.random.default_rng(0)
    learner = ReportLearner(rules=rules, source=Tape(0, 0), choice=0, slots=1, rng=rng)
    learner.absorb(np.zeros((1, rules.model.contexts)), np.zeros(1), np.ones(1), np.zeros(1), _theta(rules))
    learner.release()
    return int(learner.sides[0])


def _theta(rules: CautiousRules) -> FloatArray:
    return np.zeros(rules.model.size)


def _mixed(most: float, least: float, yes: int, no: int) -> FloatArray:
    """The law of how many of the others say yes, of so many who lean to either answer."""
    return np.convolve(_binomial(yes, most), _binomial(no, least))


def _binomial(count: int, chance: float) -> FloatArray:
    heads = np.arange(count + 1.0)
    logs = gammaln(count + 1.0) - gammaln(heads + 1.0) - gammaln(count - heads + 1.0)
    return np.asarray(np.exp(logs + heads * math.log(chance) + (count - heads) * math.log1p(-chance)))


def _epsilon(others: FloatArray, least: float, most: float, delta: float) -> float:
    """Of the counts with one more report, whose chance of a yes is the one or the other."""
    first, second = np.convolve(others, [1.0 - most, most]), np.convolve(others, [1.0 - least, least])
    low, high = 0.0, 30.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        apart = max(
            float(np.maximum(one - math.exp(middle) * other, 0.0).sum())
            for one, other in ((first, second), (second, first))
        )
        low, high = (middle, high) if apart > delta else (low, middle)
    return low


def _shares(rules: CautiousRules) -> Measurement:
    """One aggregator's shares of two records, over draws spread evenly: how unevenly their leading bytes fall."""
    quoter = _quoter(rules, 1)
    question, grids = question_of(quoter), grids_of(quoter)
    worst = 0.0
    for record in _records(question):
        whole = shares.numbers(question, grids, record)
        for which in (0, 1):
            split = [shares.split(whole, lambda count, at=at: at << (count - 8))[which] for at in range(256)]  # type: ignore[misc]
            seen = np.array(split, dtype=np.uint64) >> np.uint64(56)
            most = max(int(np.bincount(column.astype(np.int64), minlength=256).max()) for column in seen.T)
            worst = max(worst, math.log(most))
    return _measured("one aggregator: its shares", worst, 0.0, "largest ln of a ratio of chances of a leading byte")


def _other_total(rules: CautiousRules) -> Measurement:
    """The other's noisy total, whose shares are known: how far a record moves it, in units of its noise."""
    event = rules.event(live=True)
    assert isinstance(event, AggregatedBatches)
    worst = 0.0
    for choice in range(len(SHARES)):
        quoter = _quoter(rules, choice)
        question, grids = question_of(quoter), grids_of(quoter)
        scores = 2 * (question.contexts + 1)
        deviations = rules.released_noise(choice)
        scales = np.concatenate([deviations / math.sqrt(2.0), event.earned_scales])
        personal = np.arange(scores) % (question.contexts + 1) > 0
        units = np.concatenate(
            [np.where(personal, 2.0**-grids.personal, 2.0**-grids.common), [2.0**-grids.holdout, 2.0**-grids.earnings]]
        )
        sent = [shares.numbers(question, grids, record) for record in _records(question)]
        rows = np.array([[*each[:scores], *each[-2:]] for each in sent], dtype=np.float64) * units
        weights = np.divide(1.0, scales, out=np.zeros_like(scales), where=scales > 0.0)
        apart = np.abs(rows[:, None, :] - rows[None, :, :]) @ weights
        worst = max(worst, float(apart.max()))
    allowed = loss_of(event, 1, rules.noise.adjacency).pure
    return _measured("one aggregator: the other's total", worst, allowed, "change in units of Laplace noise, exact")


def _watcher(rules: CautiousRules, seed: int, watched: int) -> Measurement:
    """Releases of batches of one record, by somebody who knows all else, in two worlds."""
    worlds = [_released(rules, demand, seed + number, 2 * watched) for number, demand in enumerate((0.0, 1.0))]
    pilot, runs = slice(0, watched), slice(watched, None)
    cuts = cuts_of(np.concatenate([each[pilot] for each in worlds]))
    seen = separation(worlds[0][runs], worlds[1][runs], cuts, _CONFIDENCE)
    event, adjacency = rules.event(live=False), rules.noise.adjacency
    delta = event.delta if isinstance(event, ShuffledBits) else _DELTA
    loss = loss_of(event, 1, adjacency)
    allowed = loss.epsilon if isinstance(event, ShuffledBits) else accountant.epsilon_of(loss, delta)
    found = seen.epsilon_floor(delta)
    return _measured("a watcher of prices: releases", found, allowed, f"lower bound on epsilon, {2 * watched} runs")


def _released(rules: CautiousRules, demand: float, seed: int, runs: int) -> FloatArray:
    """The first number of many releases, each of a batch with one record at the dearer price."""
    rng = np.random.default_rng((seed, 7))
    learner: CautiousLearner = (
        CautiousLearner(rules=rules, source=Tape(seed, 0), choice=0)
        if rules.bits is None
        else ReportLearner(rules=rules, source=Tape(seed, 0), choice=0, slots=1, rng=rng)
    )
    contexts, one, found = np.zeros((1, rules.model.contexts)), np.ones(1), np.empty(runs)
    for run in range(runs):
        learner.absorb(contexts, 0.0 * one, one, demand * one, _theta(rules))
        found[run] = learner.release().score[0]
        learner.begin(0)
        if isinstance(learner, ReportLearner):
            learner.expect(1)
    return found


def _measured(name: str, found: float, allowed: float, detail: str) -> Measurement:
    return Measurement(name, found, allowed, found <= allowed * (1.0 + _SLACK) + _SLACK, detail)
