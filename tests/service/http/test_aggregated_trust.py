"""Trust aggregated over real connections: devices, two aggregators as processes of their own, a shop, its learner."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.service.aggregator_runs import AggregatorProcess, write_promises
from tests.service.clock import pass_deadlines
from tests.service.http.running import KEYS, Running
from tests.service.http.test_cautious import SCARF
from tests.waiting import PATIENCE

from hushprice.client import Aggregators, Client, Outcome, Quote, Refused, ServiceAway, SharingDevice
from hushprice.errors import InvalidInput
from hushprice.policies.cautious.pricing.question import promise_of
from hushprice.policies.verification import verify
from hushprice.privacy.certificates.certificate import Certificate
from hushprice.service.learning.loop import LearningLoop
from hushprice.service.shared.product import Product, quoter_of
from hushprice.service.store import consistency, open_store

NOBODY = [{"url": f"http://127.0.0.1:{port}", "key": str(port) * 64} for port in (1, 2)]
TEA: dict[str, Any] = {
    **SCARF,
    "name": "tea",
    "most": 1.0,
    "epsilon": 100.0,
    "trust": "aggregated",
    "aggregators": NOBODY,
}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[AggregatorProcess]]:
    folder = tmp_path_factory.mktemp("aggregators")
    promise = promise_of(quoter_of(msgspec.convert(TEA, Product)))  # type: ignore[arg-type]
    promises = write_promises(folder / "promises.toml", "tea", promise)
    made = [AggregatorProcess(folder / name, promises) for name in ("one", "two")]
    yield made
    assert [each.end() for each in made] == [0, 0]


@contextlib.contextmanager
def selling(running: Running, pair: list[AggregatorProcess]) -> Iterator[Client]:
    both = [{"url": each.url, "key": each.key} for each in pair]
    made = running.client("admin").post("/v1/products", json=TEA | {"aggregators": both})
    assert made.status_code == 201, made.text
    with Client(running.url, KEYS["shop"], timeout=PATIENCE) as client:
        yield client


@pytest.fixture
def shop(fresh: Running, pair: list[AggregatorProcess]) -> Iterator[Client]:
    with selling(fresh, pair) as client:
        yield client


@pytest.fixture
def either_shop(either: Running, pair: list[AggregatorProcess]) -> Iterator[Client]:
    with selling(either, pair) as client:
        yield client


@pytest.fixture
def aggregators(pair: list[AggregatorProcess]) -> Iterator[Aggregators]:
    made = Aggregators(*(each.url for each in pair), timeout=PATIENCE, deadline=PATIENCE)
    yield made
    made.close()


@contextlib.contextmanager
def learning(running: Running) -> Iterator[LearningLoop]:
    with contextlib.closing(open_store(running.store, "learner")) as store:
        made = LearningLoop(store, signing_key=Ed25519PrivateKey.generate())
        yield made
        store.drop_lease(made.holder)
        assert consistency.problems(store) == []
    running.look()


def turn(loop: LearningLoop) -> None:
    """Until nothing is due; while aggregators are asked, something is."""
    while loop.turn():
        time.sleep(0.01)


def visit(shop: Client, aggregators: Aggregators, count: int) -> list[Quote]:
    """So many customers who buy, each with a device of their own."""
    belief, given = shop.belief("tea"), []
    for n in range(count):
        quote, device = shop.quote_for_device("tea"), SharingDevice([0.3, -0.4])
        assert 20.0 <= device.price(belief, quote) <= 30.0
        told = aggregators.send(device.report(belief, quote, purchased=True))
        assert told == Outcome("recorded"), n
        given.append(quote)
    return given


def privacy(running: Running) -> dict[str, Any]:
    return dict(running.client().get("/v1/products/tea/privacy").json())


def test_devices_report_to_two_and_what_they_publish_is_learned(
    either: Running, either_shop: Client, aggregators: Aggregators
) -> None:
    shop = either_shop
    before = shop.belief("tea")
    count = privacy(either)["next_release_after_slot"]
    visit(shop, aggregators, count)
    pass_deadlines(either.store)
    with learning(either) as loop:
        turn(loop)
        assert loop.set_aside == {}
    after, told = shop.belief("tea"), privacy(either)
    assert (after.version, after.mark == before.mark) == (1, False)
    assert after.question.theta[0] > before.question.theta[0] + 0.5  # everybody bought
    assert (told["trust"], told["learned"], told["releases"]) == ("aggregated", count, 1)
    assert "each of two aggregators" in told["note"]
    certificate = Certificate.parse(either.client().get("/v1/products/tea/certificate").content)
    assert certificate.content("parameters")["trust"] == "aggregated"
    assert certificate.content("events")["spent"][0]["event"]["class"] == "AggregatedBatches"
    assert 99.0 < verify(certificate).proven.epsilon <= 100.0


def test_an_aggregator_that_is_killed_goes_on_and_draws_no_noise_again(
    fresh: Running, shop: Client, aggregators: Aggregators, pair: list[AggregatorProcess]
) -> None:
    """Killed before it has published: the batch waits. Killed after: what it says again is what it said."""
    visit(shop, aggregators, privacy(fresh)["next_release_after_slot"])
    pass_deadlines(fresh.store)
    with learning(fresh) as loop:
        pair[1].end(signal.SIGKILL)
        turn(loop)
        assert list(loop.set_aside) == ["tea"]
        pair[1].start()
        loop.set_aside.clear()  # a minute has passed
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(loop, "_commit", lambda *given: (_ for _ in ()).throw(RuntimeError))  # both have published
            turn(loop)
        assert privacy(fresh)["releases"] == 0
        first = [totals(each) for each in pair]
        for each in pair:
            each.end(signal.SIGKILL)
            each.start()
        loop.set_aside.clear()
        turn(loop)  # asks again
        assert loop.set_aside == {}
        assert [totals(each) for each in pair] == first
    assert (privacy(fresh)["releases"], shop.belief("tea").version) == (1, 1)


def totals(each: AggregatorProcess) -> list[tuple[str, str]]:
    """All that it has published."""
    with contextlib.closing(sqlite3.connect(each.store)) as connection:
        return connection.execute("SELECT name, words FROM batch WHERE words IS NOT NULL ORDER BY name").fetchall()


def test_what_does_not_fit_the_promise_is_refused(shop: Client, pair: list[AggregatorProcess]) -> None:
    belief, quote = shop.belief("tea"), shop.quote_for_device("tea")
    report = SharingDevice([0.3, -0.4]).report(belief, quote, purchased=True)
    assert report is not None
    with contextlib.closing(Aggregators(*(each.url for each in pair), timeout=PATIENCE)) as aggregators:
        finer = msgspec.structs.replace(report, grids=replace(report.grids, common=report.grids.common + 1))
        for changes in (
            {"most": 0.5},
            {"least": 0.1},
            {"choice": 2},
            {"choice": 99},
            {"product": "coffee"},
            {"first": "0" * 16},
            {"grids": finer.grids},
        ):
            with pytest.raises(Refused):
                aggregators.send(msgspec.structs.replace(report, **changes))
        assert aggregators.send(report) == Outcome("recorded")
        assert aggregators.send(report) == Outcome("recorded", repeat=True)
        with pytest.raises(Refused, match="another share"):
            aggregators.send(msgspec.structs.replace(report, first=report.second))


def test_calls_of_an_aggregator_are_refused_by_what_is_wrong(pair: list[AggregatorProcess]) -> None:
    with httpx.Client(base_url=pair[0].url, timeout=PATIENCE, trust_env=False) as client:
        facts = client.get("/v1/aggregator").json()
        assert (facts["key"], list(facts["products"])) == (pair[0].key, ["tea"])
        assert client.post("/v1/nothing").status_code == 404
        asked = client.get("/v1/shares")
        assert (asked.status_code, asked.headers["Allow"]) == (405, "POST")
        assert client.post("/v1/shares", content=b"{").status_code == 400
        assert client.post("/v1/shares", content=b"{}").status_code == 422
        assert client.post("/v1/shares", content=b" " * 100_000).status_code == 413
        batch = {"product": "tea", "follows": 0, "choice": 9, "quotes": ""}
        assert client.post("/v1/batches", json=batch).json()["error"]["field"] == "choice"
        unknown = {"product": "tea", "batch": "0" * 64, "quotes": ""}
        assert client.post("/v1/totals", json=unknown).status_code == 409


def test_the_shop_is_told_nothing_else(shop: Client) -> None:
    quote = shop.quote_for_device("tea")
    with pytest.raises(Refused, match="devices send reports"):
        shop.outcome(quote, purchased=True)
    with pytest.raises(Refused, match="its devices keep it"):
        shop.quote("tea", context=[0.1, 0.2])


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"aggregators": None}, "aggregators"),
    ({"trust": "central"}, "aggregators are given where trust is 'aggregated'"),
    ({"aggregators": [NOBODY[0], NOBODY[0]]}, "two different ones"),
    ({"aggregators": [NOBODY[0], {**NOBODY[1], "key": NOBODY[0]["key"] + "\n"}]}, "keys of 64 hexadecimal digits"),
    ({"aggregators": [NOBODY[0], NOBODY[1] | {"url": "http://two.example"}]}, "https"),
    ({"horizon": 2**22 + 1}, "horizon"),
    ({"holdout": 0.1}, "holdout"),
    ({"epsilon": 300.0}, "epsilon must be so small"),
]


@pytest.mark.parametrize(("changes", "says"), WRONG)
def test_what_two_aggregators_cannot_keep_is_refused(fresh: Running, changes: dict[str, Any], says: str) -> None:
    answer = fresh.client("admin").post("/v1/products", json=TEA | changes)
    assert answer.status_code == 422
    assert says in answer.text


def test_a_device_sends_to_two_over_safe_ways_or_to_nobody(shop: Client) -> None:
    for wrong in (("http://one.example", "https://two.example"), ("https://one.example/", "https://one.example")):
        with pytest.raises(InvalidInput):
            Aggregators(*wrong)
    belief, quote = shop.belief("tea"), shop.quote_for_device("tea")
    device = SharingDevice([0.3, -0.4])
    report = device.report(belief, quote, purchased=True)
    assert device.report(belief, quote, purchased=True) is report
    assert repr(report) == "DeviceShares(<sensitive>)"
    assert device.report(belief, shop.quote_for_device("tea"), purchased=True) is None  # one is all it sends
    with contextlib.closing(Aggregators("http://127.0.0.1:9", "http://127.0.0.1:10", deadline=0.3)) as nobody:
        assert nobody.send(None) == Outcome("not told")
        with pytest.raises(ServiceAway):
            nobody.send(report)
    with pytest.raises(InvalidInput, match="aggregated"):
        SharingDevice([0.0, 0.0]).report(msgspec.structs.replace(belief, grids=None), quote, purchased=True)
