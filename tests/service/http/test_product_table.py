"""What a quoter prices by: the newest release, written down on disk before the first price made of it."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.service.http.running import PRODUCT, Running, add_keys, ask, running
from tests.service.http.test_cautious import SCARF
from tests.waiting import eventually

from hushprice.errors import InvalidInput
from hushprice.policies.newton.pricing.stored_belief import StoredBelief, belief_of, set_belief
from hushprice.service.quoting import product_table
from hushprice.service.quoting.priced_product import PricedProduct
from hushprice.service.quoting.product_table import POLL, ProductTable
from hushprice.service.quoting.randomness import random_bytes
from hushprice.service.shared import seen_releases
from hushprice.service.shared.product import Product, quoter_of, tariff_of
from hushprice.service.shared.seen_releases import SeenReleasesFile
from hushprice.service.store import open_store
from hushprice.service.store.lost_releases import MARK, digest
from hushprice.service.store.protocol import LearnerStore, StoreUnavailable
from hushprice.service.store.sqlite import SqliteStore
from hushprice.service.store.values import LearnerState, SeenRelease, StoredRelease

SPEC = msgspec.convert(PRODUCT, Product)
FIRST = SeenRelease("umbrella", 1, 0, digest(b"1"), lineage=digest(b"1")[:MARK])


def belief(version: int = 1) -> StoredBelief:
    """A belief under which prices differ between customers."""
    quoter = quoter_of(SPEC)
    quoter.theta = np.array([0.0, 0.3, -0.2, 0.3, 0.85])
    quoter.ready, quoter.version = True, version
    return belief_of(quoter)


def release(store: LearnerStore, sequence: int = 1) -> None:
    """What the learner does, with numbers of the test's own."""
    assert store.take_lease("test", time.time())
    made = StoredRelease(
        "umbrella",
        sequence,
        sequence,
        "score",
        0,
        0,
        b"%d" % sequence,
        msgspec.json.encode(belief(sequence)),
        time.time(),
    )
    state = LearnerState("umbrella", 0, sequence, b"", b"{}")
    store.commit("test", state, [made], time.time())


@pytest.fixture
def store(tmp_path: Path):
    path = str(tmp_path / "shop.db")
    add_keys(path)
    opened = open_store(path, "learner")
    opened.add_product("umbrella", msgspec.json.encode(SPEC), b"{}", time.time())
    yield opened
    opened.close()


def test_a_new_release_reaches_quotes_within_a_second(fresh: Running) -> None:
    store = open_store(fresh.store, "learner")
    try:
        assert fresh.quote()["version"] == 0
        release(store)
        eventually(lambda: fresh.quote()["version"] == 1)
        assert POLL < 1.0  # how soon is a matter of the machine, too; how often the service looks is not
        body = fresh.client().get("/v1/products/umbrella/privacy").json()
        assert (body["releases"], body["versions"], body["spent"]) == (1, 1, body["proven"])
        assert (body["labels"]["quotes"], body["labels"]["versions"]) == ("public", "noised")
        for path in ("prices", "demand", "report"):
            assert fresh.client().get(f"/v1/products/umbrella/{path}").json()["label"] == "noised"
    finally:
        store.close()


def test_a_price_is_that_of_the_belief_after_rules(tmp_path: Path, store: LearnerStore) -> None:
    release(store)
    board = ProductTable(SeenReleasesFile(tmp_path / "seen.json"))
    board.refresh(store)
    held = board.products["umbrella"]
    slow = set_belief(quoter_of(SPEC), belief())
    for age in (18, 41, 98):
        context = held.context({"age": age, "member": True, "region": "north"}, None)
        assert held.price(context, 0.3) == tariff_of(SPEC).charge(slow.price(np.frombuffer(context), 0.3))
    ages = [held.context({"age": age, "member": True, "region": "north"}, None) for age in (18, 98)]
    assert held.price(ages[0], 0.5) != held.price(ages[1], 0.5)


def test_a_release_is_on_disk_before_it_is_priced_by(
    tmp_path: Path, store: LearnerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = SeenReleasesFile(tmp_path / "seen.json")
    board = ProductTable(file)
    board.refresh(store)
    release(store)
    order: list[str] = []

    def written(path: Path, content: bytes) -> None:
        order.append(f"written while version {board.products['umbrella'].version} was held")
        raise OSError("no space")

    monkeypatch.setattr("hushprice.service.shared.seen_releases.replace_file", written)
    assert board.refresh(store) == []
    assert board.unnoted
    assert order == ["written while version 0 was held"]
    assert board.products["umbrella"].version == 0  # what is not on disk is not used
    monkeypatch.undo()
    assert board.refresh(store) == [FIRST]
    assert not board.unnoted
    assert board.products["umbrella"].version == 1
    assert SeenReleasesFile(tmp_path / "seen.json").all() == [FIRST]


def test_a_freeze_does_not_wait_for_a_release_that_cannot_be_noted(
    tmp_path: Path, store: LearnerStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    board = ProductTable(SeenReleasesFile(tmp_path / "seen.json"))
    release(store)
    board.refresh(store)
    monkeypatch.setattr("hushprice.service.shared.seen_releases.replace_file", _full)
    for sequence in (2, 3):
        release(store, sequence)
        store.set_status("umbrella", "frozen", time.time())
        assert board.refresh(store) == []
    held = board.products["umbrella"]
    assert (held.stored.status, held.personal, held.version) == ("frozen", False, 1)
    assert [each.sequence for each in board.history(store, "umbrella")] == [1]
    with pytest.raises(StoreUnavailable, match="could not be noted"):
        board.certificate(store, "umbrella")
    assert caplog.text.count("No space left on device") == 1  # said once, not twice a second
    monkeypatch.undo()
    assert [each.sequence for each in board.refresh(store)] == [3]
    assert [each.sequence for each in board.history(store, "umbrella")] == [1, 2, 3]


def test_a_certificate_and_a_history_that_say_nothing_new_need_no_look_at_all_products(
    tmp_path: Path, store: LearnerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they are made of was noted when they were first shown, and anybody may ask again and again."""
    board, looks, real = ProductTable(SeenReleasesFile(tmp_path / "seen.json")), [], ProductTable.refresh
    board.refresh(store)
    monkeypatch.setattr(ProductTable, "refresh", lambda self, store: looks.append(store) or real(self, store))
    assert board.certificate(store, "umbrella") is None
    assert looks == []
    for sequence in (1, 2):
        release(store, sequence)
        store.add_certificate("umbrella", b"after %d" % sequence, time.time())
        for _ in range(3):
            assert board.certificate(store, "umbrella") == b"after %d" % sequence
            assert [each.sequence for each in board.history(store, "umbrella")] == [*range(1, sequence + 1)]
        assert len(looks) == sequence
    release(store, 3)
    assert [each.sequence for each in board.history(store, "umbrella")] == [1, 2, 3]
    assert SeenReleasesFile(tmp_path / "seen.json").all()[0].sequence == 3


def test_first_batches_are_planned_one_by_one_after_all_products_are_open(
    tmp_path: Path, store: LearnerStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One takes as long as opening ten; who needs one first does it at once, and what is retired needs none."""
    for name in ("scarf", "hat", "coat", "gone", "odd"):
        spec = msgspec.convert({**SCARF, "name": name}, Product)
        store.add_product(name, msgspec.json.encode(spec), b"{}", time.time())
    store.retire("gone", time.time())
    board = ProductTable(SeenReleasesFile(tmp_path / "seen.json"))
    board.refresh(store)
    while board.open_some(2):
        pass
    assert board.unplanned == ["scarf", "hat", "coat", "gone", "odd"]
    assert [each.planned for each in board.products.values()] == [True] + [False] * 5
    board.products["hat"].price(bytes(16), 0.7)
    assert board.products["hat"].planned

    def refuse(priced: PricedProduct) -> None:
        raise InvalidInput("a plan that fails")

    took = board.plan_one()
    assert took is not None
    assert took > 0.0
    assert [each.planned for each in board.products.values()] == [True, True, True, False, False, False]
    assert board.plan_one() is not None
    monkeypatch.setattr(product_table, "status_of", refuse)
    assert board.plan_one() is not None
    assert "product odd cannot be priced: InvalidInput" in caplog.messages
    assert board.plan_one() is None
    assert board.products["odd"].plan().planned


def test_figures_of_all_products_wait_until_first_batches_are_planned(tmp_path: Path) -> None:
    """And those for Prometheus, which quotes would wait for, leave them out until then."""
    path = str(tmp_path / "shop.db")
    add_keys(path)
    with contextlib.closing(open_store(path, "learner")) as store:
        spec = msgspec.convert(SCARF, Product)
        store.add_product("scarf", msgspec.json.encode(spec), b"{}", time.time())
    with running(path, tmp_path) as server:
        assert server.client().get("/v1/privacy").json()["products"][0]["next_release_after_slot"] == 48
        line = 'hushprice_product_status{product="scarf",status="learning"} 1'
        assert line in server.client("auditor").get("/metrics").text
        server.service.reader.planned.clear()
        del server.service.product_table.products["scarf"].__dict__["_pricing"]
        assert line not in server.client("auditor").get("/metrics").text


def test_a_start_that_cannot_note_what_it_finds_is_refused(
    tmp_path: Path, store: LearnerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise prices would fall back to those before the first release, and nobody would know."""
    release(store)
    monkeypatch.setattr("hushprice.service.shared.seen_releases.replace_file", _full)
    with pytest.raises(StoreUnavailable, match="No space left on device"):
        ProductTable(SeenReleasesFile(tmp_path / "seen.json")).refresh(store)


def test_a_product_that_is_new_here_starts_without_a_release_that_cannot_be_noted(
    tmp_path: Path, store: LearnerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = ProductTable(SeenReleasesFile(tmp_path / "seen.json"))
    other = msgspec.structs.replace(SPEC, name="other")
    store.add_product("other", msgspec.json.encode(other), b"{}", time.time())
    board.refresh(store)
    del board.products["umbrella"]
    release(store)
    monkeypatch.setattr("hushprice.service.shared.seen_releases.replace_file", _full)
    board.refresh(store)
    assert (board.products["umbrella"].release, board.history(store, "umbrella")) == (None, [])


def _full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_customer_clipped_while_a_release_is_noted_is_counted(
    tmp_path: Path, store: LearnerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noting waits for the disk, in a thread of its own, and quotes go on by what is held."""
    board = ProductTable(SeenReleasesFile(tmp_path / "seen.json"))
    board.refresh(store)
    release(store)
    old = {"age": 130, "member": True, "region": "north"}
    real = seen_releases.replace_file

    def written(path: Path, content: bytes) -> None:
        board.products["umbrella"].context(old, None)
        real(path, content)

    monkeypatch.setattr(seen_releases, "replace_file", written)
    board.refresh(store)
    assert board.products["umbrella"].version == 1
    board.products["umbrella"].context(old, None)
    assert board.clipped() == {"umbrella": 2}


def test_what_was_seen_never_goes_back(tmp_path: Path) -> None:
    file = SeenReleasesFile(tmp_path / "seen.json")
    assert file.note([SeenRelease("a", 5, 100), SeenRelease("b", 1, 10)]) == [
        SeenRelease("a", 5, 100),
        SeenRelease("b", 1, 10),
    ]
    assert file.note([SeenRelease("a", 4, 90), SeenRelease("b", 2, 20)]) == [SeenRelease("b", 2, 20)]
    assert sorted(file.all(), key=lambda seen: seen.product) == [SeenRelease("a", 5, 100), SeenRelease("b", 2, 20)]


def test_a_damaged_seen_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "seen.json").write_text('[{"product": "a"')
    with pytest.raises(InvalidInput, match="cannot be read"):
        SeenReleasesFile(tmp_path / "seen.json")


def test_what_was_seen_is_reported_at_the_next_start(tmp_path: Path) -> None:
    SeenReleasesFile(tmp_path / "seen.json").note([SeenRelease("umbrella", 7, 300)])
    with running(str(tmp_path / "shop.db"), tmp_path) as server:
        server.create()
    with running(str(tmp_path / "shop.db"), tmp_path) as server:
        store = open_store(server.store, "learner")
        try:
            assert store.highest_seen("umbrella") == SeenRelease(
                "umbrella", 7, 300
            )  # before the first request is taken
        finally:
            store.close()


def test_a_holdout_is_drawn_by_a_coin_that_knows_no_customer(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same random bytes give the same answer for every customer, and others another."""
    fresh.create(name="held", holdout=0.3, reference_price=17.0)
    customers = [{"age": age, "member": member, "region": "south"} for age in (18, 60, 98) for member in (True, False)]
    for share, held in ((0.29, True), (0.31, False)):
        coin = (int(share * 2**53) << 11).to_bytes(8, "little")
        drawn = functools.partial(_bytes, coin)
        monkeypatch.setattr("hushprice.service.http.routes.quotes.random_bytes", drawn)
        prices = {fresh.quote(product="held", attributes=customer)["price"] for customer in customers}
        assert (prices == {17.0}) == held


def _bytes(coin: bytes) -> bytes:
    """A fresh id, this coin, and always the same dispersion."""
    return os.urandom(16) + coin + b"\x37" * 8


def test_ids_and_coins_are_never_used_twice() -> None:
    drawn = [random_bytes() for _ in range(2000)]
    assert len({each[:16] for each in drawn}) == len({each[16:] for each in drawn}) == 2000
    assert {len(each) for each in drawn} == {32}


def test_every_quote_has_a_slot_whatever_its_price(fresh: Running) -> None:
    fresh.create(name="held", holdout=0.5)
    fresh.create(name="capped", records_per_customer=1)
    for _ in range(6):
        fresh.quote(product="held")
        fresh.quote(product="capped", customer="one")
    fresh.look()
    listed = {each["name"]: each["quotes"] for each in fresh.client().get("/v1/products").json()["products"]}
    assert listed == {"umbrella": 0, "held": 6, "capped": 6}
    assert fresh.client("shop").post("/v1/quotes", json=ask()).status_code == 201


def test_a_lineage_is_of_all_releases_and_read_from_the_note_after_a_restart(
    store: LearnerStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lineage(board: ProductTable) -> bytes:
        board.refresh(store)
        seen = board.products["umbrella"].seen
        assert seen is not None
        return seen.lineage

    def of(*sequences: int) -> bytes:
        return b"".join(digest(b"%d" % each)[:MARK] for each in sequences)

    file = tmp_path / "seen.json"
    board = ProductTable(SeenReleasesFile(file))
    release(store, 1)
    release(store, 2)
    assert lineage(board) == of(1, 2)
    release(store, 3)
    release(store, 4)
    read: list[int] = []
    real = store.releases
    monkeypatch.setattr(store, "releases", lambda name, after=0: read.append(after) or real(name, after))
    assert (lineage(board), read) == (of(1, 2, 3, 4), [1])
    assert (lineage(ProductTable(SeenReleasesFile(file))), read) == (of(1, 2, 3, 4), [1])  # from the note
    assert (lineage(ProductTable(SeenReleasesFile(tmp_path / "no.json"))), read) == (of(1, 2, 3, 4), [1, 0])


def test_a_lineage_is_read_anew_where_the_store_has_another_history(store: LearnerStore, tmp_path: Path) -> None:
    board = ProductTable(SeenReleasesFile(tmp_path / "seen.json"))
    release(store, 1)
    board.refresh(store)
    assert isinstance(store, SqliteStore)
    store._connection.execute("UPDATE release SET numbers = X'00'")
    release(store, 2)
    board.refresh(store)
    assert board.products["umbrella"].lineage == digest(b"\0")[:MARK] + digest(b"2")[:MARK]
