"""The trail of what was done by hand: complete, in the order of commits, without a customer, and signed."""

from __future__ import annotations

import threading

import psycopg
from tests.service.store.samples import PRODUCT
from tests.waiting import eventually

from hushprice.service.store import open_store
from hushprice.service.store.protocol import LearnerStore, QuoterStore
from hushprice.service.store.trail import UNSIGNED, head_of, heads
from hushprice.service.store.values import ApiKey

BOSS = ApiKey("boss", "admin", b"\x07" * 32)


def test_who_did_what_is_listed_and_what_changed_nothing_is_not(learner: LearnerStore, quoter: QuoterStore) -> None:
    by = BOSS.signature
    quoter.add_product("cap", b"{}", b"{}", 1001.0, by)
    for status in ("frozen", "frozen", "open"):
        quoter.set_status(PRODUCT, status, 1002.0, by)
    quoter.set_rules(PRODUCT, b"{}", '{"floor":3}', 1003.0, by)
    quoter.set_reference_price(PRODUCT, 0.5, 1004.0, by)
    quoter.forget(b"digest of a customer", by)
    limited = ApiKey("web", "shop", b"\x08" * 32, 2e9, ("cap",), 100)
    for key in (BOSS, limited, limited):
        learner.add_api_key(key, "command line, user 0")
    for name in ("web", "web"):
        learner.remove_api_key(name, "command line, user 0")
    found = learner.trail()
    assert [(entry.what, entry.about) for entry in found] == [
        ("create product", PRODUCT),
        ("create product", "cap"),
        ("freeze", PRODUCT),
        ("resume", PRODUCT),
        ("rules", PRODUCT),
        ("reference price", PRODUCT),
        ("forget customer", ""),
        ("add key", "boss"),
        ("add key", "web"),
        ("change key", "web"),
        ("remove key", "web"),
    ]
    assert [entry.actor for entry in found] == [UNSIGNED, *["key boss 0707070707070707"] * 6] + [
        "command line, user 0"
    ] * 4
    assert found[4].detail == '{"floor":3}'
    assert found[8].detail == 'shop 0808080808080808 {"expires":"2033-05-18T03:33:20Z","products":["cap"],"quota":100}'
    assert b"customer".hex() not in repr(found)
    assert "digest of" not in repr([(entry.actor, entry.detail) for entry in found])
    assert [key for key in learner.api_keys() if key.name == "boss"] == [BOSS]


def test_the_digest_holds_every_field_and_the_order(learner: LearnerStore) -> None:
    assert head_of([]) is None
    learner.set_status(PRODUCT, "frozen", 1002.0)
    learner.set_status(PRODUCT, "open", 1002.0)
    found = learner.trail()
    first, second, last = heads(found)
    assert last == head_of(found)
    assert [*heads(found[:2])] == [first, second]
    assert head_of([found[0], found[2], found[1]]) != last
    assert found[1].nonce != found[2].nonce  # nobody can guess an entry from its digest


def test_an_entry_never_slips_in_before_one_that_may_be_signed(postgres_uri: str) -> None:
    learner, done = open_store(postgres_uri, "learner"), threading.Event()

    def forget() -> None:
        learner.forget(b"somebody", "second")
        done.set()

    with psycopg.connect(postgres_uri) as first, psycopg.connect(postgres_uri, autocommit=True) as watching:
        first.execute("SELECT hushprice.note_trail(1.0, 'first', 'freeze', 'x', '')")
        thread = threading.Thread(target=forget)
        thread.start()
        waits = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        eventually(lambda: watching.execute(waits.encode()).fetchone() is not None)
        assert not done.is_set()
        first.commit()
        thread.join()
    assert [entry.actor for entry in learner.trail()][-2:] == ["first", "second"]
    learner.close()
