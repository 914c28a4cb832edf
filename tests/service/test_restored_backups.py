"""Restored backups beyond the plain case: numbers that collide, quoters that were away, and what customers are told."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.planted import service_checks
from tests.service.learning_runs import WINDOW, Shop, many_blocks, spec

from hushprice.policies.verification import verify
from hushprice.privacy.certificates.certificate import Certificate
from hushprice.service.quoting.product_table import ProductTable
from hushprice.service.shared.certificates import customer_of
from hushprice.service.shared.product_view import product_of
from hushprice.service.shared.seen_releases import SeenReleasesFile
from hushprice.service.store.lost_releases import digest
from hushprice.service.store.protocol import LEASE
from hushprice.service.store.values import SeenRelease


@pytest.fixture(autouse=True, scope="module")
def blocks() -> Iterator[None]:
    with many_blocks():
        yield


def learn(shop: Shop, **more: object) -> None:
    shop.wait(WINDOW + LEASE + 1.0)
    learning = shop.learning(**more)
    for _ in range(3):
        learning.turn()


def test_a_quoter_that_was_away_while_its_number_was_reached_again_is_charged(tmp_path: Path) -> None:
    service_checks.colliding_numbers_are_charged()


def test_a_running_quoter_tells_a_store_that_was_restored_behind_its_back(tmp_path: Path) -> None:
    """PostgreSQL may be restored while quoters run: they take it for an outage, and are not started again."""
    (tmp_path / "shop").mkdir()
    shop, note = Shop(tmp_path / "shop"), SeenReleasesFile(tmp_path / "seen.json")
    shop.serve(stop=20)
    shop.back_up(tmp_path / "backup")
    learn(shop)
    board = ProductTable(note)
    board.refresh(shop.store)
    used = shop.releases()[-1]
    shop.restore_backup(tmp_path / "backup")
    board.refresh(shop.store)
    assert shop.store.highest_seen("tea") == SeenRelease("tea", used.sequence, used.records)
    learn(shop)
    assert shop.releases() == []
    assert [change.what for change in shop.store.changes("tea")] == ["restored backup"]
    board.refresh(shop.store)
    assert shop.store.highest_seen("tea") is None
    shop.close()


def test_a_note_is_told_before_it_is_replaced(tmp_path: Path) -> None:
    """A quoter that starts after its number was reached again has one note: it must not go before it was told."""
    (tmp_path / "shop").mkdir()
    shop, path = Shop(tmp_path / "shop"), tmp_path / "seen.json"
    shop.serve(stop=20)
    learn(shop)
    first = shop.releases()[0]
    SeenReleasesFile(path).note([SeenRelease("tea", first.sequence, first.records, digest(b"another history"))])
    ProductTable(SeenReleasesFile(path)).refresh(shop.store)
    assert shop.store.highest_seen("tea") == SeenRelease("tea", first.sequence, first.records)
    (noted,) = SeenReleasesFile(path).all()
    assert noted.sequence == shop.releases()[-1].sequence
    shop.close()


def test_after_k_restored_backups_a_customer_is_promised_the_root_of_k_plus_1_times_m_mu(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    shop = Shop(tmp_path / "shop", spec(records_per_customer=2, epsilon=1.0))
    key, board = Ed25519PrivateKey.generate(), ProductTable(SeenReleasesFile(tmp_path / "seen.json"))
    for k in range(3):
        learn(shop, signing_key=key)
        board.refresh(shop.store)
        held = board.products["tea"]
        assert held.stored.restores == k
        one, now = (customer_of(product_of(held.stored), restores) for restores in (0, k))
        assert one is not None
        assert now is not None
        assert (now.records, now.mu) == (2 * (k + 1), pytest.approx(math.sqrt(k + 1) * one.mu))
        stored = shop.store.certificate("tea")
        assert stored is not None
        found = verify(Certificate.parse(stored))
        assert found.customer == now
        shop.store.report_seen([SeenRelease("tea", 10 * (k + 1), 10 * (k + 1), b"lost")])
    shop.close()


def test_lost_notes_that_were_accepted_are_in_the_certificate_and_in_what_is_proven(tmp_path: Path) -> None:
    shop, key = Shop(tmp_path, spec(epsilon=1.0)), Ed25519PrivateKey.generate()
    shop.serve(stop=10)
    learn(shop, signing_key=key)
    before = verify(Certificate.parse(shop.store.certificate("tea") or b""))
    shop.store.accept_lost_notes(shop.time)
    learn(shop, signing_key=key)
    after = verify(Certificate.parse(shop.store.certificate("tea") or b""))
    assert [change["what"] for change in after.outside_the_guarantee] == ["lost notes"]
    assert "without the note" in after.outside_the_guarantee[0]["detail"]
    assert before.proven.epsilon <= before.claimed.epsilon == after.claimed.epsilon < after.proven.epsilon
    assert any("2 may overlap" in line for line in after.holds)
    shop.close()
