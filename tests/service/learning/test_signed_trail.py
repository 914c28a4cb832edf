"""Certificates sign the trail of what was done by hand: what was signed once cannot be rewritten unseen."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.service.learning_runs import Shop

from hushprice.errors import InvalidInput
from hushprice.service.shared.trail_lines import lines
from hushprice.service.store.values import ApiKey

BOSS = ApiKey("boss", "admin", b"\x07" * 32)


def certificate(shop: Shop) -> Path:
    """The newest, as a file."""
    body = shop.store.certificate("tea")
    assert body is not None
    file = shop.path.with_name("tea.json")
    file.write_bytes(body)
    return file


def test_what_was_signed_cannot_be_rewritten_and_more_can_be_added(shop: Shop) -> None:
    shop.store.add_api_key(BOSS, "command line, user 0")
    shop.store.set_status("tea", "frozen", shop.time, BOSS.signature)
    shop.learning(signing_key=Ed25519PrivateKey.generate()).turn()
    signed, before = certificate(shop), shop.store.trail()
    shop.store.forget(b"somebody", BOSS.signature)
    listed = list(lines(shop.store.trail(), [signed]))
    assert listed[-1].endswith(f"was signed after entry {len(before)} of {len(before) + 1}")
    assert listed[len(before) - 1].split("\t")[1:] == [BOSS.signature, "freeze", "tea"]
    for statement in (
        "UPDATE trail SET actor = 'somebody else' WHERE what = 'freeze'",
        "UPDATE trail SET at = at - 1 WHERE what = 'freeze'",
        "DELETE FROM trail WHERE what = 'add key'",
    ):
        with sqlite3.connect(shop.path) as connection:
            connection.execute(statement)
            connection.commit()
        with pytest.raises(InvalidInput, match="was changed, or an older backup was restored"):
            list(lines(shop.store.trail(), [signed]))
        with sqlite3.connect(shop.path) as connection:
            connection.execute("DELETE FROM trail")
            rows = [(entry.at, entry.actor, entry.what, entry.about, entry.detail, entry.nonce) for entry in before]
            connection.executemany("INSERT INTO trail VALUES (NULL, ?, ?, ?, ?, ?, ?)", rows)
            connection.commit()
        assert list(lines(shop.store.trail(), [signed]))


def test_a_certificate_tells_nothing_of_the_trail_but_its_digest(shop: Shop) -> None:
    shop.store.forget(b"somebody", BOSS.signature)
    shop.learning(signing_key=Ed25519PrivateKey.generate()).turn()
    text = certificate(shop).read_text()
    assert "boss" not in text
    assert "forget" not in text


def test_a_certificate_of_a_service_that_kept_no_trail_is_said_to_be_one(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hushprice.service.learning.certifier.head_of", lambda entries: None)
    shop.learning(signing_key=Ed25519PrivateKey.generate()).turn()
    with pytest.raises(InvalidInput, match="no digest of a trail"):
        list(lines(shop.store.trail(), [certificate(shop)]))
