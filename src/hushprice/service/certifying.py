"""Certificates of live products: after every change, once a day otherwise, each chained to the one before."""

from __future__ import annotations

import datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hushprice.accounting.batch_statements import BatchFacts
from hushprice.accounting.certificate import Certificate, issue
from hushprice.accounting.statements import versions
from hushprice.accounting.verification import verify
from hushprice.service.learner import ProductLearner
from hushprice.service.product import demand_of, features_of, policy_of
from hushprice.service.store.protocol import Change, LearnerStore, StoredProduct

_Told = tuple[int, int, datetime.date]  # changes and versions that the newest certificate came after, and its date


class Certifier:
    """Issues certificates for the products of one store, with one key."""

    def __init__(self, store: LearnerStore, key: Ed25519PrivateKey) -> None:
        self._store = store
        self._key = key
        self._told: dict[str, _Told] = {}

    def issue_if_due(self, product: StoredProduct, learner: ProductLearner, now: float) -> None:
        """After creation, a change or a new version, after a restart, and at most once a day otherwise."""
        if learner.ledger is None:  # nothing is learned, nothing is claimed
            return
        changes = self._store.changes(product.name)
        today = datetime.datetime.fromtimestamp(now, datetime.UTC).date()
        told = (len(changes), learner.version, today)
        if self._told.get(product.name) == told:
            return
        before = self._store.certificate(product.name)
        previous = None if before is None else Certificate.parse(before)
        certificate = issue(facts_of(learner, changes, today), learner.ledger, self._key, previous)
        verify(certificate, previous=previous)
        self._store.add_certificate(product.name, certificate.to_json().encode(), now)
        self._told[product.name] = told


def facts_of(learner: ProductLearner, changes: list[Change], issued: datetime.date) -> BatchFacts:
    """What the certificate is calculated from. A slot is learned by the clock, so no delay in quotes is stated."""
    product = learner.product
    policy = policy_of(product)
    assert policy.newton is not None  # a product without has no ledger
    return BatchFacts(
        issued=issued,
        versions=versions(),
        adjacency=policy.adjacency,
        horizon=product.horizon,
        delay=0,
        demand=demand_of(product),
        features=features_of(product),
        cap=policy.newton.cap,
        noise=policy.newton.noise,
    )
