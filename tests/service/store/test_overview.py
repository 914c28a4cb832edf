"""What is asked of all products at once, on both databases."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import psycopg
import pytest
from tests.service.store.samples import PRODUCT, given, learn, pass_time, quote, release, state, tell

from hushprice.service import store as package
from hushprice.service.store import decisions, open_store, postgres_setup, sqlite_file
from hushprice.service.store.protocol import LearnerStore, QuoterStore, UnknownProduct
from hushprice.service.store.values import KeyCount, SeenRelease

CHANGES: dict[str, Callable[[LearnerStore], None]] = {
    "freeze": lambda store: store.set_status(PRODUCT, "frozen", 1.0),
    "rules": lambda store: store.set_rules(PRODUCT, b'{"floor": 1.0}', "", 2.0),
    "reference price": lambda store: store.set_reference_price(PRODUCT, 0.5, 3.0),
    "retire": lambda store: store.retire(PRODUCT, 4.0),
    "a release": lambda store: learn(store, 1, release(1, 1)),
    "another release": lambda store: learn(store, 2, release(2, 2)),
}

_QUOTE = """INSERT INTO quote (product, slot, id, key, price, holdout, counts, deadline, day)
    VALUES (1, {slot}, {id}, 'web', 0.5, {no}, {yes}, 1.0, 1)"""


def test_a_head_has_another_mark_after_every_change_and_none_after_a_quote(
    quoter: QuoterStore, learner: LearnerStore
) -> None:
    marks = [quoter.heads()[0].mark]
    given(quoter, 2)
    pass_time(quoter, 20.0)
    (head,) = quoter.heads()
    assert (head.name, head.slots, head.mark) == (PRODUCT, 2, marks[0])
    for change in CHANGES.values():
        change(learner)
        marks.append(quoter.heads()[0].mark)
    assert len(set(marks)) == 1 + len(CHANGES)
    assert [each.what for each in quoter.changes(PRODUCT)] == ["freeze", "rules", "reference price", "retire"]


def test_products_and_their_last_releases_are_found_by_name(quoter: QuoterStore, learner: LearnerStore) -> None:
    learner.add_product("shoe", b"{}", b"{}", 1001.0)
    given(quoter, 2)
    pass_time(quoter, 20.0)
    learn(learner, 1, release(1, 1))
    learn(learner, 2, release(2, 2))
    assert [each.name for each in quoter.products()] == [each.name for each in quoter.heads()] == [PRODUCT, "shoe"]
    assert [each.name for each in quoter.products(["shoe", "nothing"])] == ["shoe"]
    assert quoter.products([]) == []
    assert quoter.latest_releases([PRODUCT, "shoe"]) == [release(2, 2)]
    assert quoter.history(PRODUCT) == [release(1, 1).summary, release(2, 2).summary]
    assert quoter.history("shoe") == quoter.history("nothing") == []


def test_work_is_due_with_the_deadline_of_the_next_slot_whatever_outcomes_came(
    quoter: QuoterStore, learner: LearnerStore
) -> None:
    learner.add_product("shoe", b"{}", b"{}", 1001.0)
    first, _ = given(quoter, 2)
    tell(quoter, first)
    start = 1e6
    pass_time(quoter, 9.0, start)
    assert learner.products_to_learn() == []
    pass_time(quoter, 2.0, start + 9.0)
    assert learner.products_to_learn() == [PRODUCT]
    learn(learner, 1)
    assert learner.products_to_learn() == [PRODUCT]
    learn(learner, 2)
    assert learner.products_to_learn() == []
    learner.report_seen([SeenRelease("shoe", 3, 0)])
    assert learner.products_to_learn() == ["shoe"]


def test_a_retired_product_is_work_until_its_learning_has_ended(quoter: QuoterStore, learner: LearnerStore) -> None:
    given(quoter, 1)
    quoter.retire(PRODUCT, 2000.0)
    quoter.retire(PRODUCT, 2001.0)
    assert (quoter.products()[0].status, len(quoter.changes(PRODUCT))) == ("retired", 1)
    assert learner.products_to_learn() == []  # its last slot is not due yet
    pass_time(quoter, 20.0)
    learn(learner, 1)
    assert learner.products_to_learn() == [PRODUCT]
    assert learner.take_lease("learner-1", 1000.0)
    learner.commit("learner-1", state(1, ended=True), [], 1000.0)
    assert learner.products_to_learn() == []
    assert learner.state(PRODUCT) == state(1, ended=True)
    given(quoter, 1)  # given before another quoter knew
    pass_time(quoter, 20.0, 2e6)
    assert learner.products_to_learn() == [PRODUCT]
    with pytest.raises(UnknownProduct):
        quoter.retire("nothing", 1.0)


def test_certificates_are_due_after_changes_versions_and_days(quoter: QuoterStore, learner: LearnerStore) -> None:
    def due(today: str = "monday, ") -> list[str]:
        found = learner.uncertified(today)
        for name, basis in found:
            learner.add_certificate(name, b"{}", 1.0, basis)
        return [name for name, _ in found]

    last = learner.last_change()
    assert (due(), due(), learner.last_change()) == ([PRODUCT], [], last)
    given(quoter, 2)
    assert due() == []
    pass_time(quoter, 20.0)
    learn(learner, 1, release(1, 1, version=0))
    assert (due(), due()) == ([PRODUCT], [])
    quoter.set_status(PRODUCT, "frozen", 1.0)
    assert learner.last_change() != last
    assert (due(), due()) == ([PRODUCT], [])
    assert (due("tuesday, "), due("tuesday, ")) == ([PRODUCT], [])
    learner.add_product("fixed", b"{}", b"{}", 1.0)
    assert learner.last_change()[0] > last[0]
    ((name, basis),) = learner.uncertified("tuesday, ")
    learner.add_certificate(name, None, 1.0, basis)
    assert (due("tuesday, "), learner.certificate("fixed")) == ([], None)


def test_quotes_are_counted_by_key_and_product_in_the_transaction_that_stores_them(
    quoter: QuoterStore, learner: LearnerStore
) -> None:
    learner.add_product("shoe", b"{}", b"{}", 1001.0)
    given(quoter, 3)
    quoter.write([quote(key="web"), quote(product="shoe", key="web"), quote(key="web")], [])
    repeated = quote(key="web", idempotency=b"k", fingerprint=b"f")
    quoter.write([repeated, quote(key="web", idempotency=b"k", fingerprint=b"f")], [])
    quoter.write([repeated], [])
    assert sorted((each.product, each.key, each.quoted) for each in learner.key_counts()) == [
        (PRODUCT, "shop", 3),
        (PRODUCT, "web", 3),
        ("shoe", "web", 1),
    ]
    today = decisions.today()
    assert len(learner.key_counts(today, today)) == 3
    assert learner.key_counts(0, today - 1) == learner.key_counts(today + 1) == []
    quoter.note_key_use(["web"], today)  # used for something else, which is no quote
    assert len(learner.key_counts()) == 3
    assert learner.quotes_by_key(PRODUCT, 2, 5) == {"shop": 1, "web": 2}
    assert learner.quotes_by_key("nothing", 0, 9) == {}


def test_the_oldest_quote_of_each_product_is_found_also_after_others_were_erased(
    quoter: QuoterStore, learner: LearnerStore
) -> None:
    learner.add_product("shoe", b"{}", b"{}", 1001.0)
    assert learner.oldest_quotes() == []
    given(quoter, 2)
    today = decisions.today()
    assert learner.oldest_quotes() == [(PRODUCT, today)]
    pass_time(quoter, 20.0)
    learn(learner, 1, release(1, 1))
    assert learner.erase_quotes(PRODUCT, today + 1, 9, capped=False) == 1
    assert learner.oldest_quotes() == [(PRODUCT, today)]
    learn(learner, 2, release(2, 2))
    assert learner.erase_quotes(PRODUCT, today + 1, 9, capped=False) == 1
    assert learner.oldest_quotes() == []


def test_a_sqlite_store_of_version_1_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    script = resources.files(package).joinpath("sqlite_1.sql").read_text(encoding="utf-8")
    with sqlite3.connect(path) as old:
        old.executescript(script)
        old.execute(f"PRAGMA application_id = {sqlite_file.APPLICATION}")
        old.execute("PRAGMA user_version = 1")
        old.execute("INSERT INTO product (name, spec, rules, created) VALUES ('tea', X'7B7D', X'7B7D', 1.0)")
        for slot in (1, 2):
            old.execute(_QUOTE.format(slot=slot, id=f"X'0{slot}'", no=0, yes=1))
        old.execute("UPDATE product SET slots = 2")
    old.close()
    _check_upgraded(str(path))


def test_a_postgresql_store_of_version_1_is_brought_up_to_date(bare_uri: str) -> None:
    with psycopg.connect(bare_uri, autocommit=True) as old:
        old.execute("CREATE SCHEMA hushprice")
        old.execute("CREATE TABLE hushprice.meta (version integer NOT NULL, functions text NOT NULL)")
        old.execute("INSERT INTO hushprice.meta VALUES (1, '')")
        old.execute(postgres_setup.script("postgres_1.sql").encode())
        old.execute("INSERT INTO hushprice.product (name, spec, rules, created) VALUES ('tea', '{}', '{}', 1.0)")
        old.execute("SET search_path = hushprice")
        for slot in (1, 2):
            old.execute(_QUOTE.format(slot=slot, id=f"'{slot}'", no="false", yes="true").encode())
        old.execute("UPDATE product SET slots = 2")
    _check_upgraded(bare_uri)


def _check_upgraded(uri: str) -> None:
    store = open_store(uri, "learner")
    try:
        assert store.key_counts() == [KeyCount("tea", "web", 2)]
        assert (store.products()[0].status, store.state("tea")) == ("open", None)
        assert [name for name, _ in store.uncertified("today, ")] == ["tea"]
    finally:
        store.close()
