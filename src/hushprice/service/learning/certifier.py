"""When a live product gets a new certificate: after every change, once a day otherwise, chained to the one before.

What a certificate came after is stored beside it: a thousand products are not certified anew at every start.
"""

from __future__ import annotations

import datetime
from importlib.metadata import version

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hushprice.privacy.certificates.certificate import Certificate
from hushprice.service.learning.product_learner import ProductLearner
from hushprice.service.shared.certificates import certify
from hushprice.service.store.protocol import LearnerStore
from hushprice.service.store.trail import head_of

AT_ONCE = 10  # certificates between two looks at what is due: at midnight all products need one


class Certifier:
    """Issues certificates for the products of one store, with one key."""

    def __init__(self, store: LearnerStore, key: Ed25519PrivateKey) -> None:
        self._store = store
        self._key = key
        self._looked: tuple[int | str, ...] = ()

    def due(self, releases: int, now: float) -> list[tuple[str, str]]:
        """Products that need a certificate, each with its basis: new ones, changed ones, and each day all of them.

        Another version of this program issues all of them anew. `releases` counts those of this process: where nothing
        was changed or released, the store is not asked about all products.
        """
        today = f"{_date(now)}, hushprice {version('hushprice')}, "
        looked = (*self._store.last_change(), releases, today)
        if looked == self._looked:
            return []
        due = self._store.uncertified(today)
        if not due:
            self._looked = looked
        return due

    def issue(self, learner: ProductLearner, basis: str, now: float) -> None:
        """Issue a certificate of what the product's learner has paid for; where nothing is learned, note that alone."""
        product, ledger = learner.product, learner.ledger
        if ledger is None:
            self._store.add_certificate(product.name, None, now, basis)
            return
        changes = self._store.changes(product.name)
        before = self._store.certificate(product.name)
        previous = None if before is None else Certificate.parse(before)
        made = certify(
            product,
            ledger=ledger,
            changes=changes,
            trail=head_of(self._store.trail()),
            key=self._key,
            issued=_date(now),
            previous=previous,
        )
        self._store.add_certificate(product.name, made.to_json().encode(), now, basis)


def _date(now: float) -> datetime.date:
    return datetime.datetime.fromtimestamp(now, datetime.UTC).date()
