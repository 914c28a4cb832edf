"""Trust local: reports are learned, and nothing else can be."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.service.cautious_runs import cautious_spec, learn, priced
from tests.service.device_runs import belief_of, local_spec, serve_devices
from tests.service.learning_runs import Shop

from hushprice.errors import InvalidInput
from hushprice.noise import System
from hushprice.policies.cautious.pricing.question import question_of
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.policies.cautious.private.bit_learner import BitCounts, BitLearner, CountedBit
from hushprice.policies.cautious.private.sums import Contributions
from hushprice.policies.cautious.report_engine import ReportEngine
from hushprice.policies.verification import verify
from hushprice.privacy.certificates.certificate import Certificate
from hushprice.privacy.events import BitReports
from hushprice.service.learning.slot_records import read_reports
from hushprice.service.shared.device_state import asked_by
from hushprice.service.shared.product import Product, learning_policy_of
from hushprice.service.store.values import UNPRICED, SeenRelease, Slot


@pytest.fixture
def shop(tmp_path: Path) -> Any:
    made = Shop(tmp_path, local_spec())
    yield made
    made.close()


def first_count(shop: Shop) -> int:
    return int(shop.learner()._engine.quoter.rule.count)  # type: ignore[union-attr]


def usual(count: int) -> list[float]:
    """What so many visitors buy where the shop is right: two in five do."""
    return [float(n % 5 < 2) for n in range(count)]


def test_devices_are_learned_from(shop: Shop) -> None:
    """Everybody buys: the belief after a batch expects more purchases than before."""
    count, before = first_count(shop), belief_of(shop)
    serve_devices(shop, [1.0] * count)
    learn(shop)
    (release,) = shop.releases()
    assert (release.kind, release.records, release.version) == ("moments", count, 1)
    after = belief_of(shop)
    assert after.version == 1
    assert after.mark != before.mark
    assert after.question.theta[0] > before.question.theta[0]
    assert shop.learner().ledger.spent[0].event == BitReports(keep=before.keep)  # type: ignore[union-attr]


def test_a_learner_that_is_restored_goes_on_in_the_middle_of_a_batch(shop: Shop) -> None:
    count = first_count(shop)
    serve_devices(shop, [1.0] * 20)
    learn(shop)
    engine = shop.learner()._engine
    assert isinstance(engine, ReportEngine)
    assert engine.learner.batch.counts.sum() == engine.learner.priced == 20
    serve_devices(shop, [0.0] * (count - 20))
    learn(shop)
    assert len(shop.releases()) == 1


def test_reports_on_another_belief_count_nothing(shop: Shop) -> None:
    """And at a frozen price, over a cap, of a tombstone, late: their slots are counted, as their number is public."""
    count = first_count(shop)
    serve_devices(shop, usual(count))
    late = serve_devices(shop, usual(30))  # asked before the release that they come after
    learn(shop)
    engine = shop.learner()._engine
    assert isinstance(engine, ReportEngine)
    assert (shop.learned(), engine.learner.batch.counts.sum(), engine.learner.priced) == (count + 30, 0, 0)
    assert len(late) == 30
    shop.wait(1.0)
    serve_devices(shop, usual(engine.quoter.rule.count - 30))
    learn(shop)
    engine = shop.learner()._engine
    assert isinstance(engine, ReportEngine)
    heard = engine.quoter.batches[-1].rule.count
    assert heard == engine.quoter.past[-1].rule.count == shop.learned() - count - 30
    assert engine.quoter.health.looks == 0  # slots without a report are no holdout that earned nothing
    serve_devices(shop, [1.0] * 5, holdout=True)
    serve_devices(shop, [1.0] * 5, context=b"")
    serve_devices(shop, [1.0] * 5, customer=b"ann")
    shop.store.forget(b"ann")
    serve_devices(shop, [1.0] * 7)
    learn(shop)
    engine = shop.learner()._engine
    assert isinstance(engine, ReportEngine)
    assert engine.learner.batch.counts.sum() == engine.learner.priced == 7


def test_a_batch_that_nobody_reported_in_changes_no_price(shop: Shop) -> None:
    count, before = first_count(shop), belief_of(shop).question.theta
    serve_devices(shop, [1.0] * count, context=b"")
    learn(shop)
    assert len(shop.releases()) == 1
    assert belief_of(shop).question.theta == pytest.approx(before, abs=1e-9)


def slot(code: float | None, **more: Any) -> Slot:
    given = {"slot": 1, "context": asked_by(3), "price": UNPRICED, "demand": code, "counts": True, "id": bytes(16)}
    return Slot(**given | more)  # type: ignore[arg-type]


def test_a_report_is_read_from_its_code() -> None:
    codes = [0.0, 1.0, 5.0, None, 0.5, -1.0, np.inf, np.nan]
    heard, unreadable = read_reports([slot(code) for code in codes], 3)
    assert heard == [CountedBit(-1.0, 0, False), CountedBit(-1.0, 0, True), CountedBit(-1.0, 2, True)]
    assert unreadable == 4
    assert read_reports([slot(1.0, counts=False), slot(1.0, context=None), slot(1.0, holdout=True)], 3) == ([], 0)
    assert read_reports([slot(1.0)], 2) == ([], 0)


def engine_of(**changes: Any) -> ReportEngine:
    policy = learning_policy_of(msgspec.json.decode(local_spec(**changes), type=Product))
    return ReportEngine(policy=policy, source=System())  # type: ignore[arg-type]


def test_what_bits_count_for_is_the_records_score_on_average() -> None:
    """One price for all: every customer bought, and half of them said so as often as `keep` says."""
    engine = engine_of(contexts=0)
    asked, rounds = engine.quoter, 4000
    keep, low = asked.rules.bits.steps[0][1], asked.belief  # type: ignore[union-attr]
    assert low is not None
    ups = round((1.0 - keep) * rounds)  # a purchase's residual is the lowest: an honest bit is never up
    engine.learner.count_bits([CountedBit(1.0, 0, n < ups) for n in range(rounds)], rounds)
    score = engine.learner.release().score
    question = question_of(asked)
    residual = question.believed((), question.price((), 1.0)) - 1.0
    assert score[0] == pytest.approx(rounds * residual, rel=1e-3)
    assert score[1] == 0.0
    assert engine.learner.release() is engine.learner.last


def test_what_nobody_was_asked_is_not_heard() -> None:
    engine = engine_of()
    assert engine.learner.choice == 0  # attributes are not asked about
    engine.learn_reports(
        [CountedBit(1.0, 0, True), CountedBit(1.0, 1, True), CountedBit(1.0, 9, True), CountedBit(-1.0, -1, True)], 4
    )
    assert engine.learner.batch.counts.sum() == engine.learner.priced == 1


def test_after_a_jump_no_device_is_heard_until_the_next_release() -> None:
    """The learner then plans by itself what devices are told with a release alone."""
    engine = engine_of()
    engine.learn_reports([CountedBit(1.0, 0, True)], 10)
    engine.jump(40)
    engine.learn_reports([CountedBit(1.0, 0, True)] * 5, 5)
    assert engine.learner.batch.counts.sum() == 0
    engine.learner.batch.restore(engine.learner.batch.state())
    assert engine.learner.batch.unasked
    made = engine.learn_reports([], engine.quoter.end - engine.learner.count)
    assert made is not None
    assert made.priced == 0
    engine.learn_reports([CountedBit(1.0, 0, True)] * 5, 5)
    assert engine.learner.batch.counts.sum() == 5


def test_a_record_cannot_be_given_to_it() -> None:
    """Planted: a caller that hands on what a customer was like."""
    engine = engine_of()
    for records in (
        lambda: engine.steps(None, 0),  # type: ignore[arg-type]
        lambda: engine.learner.absorb(np.zeros((1, 2)), np.zeros(1), np.ones(1), np.ones(1), np.zeros(6)),
        lambda: engine.learner.batch.add(Contributions(np.zeros((1, 6)), np.zeros((1, 17)), np.zeros((1, 2)))),
        lambda: engine.learner.batch.release(np.zeros(6), 1),
    ):
        with pytest.raises(InvalidInput):
            records()
    with pytest.raises(InvalidInput, match="at most"):
        engine.learn_reports([], 10**6)
    with pytest.raises(InvalidInput, match="without a slot"):
        engine.learner.release()
    central = learning_policy_of(msgspec.json.decode(cautious_spec(), type=Product))
    with pytest.raises(InvalidInput, match="must be 'local'"):
        BitLearner(rules=central.rules, quoter=CautiousQuoter(central.rules))  # type: ignore[union-attr,arg-type]
    assert repr(engine.learner) == "BitLearner(count=0)"


@pytest.mark.parametrize(
    "state", [b"", msgspec.msgpack.encode({"counts": [[[0]]], "deaf": False}), BitCounts(3).state()]
)
def test_a_batch_of_another_product_is_refused(state: bytes) -> None:
    with pytest.raises(InvalidInput, match="saved batch"):
        BitCounts(2).restore(state)


def test_negative_counts_are_refused() -> None:
    made = BitCounts(0)
    made.counts -= 1
    with pytest.raises(InvalidInput, match="saved batch"):
        BitCounts(0).restore(made.state())


def test_its_certificate_says_whom_to_trust(shop: Shop) -> None:
    count = first_count(shop)
    serve_devices(shop, [1.0] * count)
    learn(shop, signing_key=Ed25519PrivateKey.generate())
    body = shop.store.certificate("tea")
    assert body is not None
    certificate = Certificate.parse(body)
    assert certificate.content("parameters")["trust"] == "local"
    assert certificate.content("events")["spent"][0]["event"]["class"] == "BitReports"
    found = verify(certificate)
    assert 3.99 < found.proven.epsilon <= found.claimed.epsilon == 4.0
    assert "parameters.trust" in found.stated
    assert datetime.date.fromisoformat(certificate.content("mechanism")["issued"])


def test_a_restored_backup_is_gone_on_after(shop: Shop) -> None:
    serve_devices(shop, [1.0] * 10)
    learn(shop)
    learner = shop.learner()
    learner.jump(SeenRelease("tea", 1, 30))
    assert learner.learned == 30
    assert priced(shop).device_state is not None
