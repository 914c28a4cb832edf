"""When a live product gets a new certificate: after every change, once a day otherwise, chained to the one before."""

from __future__ import annotations

import datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hushprice.privacy.certificates.certificate import Certificate
from hushprice.service.learning.product_learner import ProductLearner
from hushprice.service.shared.certificates import certify
from hushprice.service.store.protocol import LearnerStore
from hushprice.service.store.trail import head_of

_Basis = tuple[int, int, datetime.date]  # changes and versions that the newest certificate came after, and its date


class Certifier:
    """Issues certificates for the products of one store, with one key."""

    def __init__(self, store: LearnerStore, key: Ed25519PrivateKey) -> None:
        self._store = store
        self._key = key
        self._newest: dict[str, _Basis] = {}

    def issue_if_due(self, learner: ProductLearner, now: float) -> None:
        """After creation, a change or a new version, after a restart, and at most once a day otherwise."""
        product, ledger = learner.product, learner.ledger
        if ledger is None:  # nothing is learned, nothing is claimed
            return
        changes = self._store.changes(product.name)
        today = datetime.datetime.fromtimestamp(now, datetime.UTC).date()
        basis = (len(changes), learner.version, today)
        if self._newest.get(product.name) == basis:
            return
        before = self._store.certificate(product.name)
        previous = None if before is None else Certificate.parse(before)
        certificate = certify(
            product,
            ledger=ledger,
            changes=changes,
            trail=head_of(self._store.trail()),
            key=self._key,
            issued=today,
            previous=previous,
        )
        self._store.add_certificate(product.name, certificate.to_json().encode(), now)
        self._newest[product.name] = basis
