"""Trust aggregated: the totals of two aggregators are learned, and nothing else can be."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.service.aggregator_runs import InThread, aggregating
from tests.service.cautious_runs import cautious_spec, learn, priced
from tests.service.device_runs import asked_quote, belief_of
from tests.service.learning_runs import WINDOW, Shop
from tests.waiting import PATIENCE, eventually

from hushprice.client.device import SharingDevice
from hushprice.errors import InvalidInput
from hushprice.noise import System
from hushprice.policies.cautious.joined_engine import JoinedEngine
from hushprice.policies.cautious.pricing.question import promise_of
from hushprice.policies.cautious.private.joined_learner import AskedReports, JoinedLearner
from hushprice.policies.cautious.private.sums import Contributions
from hushprice.privacy.events import AggregatedBatches
from hushprice.service.learning import aggregated_totals, asked_totals
from hushprice.service.learning.aggregated_totals import Totals, TotalsNotOut, collect
from hushprice.service.learning.asked_totals import AskedTotals
from hushprice.service.learning.product_learner import ProductLearner
from hushprice.service.learning.slot_records import reports_asked
from hushprice.service.quoting.product_health import health_of
from hushprice.service.shared.aggregator_messages import BatchOver, Share, digest_of
from hushprice.service.shared.device_state import asked_by
from hushprice.service.shared.product import AggregatorAddress, Product, learning_policy_of, quoter_of
from hushprice.service.store.protocol import LEASE
from hushprice.service.store.values import UNPRICED, SeenRelease, Slot

NOBODY = [{"url": f"http://127.0.0.1:{port}", "key": str(port) * 64} for port in (1, 2)]


def aggregated_spec(both: Sequence[Any] = NOBODY, **changes: Any) -> bytes:
    return cautious_spec(**{"trust": "aggregated", "holdout": 0.0, "epsilon": 100.0, "aggregators": both} | changes)


def product_of(**changes: Any) -> Product:
    return msgspec.json.decode(aggregated_spec(**changes), type=Product)


PROMISE = promise_of(quoter_of(product_of()))  # type: ignore[arg-type]


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[list[InThread]]:
    with ExitStack() as open_now:
        yield [open_now.enter_context(aggregating(tmp_path / name, {"tea": PROMISE})) for name in ("one", "two")]


@pytest.fixture
def shop(tmp_path: Path, pair: list[InThread]) -> Iterator[Shop]:
    made = Shop(tmp_path, aggregated_spec([{"url": each.url, "key": each.key} for each in pair]))
    yield made
    made.close()


def serve_sharing(shop: Shop, pair: list[InThread], bought: Sequence[float], *, lost: int = 0, **more: Any) -> None:
    """Customers who come at once; the first few's second share is lost."""
    belief, chance, quotes = belief_of(shop), np.random.default_rng(3), []
    for n, demand in enumerate(bought):
        stored, quote = asked_quote(shop, belief, **more)
        quotes.append(stored)
        report = SharingDevice(chance.uniform(-1.0, 1.0, 2).tolist()).report(belief, quote, quantity=demand)
        assert report is not None
        told = {name: getattr(report, name) for name in ("product", "quote", "choice", "least", "most", "grids")}
        for aggregator, words in zip(pair[: 1 if n < lost else 2], (report.first, report.second), strict=False):
            assert aggregator.opened.receive(Share(**told, words=words)).status == "recorded"
    shop.store.write(quotes, [])


def engine_of(shop: Shop) -> JoinedEngine:
    engine = shop.learner()._engine
    assert isinstance(engine, JoinedEngine)
    return engine


def test_totals_are_learned(shop: Shop, pair: list[InThread]) -> None:
    """Everybody buys: the belief after a batch expects more purchases than before. Who reached one alone is out."""
    count, before = engine_of(shop).quoter.rule.count, belief_of(shop)
    serve_sharing(shop, pair, [1.0] * 20)
    learn(shop)
    assert len(engine_of(shop).learner.batch.names) == 20  # restored in the middle of a batch
    serve_sharing(shop, pair, [1.0] * (count - 20), lost=5)
    learn(shop)
    (release,) = shop.releases()
    assert (release.kind, release.records, release.version) == ("moments", count, 1)
    assert engine_of(shop).quoter.past[-1].rule.count == count - 5
    health = health_of(priced(shop), with_cost=True)  # slots without a report are no holdout, and earned nothing
    assert (health.gain, health.earnings, health.alarms) == (None, None, 0)
    after = belief_of(shop)
    assert after.mark != before.mark
    assert after.question.theta[0] > before.question.theta[0] + 0.5
    assert isinstance(shop.learner().ledger.spent[0].event, AggregatedBatches)  # type: ignore[union-attr]


def test_a_batch_waits_for_an_aggregator_that_is_away(shop: Shop, pair: list[InThread]) -> None:
    """And slots that come meanwhile are learned after it."""
    count = engine_of(shop).quoter.rule.count
    serve_sharing(shop, pair, [1.0] * count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aggregated_totals, "_ask", away)
        learn(shop)
    assert (shop.learned(), shop.releases()) == (count, [])
    learner = shop.learner()
    assert learner.waits
    assert learner.learn([slot(count + 1)], 0.0) == 0
    assert learner.batch_over() == shop.learner().batch_over()
    serve_sharing(shop, pair, [1.0] * 5)
    shop.wait(WINDOW + 1.0)
    learning = shop.learning()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aggregated_totals, "_ask", away)
        while learning.turn():
            pass
    assert list(learning.set_aside) == ["tea"]
    learning.set_aside.clear()
    while learning.turn():
        pass
    assert (shop.learned(), len(shop.releases())) == (count + 5, 1)


def away(*given: Any) -> Any:
    raise TotalsNotOut("away")


def test_a_batch_that_the_horizon_ends_is_joined_first(tmp_path: Path, pair: list[InThread]) -> None:
    both = [{"url": each.url, "key": each.key} for each in pair]
    shop = Shop(tmp_path, aggregated_spec(both, horizon=6, delta=1e-6))
    count = engine_of(shop).quoter.rule.count
    assert count == 6
    serve_sharing(shop, pair, [1.0] * count)
    learn(shop)
    assert len(shop.releases()) == 1
    assert not shop.learner().learning
    shop.close()


def slot(number: int, **more: Any) -> Slot:
    given = {"slot": number, "context": asked_by(0), "price": UNPRICED, "demand": None, "counts": True, "id": bytes(16)}
    return Slot(**given | more)  # type: ignore[arg-type]


def test_who_is_asked_is_who_was_quoted_by_this_belief() -> None:
    slots = [slot(n, id=bytes([n] * 16)) for n in range(3)]
    assert reports_asked(slots, 0) == [each.id for each in slots]
    others = [{"context": b""}, {"context": None}, {"holdout": True}, {"counts": False}, {"context": asked_by(1)}]
    assert reports_asked([slot(1, **each) for each in others], 0) == []


def batch_of(pair: list[InThread]) -> tuple[list[AggregatorAddress], BatchOver]:
    both = [AggregatorAddress(each.url, each.key) for each in pair]
    return both, BatchOver(product="tea", follows=0, choice=1, quotes="")


def test_totals_are_those_asked_for_and_signed(pair: list[InThread]) -> None:
    both, batch = batch_of(pair)
    found = collect(both, batch)
    assert (found, found.reports) == (collect(both, batch), 0)
    swapped = [AggregatorAddress(both[0].url, both[1].key), both[1]]
    with pytest.raises(TotalsNotOut, match="not signed"):
        collect(swapped, batch)
    with pytest.raises(TotalsNotOut, match="did not answer"):
        collect([both[0], AggregatorAddress("http://127.0.0.1:9", both[1].key)], batch)
    with pytest.raises(TotalsNotOut, match="did not answer"):
        collect(both, BatchOver(product="coffee", follows=0, choice=1, quotes=""))


def test_a_total_of_another_list_is_refused(pair: list[InThread]) -> None:
    """Planted: an aggregator that adds up what it likes, and says so."""
    both, batch = batch_of(pair)
    with pytest.MonkeyPatch.context() as patch:
        publish = pair[1].opened.publish
        patch.setattr(pair[1].opened, "publish", lambda asked: (digest_of("00" * 16), publish(asked)[1]))
        with pytest.raises(TotalsNotOut, match="something else"):
            collect(both, batch)


def test_who_answers_drop_by_drop_is_given_up(monkeypatch: pytest.MonkeyPatch, pair: list[InThread]) -> None:
    """One of the two may be hostile, and all products wait. What it sends is never late, and never ends."""
    monkeypatch.setattr(aggregated_totals, "DEADLINE", 0.5)
    both, batch = batch_of(pair)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            taken, _ = listening.accept()
            with taken, contextlib.suppress(OSError):
                taken.sendall(b"HTTP/1.1 200 OK\r\nx: ")
                while True:
                    taken.sendall(b"x")
                    time.sleep(0.02)

        dripping = threading.Thread(target=drip)
        dripping.start()
        slow = AggregatorAddress(f"http://127.0.0.1:{listening.getsockname()[1]}", both[0].key)
        with pytest.raises(TotalsNotOut, match="did not answer"):
            collect([slow, both[1]], batch)
        dripping.join(PATIENCE)
        assert not dripping.is_alive()
    aggregated_totals._cut(HTTPConnection("127.0.0.1"))  # one that is not connected yet


def test_an_aggregator_that_is_slow_holds_up_no_other_product(
    shop: Shop, pair: list[InThread], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease is renewed, everything else is learned, and its own batch is joined once it has answered."""
    monkeypatch.setattr(asked_totals, "PROMPT", 0.01)
    answering, may = threading.Event(), threading.Event()

    def slow(*given: Any) -> Any:
        answering.set()
        assert may.wait(PATIENCE)
        return collect(*given)

    monkeypatch.setattr(asked_totals, "collect", slow)
    shop.add(cautious_spec(name="coffee"))
    count = engine_of(shop).quoter.rule.count
    serve_sharing(shop, pair, [1.0] * count)
    for n in range(5):
        shop.quote(n, product="coffee")
    shop.wait(WINDOW)
    learning = shop.learning()
    try:
        for _ in range(3):
            assert learning.turn()
            shop.wait(LEASE / 2)
        assert answering.is_set()
        assert shop.store.learner_alive(shop.time)
        assert (shop.learned("coffee"), shop.releases(), learning.set_aside) == (5, [], {})
    finally:
        may.set()
    eventually(lambda: learning.turn() or bool(shop.releases()))
    while learning.turn():
        pass
    assert (len(shop.releases()), learning.set_aside) == (1, {})


@pytest.fixture
def waiting(shop: Shop, pair: list[InThread]) -> ProductLearner:
    """A learner whose batch is over."""
    serve_sharing(shop, pair, [1.0] * engine_of(shop).quoter.rule.count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aggregated_totals, "_ask", away)
        learn(shop)
    learner = shop.learner()
    assert learner.waits
    return learner


def test_so_many_products_are_asked_about_at_once(waiting: ProductLearner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked_totals, "AT_ONCE", 0)
    asked = AskedTotals(lambda: None)
    assert asked.of(waiting) is None
    assert repr(asked) == "AskedTotals([])"


def test_totals_of_a_batch_that_the_learner_does_not_wait_for_are_dropped(waiting: ProductLearner) -> None:
    """The store was set back while they were asked for, and the learner was read from it again."""
    asked, answer, before = AskedTotals(lambda: None), Future[Totals](), waiting.batch_over()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asked_totals, "PROMPT", 0.0)
        patch.setattr(AskedTotals, "_ask", lambda *given: answer)
        patch.setattr(waiting, "batch_over", lambda: msgspec.structs.replace(before, follows=7))
        assert asked.of(waiting) is None
    answer.set_result(Totals([], [], 3))
    assert asked.of(waiting) is None
    totals = eventually(lambda: asked.of(waiting))
    assert totals is not None
    assert totals.reports == len(before.quotes) // 32


def joined_engine() -> JoinedEngine:
    return JoinedEngine(policy=learning_policy_of(product_of()), source=System())  # type: ignore[arg-type]


def test_what_is_joined_is_the_batch_at_hand_once() -> None:
    engine = joined_engine()
    size = 6 + 17 + 2
    with pytest.raises(InvalidInput, match="at most"):
        engine.ask([], 10**6)
    with pytest.raises(InvalidInput, match="when the batch is over"):
        engine.join([0] * size, [0] * size, 0)
    engine.ask([bytes(16)], engine.quoter.end)
    with pytest.raises(InvalidInput, match="both totals"):
        engine.release()
    with pytest.raises(InvalidInput, match="got 2 of them"):
        engine.join([0] * size, [0] * size, 2)
    made = engine.join([1 << 38] + [0] * (size - 1), [0] * size, 1)
    assert made is not None
    assert (made.score[0], made.priced, made.descriptions.size, made.earnings.size) == (1.0, 1, 17, 2)
    assert engine.learner.count == made.records
    assert repr(engine.learner) == f"JoinedLearner(count={made.records})"


@pytest.mark.parametrize(("sent", "kept"), [(1.0, True), (-1.0, True), (1e6, False), (-1e6, False)])
def test_a_total_that_honest_devices_cannot_have_sent_is_dropped(
    sent: float, kept: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """One report: 1 at most in each number. A device that lies makes its batch as if nobody had reported."""
    engine = joined_engine()
    engine.ask([bytes(16)], engine.quoter.end)
    made = engine.join([int(sent * (1 << 38)) % 2**64] + [0] * 24, [0] * 25, 1)
    assert made is not None
    assert (made.score[0], made.priced) == ((sent, 1) if kept else (0.0, 0))
    assert ("1 honest devices" in caplog.text) is not kept
    assert engine.quoter.version == 1  # and prices go on


def test_after_a_jump_no_report_is_asked_for_until_the_next_release() -> None:
    engine = joined_engine()
    engine.ask([bytes(16)], 10)
    engine.jump(40)
    engine.ask([bytes(16)], 5)
    assert engine.learner.batch.names == []
    engine.learner.batch.restore(engine.learner.batch.state())
    assert engine.learner.batch.unasked
    learner = ProductLearner(aggregated_spec())
    learner.jump(SeenRelease("tea", 1, 30))
    assert learner.learned == 30


def test_no_record_can_be_given_to_it() -> None:
    """Planted: a caller that hands on what a customer was like."""
    engine = joined_engine()
    for records in (
        lambda: engine.steps(None, 0),  # type: ignore[arg-type]
        lambda: engine.learner.absorb(np.zeros((1, 2)), np.zeros(1), np.ones(1), np.ones(1), np.zeros(6)),
        lambda: engine.learner.batch.add(Contributions(np.zeros((1, 6)), np.zeros((1, 17)), np.zeros((1, 2)))),
        lambda: engine.learner.batch.release(np.zeros(6), 1),
    ):
        with pytest.raises(InvalidInput):
            records()
    central = learning_policy_of(msgspec.json.decode(cautious_spec(), type=Product))
    with pytest.raises(InvalidInput, match="must be 'aggregated'"):
        JoinedLearner(rules=central.rules, choice=0)  # type: ignore[union-attr]


@pytest.mark.parametrize("state", [b"", msgspec.msgpack.encode({"reports": b"12", "deaf": False})])
def test_a_batch_of_another_product_is_refused(state: bytes) -> None:
    with pytest.raises(InvalidInput, match="saved batch"):
        AskedReports().restore(state)
