"""Trust models of policy cautious: what is added up has the mean and the noise that its belief is told."""

from __future__ import annotations

import dataclasses
import math
import random
from typing import Any

import numpy as np
import pytest

from hushprice.errors import InvalidInput
from hushprice.noise import System, Tape
from hushprice.policies.cautious import report_noise
from hushprice.policies.cautious.policy import build, cautious_policy
from hushprice.policies.cautious.pricing.instruments import SHARES, WATCHING, used_entries
from hushprice.policies.cautious.pricing.question import grids_of, keep_of, question_of
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.policies.cautious.pricing.shop_model import model_of
from hushprice.policies.cautious.private.learner import CautiousLearner
from hushprice.policies.cautious.private.reports import ReportLearner
from hushprice.policies.cautious.rules import CautiousRules, cautious, without_noise
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import AggregatedBatches, BitReports, LaplaceBatches, ShuffledBits, grid_of
from hushprice.product import Product
from hushprice.settings import TRUST, PolicySettings
from hushprice.shops.trials import run_shop
from hushprice.shops.worlds import Logit
from hushprice.trust import bits
from hushprice.trust.question import Record, contribution
from hushprice.trust.shares import MOST_BITS

CENTRAL, LOCAL, SHUFFLE, AGGREGATED = TRUST
CLAIMED = EpsilonDelta(1.0, 1e-8)
BEYOND = pytest.mark.beyond_coverage


def product(contexts: int, **given: object) -> Product:
    told = {"floor": 20.0, "ceiling": 30.0, "reference_price": 25.0, "unit_cost": 8.0, "conversion": 0.3}
    return Product(**{**told, "contexts": contexts, **given})  # type: ignore[arg-type]


def rules_of(trust: str, contexts: int = 2, **given: object) -> CautiousRules:
    each = product(contexts, **given)
    return cautious(CLAIMED, model=model_of(each), risk=each.risk, horizon=10_000, holdout=each.holdout, trust=trust)


def learner_of(rules: CautiousRules, choice: int, slots: int, seed: int) -> ReportLearner:
    rng = np.random.default_rng(seed)
    return ReportLearner(rules=rules, source=Tape(seed, 0), choice=choice, slots=slots, rng=rng)


@pytest.mark.parametrize("contexts", [0, 2])
@pytest.mark.parametrize("choice", [0, *(pytest.param(more, marks=BEYOND) for more in range(1, len(SHARES)))])
@pytest.mark.parametrize("trust", [pytest.param(LOCAL, marks=BEYOND), SHUFFLE])
def test_bits_add_up_to_the_score_with_the_noise_that_is_told(trust: str, choice: int, contexts: int) -> None:
    """Many batches of the same records: their mean is the score without noise, their spread what the belief is told."""
    rules, slots, runs, rng = rules_of(trust, contexts), 400, 200, np.random.default_rng(choice)
    x = rng.uniform(-1.0, 1.0, (slots, contexts))
    coins = np.where(np.arange(slots) % 2 == 0, 1.0, -1.0)
    demands = (np.arange(slots) % 10 < 3).astype(float)  # three in ten, as the shop says
    theta, prices = np.zeros(rules.model.size), 0.2 * coins
    plain = CautiousLearner(
        rules=without_noise(dataclasses.replace(rules, trust=CENTRAL, bits=None)), source=Tape(0, 0), choice=choice
    )
    plain.absorb(x, prices, coins, demands, theta)
    truth, found = plain.release().score, []
    for run in range(runs):
        made = learner_of(rules, choice, slots, run)
        made.absorb(x, prices, coins, demands, theta)
        release = made.release()
        assert release is made.release()
        assert not release.descriptions.any()
        assert not release.earnings.any()
        found.append(release.score)
    used, told = used_entries(contexts, choice), rules.score_noise(choice, slots)
    assert not np.delete(np.array(found), used, axis=1).any()
    assert not np.delete(told, used).any()
    spread = np.std(found, axis=0, ddof=1)[used]
    assert np.all(np.abs(np.mean(found, axis=0) - truth)[used] < 5.0 * spread / math.sqrt(runs))  # 6e-7 each
    # Told is what comes on top of the luck of purchases, which these records do not have: a residual's variance.
    extra = 0.0 if contexts == 0 else 0.1  # residuals are not those of the expected customer to the last digit
    assert spread == pytest.approx(told[used], rel=0.2 + extra)


@pytest.mark.beyond_coverage
def test_many_devices_at_once_send_what_one_does() -> None:
    """The vectorized devices and trust/bits.py, by how often each answer comes."""
    rules, count, context = rules_of(LOCAL), 20_000, [0.7, -0.4]
    quoter = CautiousQuoter(rules)
    quoter.rule = dataclasses.replace(quoter.rule, choice=2, move=0.0, spread=0.1)
    asked, keep = question_of(quoter), rules.bits.steps[0][1]  # type: ignore[union-attr]
    made, draw = learner_of(rules, 2, count, 5), random.Random(9).getrandbits
    shape = np.ones(count)
    rows = made._contributions(
        np.tile(context, (count, 1)), 0.1 * shape, shape, shape, np.zeros(6), holdout=np.zeros(count, dtype=bool)
    ).scores[:, :3]
    low, high = bits.bounds(asked, 1.0, 0)
    rows[:, 0] -= 0.5 * (low + high)
    many = np.array([[(rows[:, j] > 1e-9).mean(), (rows[:, j] < -1e-9).mean()] for j in range(3)])
    answers = [bits.answer(asked, keep, Record(context, 1.0, 0.1, 1.0), draw) for _ in range(count)]
    one = np.array([[np.mean([(a.about, a.up) == (j, up) for a in answers]) for up in (True, False)] for j in range(3)])
    assert np.abs(many - one).max() < 5.0 * math.sqrt(0.5 / count)


def test_a_side_with_too_few_reports_is_filled_with_fair_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    rules, counted = rules_of(SHUFFLE), np.zeros(2)
    made = learner_of(rules, 1, 10, 3)
    real = made._counted

    def count(side: Any, about: Any, up: Any) -> Any:
        np.add.at(counted, side, 1.0)
        return real(side, about, up)

    monkeypatch.setattr(made, "_counted", count)
    made.absorb(np.zeros((4, 2)), np.zeros(4), np.ones(4), np.zeros(4), np.zeros(6))
    assert counted.tolist() == [4.0, 0.0]
    made.release()
    assert made.sides.tolist() == counted.tolist() == [made.among, made.among]
    made.begin(WATCHING)
    made.expect(10)
    made.absorb(np.zeros((4, 2)), np.zeros(4), -np.ones(4), np.zeros(4), np.zeros(6))
    made.release()
    assert made.sides.tolist() == [made.among, made.among]


def test_what_is_proven_is_what_is_claimed() -> None:
    kinds = {CENTRAL: LaplaceBatches, LOCAL: BitReports, SHUFFLE: ShuffledBits, AGGREGATED: AggregatedBatches}
    for trust, kind in kinds.items():
        rules = rules_of(trust)
        assert type(rules.event(live=False)) is kind
        assert 0.999 < rules.proven.epsilon <= 1.0
        assert rules.proven.delta <= CLAIMED.delta
        policy = cautious_policy(product(2), rules)
        assert policy.settings["trust"] == trust
        made = CautiousLearner(rules=rules, source=Tape(1, 0), choice=0)
        assert made.ledger.proven is not None
        assert made.ledger.proven.epsilon <= 1.0
        if trust != CENTRAL:
            with pytest.raises(InvalidInput, match="keeps records away"):
                CautiousLearner(rules=rules, source=System(), choice=0)


def test_two_aggregators_have_twice_the_variance_and_the_same_loss() -> None:
    one, two = rules_of(CENTRAL), rules_of(AGGREGATED)
    assert two.score_noise(1, 100) == pytest.approx(math.sqrt(2.0) * one.score_noise(1, 7))
    assert two.released_noise(1) == pytest.approx(one.score_noise(1, 100))
    assert two.description_noise == pytest.approx(math.sqrt(2.0) * (one.description_noise or 0.0))
    assert two.earned_scales == pytest.approx([math.sqrt(2.0) * scale for scale in one.earned_scales])
    assert two.proven == one.proven
    totals: dict[str, list[np.ndarray]] = {CENTRAL: [], AGGREGATED: []}
    for seed in range(300):
        for trust, rules in ((CENTRAL, one), (AGGREGATED, two)):
            made = CautiousLearner(rules=rules, source=Tape(seed, 0), choice=1)
            made.skip(5)
            release = made.release()
            totals[trust].append(np.concatenate([release.score, release.descriptions, release.earnings]))
    spreads = {trust: np.std(each, axis=0) for trust, each in totals.items()}
    ratio = np.median(spreads[AGGREGATED] / spreads[CENTRAL])
    assert ratio == pytest.approx(math.sqrt(2.0), rel=0.1)
    apart = np.array(totals[AGGREGATED]) - np.array(totals[CENTRAL])  # the second aggregator's, of a stream of its own
    assert abs(np.corrcoef(apart[:, 0], np.array(totals[CENTRAL])[:, 0])[0, 1]) < 5.0 / math.sqrt(300)


def test_batches_are_as_long_as_their_noise_asks() -> None:
    first = {trust: rules_of(trust).first for trust in TRUST}
    assert first[CENTRAL] <= first[AGGREGATED] < first[SHUFFLE]
    assert first[LOCAL] > first[CENTRAL]
    assert rules_of(LOCAL).noise_of_slots(0) is not None
    assert rules_of(SHUFFLE).noise_of_slots(0) is None
    noise = rules_of(LOCAL).score_noise(0, 400)
    assert noise == pytest.approx(2.0 * rules_of(LOCAL).score_noise(0, 100))
    shuffled = rules_of(SHUFFLE)
    assert shuffled.score_noise(0, 8000)[0] < 1.7 * shuffled.score_noise(0, 2000)[0]


def test_what_a_trust_model_cannot_do_is_refused() -> None:
    with pytest.raises(InvalidInput, match="trust must be one of"):
        rules_of("nobody")
    with pytest.raises(InvalidInput, match="holdout must be 0"):
        rules_of(LOCAL, holdout=0.1)
    with pytest.raises(InvalidInput, match="bits are what devices send"):
        dataclasses.replace(rules_of(LOCAL), bits=None)
    with pytest.raises(InvalidInput, match="reports of bits"):
        learner_of(rules_of(CENTRAL), 0, 10, 1)
    with pytest.raises(InvalidInput, match="too small for shuffled"):
        report_noise.shuffled(EpsilonDelta(1e-5, 1e-9), 10, 100)
    assert without_noise(rules_of(SHUFFLE)).score_noise(0, 100).any() == False  # noqa: E712
    settings = PolicySettings(policy="cautious", horizon=10_000, product=product(1), trust=LOCAL)
    policy = cautious_policy(product(1), rules_of(LOCAL, 1))
    built = build(settings, None, None)  # type: ignore[arg-type]
    assert built.rules.trust == policy.rules.trust == LOCAL


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("trust", TRUST)
def test_a_shop_learns_under_every_trust_model(trust: str) -> None:
    world = Logit(conversion=0.5, elasticity=0.4, reference_price=25.0, attributes=(0.3, -0.2))
    each = product(2, conversion=0.5, epsilon=8.0, risk=0.3)
    result = run_shop("cautious", product=each, world=world, horizon=400, trials=1, trust=trust, workers=1)
    again = run_shop("cautious", product=each, world=world, horizon=400, trials=1, seed=1, trust=trust, workers=1)
    assert result.claimed == EpsilonDelta(8.0, 2.0 / 400**2)
    assert result.earnings[0, -1] != again.earnings[0, -1]
    assert 0.5 < result.earnings[0, -1] / result.staying[0, -1] < 1.5
    with pytest.raises(InvalidInput, match="trust is for policy 'cautious'"):
        run_shop("thompson", product=each, world=world, horizon=100, trials=1, trust=LOCAL)


def weighed_bits(rules: Any, keep: float, middles: Any, balance: Any) -> Any:
    """The score that bits add up to: the sum of middles a side, and of ups less downs a side and number asked about."""
    common, personal = report_noise.weights(rules.model, 1, keep)
    score = balance * np.where(np.arange(rules.model.contexts + 1) == 0, common, personal)
    score[:, 0] += middles
    return score.ravel()


@pytest.mark.beyond_coverage
def test_devices_asked_by_the_quoter_are_added_up_to_the_score() -> None:
    """Bits that are kept nearly always: what is left is the rounding to bits."""
    rules, count, draw = rules_of(LOCAL), 20_000, random.Random(4).getrandbits
    quoter = CautiousQuoter(rules)
    quoter.rule = dataclasses.replace(quoter.rule, choice=1, move=0.0, spread=0.1)
    asked, keep, rng = question_of(quoter), 1.0 - 2.0**-20, np.random.default_rng(2)
    assert keep_of(quoter) == rules.bits.steps[0][1]  # type: ignore[union-attr]
    reports, balance, truth = np.zeros(2), np.zeros((2, 3)), np.zeros(6)
    for _ in range(count):
        context, coin = rng.uniform(-1.0, 1.0, 2).tolist(), float(rng.choice([-1.0, 1.0]))
        record = Record(context, coin, asked.price(context, coin), float(rng.random() < 0.3))
        side, about, up = bits.answer(asked, keep, record, draw)
        reports[side] += 1
        balance[side, about] += 1.0 if up else -1.0
        truth += contribution(asked, record).scores
    reports *= [0.5 * sum(bits.bounds(asked, coin, 0)) for coin in (1.0, -1.0)]
    found = weighed_bits(rules, keep, reports, balance)
    noise = dataclasses.replace(rules.bits, steps=((1, keep),)).deviations(rules.model, 1, count)  # type: ignore[type-var]
    assert np.all(np.abs(found - truth) < 5.0 * noise)
    assert np.all(noise < 0.9 * rules.score_noise(1, count))


def test_what_a_batch_asks_is_refused_where_it_asks_otherwise() -> None:
    central, shared = CautiousQuoter(rules_of(CENTRAL)), CautiousQuoter(rules_of(AGGREGATED))
    for asked in (keep_of, grids_of):
        with pytest.raises(InvalidInput, match="trust must be"):
            asked(central)
    event = shared.rules.event(live=True)
    assert isinstance(event, AggregatedBatches)
    for choice, (common, personal) in enumerate(event.scales):
        shared.rule = dataclasses.replace(shared.rule, choice=choice)
        grids = grids_of(shared)
        assert 2.0**-grids.common == grid_of(common)
        assert grids.personal == MOST_BITS if personal == math.inf else 2.0**-grids.personal == grid_of(personal)
        assert 2.0**-grids.description == grid_of(event.description_noise)
        assert (2.0**-grids.holdout, 2.0**-grids.earnings) == tuple(map(grid_of, event.earned_scales))
