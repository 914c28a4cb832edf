"""What the auditor gets: certificates that follow what happens, chained."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.service.learning_runs import WINDOW, Shop, learn_all, spec

from hushprice.policies.verification import verify
from hushprice.privacy.certificates import signing
from hushprice.privacy.certificates.certificate import Certificate

pytestmark = pytest.mark.usefixtures("blocks")


def test_certificates_follow_changes_and_versions_and_are_chained(shop: Shop) -> None:
    key = Ed25519PrivateKey.generate()
    learning, seen = shop.learning(signing_key=key), []

    def newest() -> Certificate:
        learning.turn()
        body = shop.store.certificate("tea")
        assert body is not None
        return Certificate.parse(body)

    seen.append(newest())
    assert newest() == seen[0]
    shop.store.set_status("tea", "frozen", shop.time)
    seen.append(newest())
    shop.serve(stop=40)
    shop.wait(WINDOW)
    seen.append(newest())
    shop.time += 86400.0
    seen.append(newest())
    assert newest() == seen[-1]
    for before, after in zip([None, *seen], seen, strict=False):
        assert after.previous == (None if before is None else before.hash)
        verify(after, previous=before)
    assert len({each.hash for each in seen}) == 4


def test_after_a_change_of_the_signing_key_certificates_go_on(shop: Shop) -> None:
    chain: list[Certificate] = []
    keys = [Ed25519PrivateKey.generate() for _ in range(2)]
    for key in (keys[0], keys[1], keys[1]):
        shop.learning(signing_key=key).turn()
        body = shop.store.certificate("tea")
        assert body is not None
        chain.append(Certificate.parse(body))
        shop.time += 86400.0
    for before, after, key in zip(chain, chain[1:], keys[1:] * 2, strict=False):
        assert after.previous == before.hash
        verify(after, public_key=signing.public_half(key), previous=before)


def test_a_certificate_that_cannot_be_issued_stops_no_learning(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    shop.serve(stop=20)
    shop.wait(WINDOW)
    shop.store.add_certificate("tea", b"{}", shop.time)
    learning = shop.learning(signing_key=Ed25519PrivateKey.generate())
    learning.turn()
    learning.turn()
    assert shop.learned() == 20
    assert caplog.text.count("product tea has no new certificate") == 1


def test_a_product_at_a_fixed_price_has_nothing_to_certify(tmp_path: Path) -> None:
    shop = Shop(tmp_path, spec(policy="fixed"))
    shop.serve(stop=5)
    learn_all(shop, signing_key=Ed25519PrivateKey.generate())
    assert (shop.learned(), shop.store.certificate("tea")) == (5, None)
    shop.close()
