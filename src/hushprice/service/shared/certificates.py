"""What a product promises, as figures and as a signed certificate.

Both follow from its declaration, its learner's ledger and the changes made by hand; no record is reached.
docs/guide/certificates.md says what is in a certificate.
"""

from __future__ import annotations

import datetime
import functools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from hushprice.errors import InvalidInput
from hushprice.policies.cautious.statements import CautiousFacts
from hushprice.policies.newton.statements import NewtonFacts
from hushprice.policies.protocol import part
from hushprice.prior import prior_of
from hushprice.privacy.accountant import epsilon_of
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.certificates.batch_facts import LONGEST_DETAIL, ManualChange, ServiceFacts
from hushprice.privacy.customers import CustomerGuarantee, guarantee_after
from hushprice.privacy.earlier import entries_after, loss_in_histories, loss_of_whole_person
from hushprice.privacy.events import EarlierFit
from hushprice.privacy.ledger import Ledger
from hushprice.privacy.loss import Loss, loss_of
from hushprice.service.shared.product import Product, delta_of, demand_of, features_of, learning_policy_of, policy_of
from hushprice.service.store.values import Change

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from hushprice.privacy.certificates.certificate import Certificate


def loss_of_product(product: Product) -> Loss:
    """The privacy loss of everything that is ever released of a product; none for a fixed price."""
    policy = learning_policy_of(product)
    if policy is None:
        return Loss()
    return loss_of(policy.event(live=True), 1, policy.adjacency)


@functools.lru_cache(maxsize=1024)
def _proven(spec: bytes, overlaps: int) -> EpsilonDelta:
    product = msgspec.json.decode(spec, type=Product)
    policy = learning_policy_of(product)
    assert policy is not None
    assert policy.claimed is not None
    entries, delta = entries_after(paid_before(product), policy.event(live=True)), policy.claimed.delta
    return EpsilonDelta(epsilon_of(loss_in_histories(entries, policy.adjacency, overlaps + 1), delta), delta)


def paid_before(product: Product) -> EarlierFit | None:
    """What a customer may have paid before the first price: the fit that prices start from."""
    return None if product.prior is None else prior_of(product.prior).paid


def proven_of(product: Product, overlaps: int) -> EpsilonDelta:
    """What is proven for a record that so many histories besides the one there is may have released as well."""
    proven = policy_of(product).proven
    assert proven is not None
    return _proven(msgspec.json.encode(product), overlaps) if overlaps and product.learns else proven


def customer_of(product: Product, restores: int = 0) -> CustomerGuarantee | None:
    """What is proven for all records of a customer in a product; None without a cap, or where that proves nothing.

    After `restores` restored backups: each time the records of a customer were counted anew (docs/proofs/operation.md,
    section 9).
    """
    claimed = policy_of(product).claimed
    return customers_of([(product, restores)], claimed.delta if product.learns and claimed is not None else None)


def customers_of(products: Iterable[tuple[Product, int]], delta: float | None = None) -> CustomerGuarantee | None:
    """What is proven for a customer of all products, each with its restored backups; None where one has no cap.

    At this delta; by default at the smallest of those that the products claim.
    """
    capped = [(each, each.records_per_customer, restores) for each, restores in products if each.learns]
    known = [(loss_of_product(each), cap, restores) for each, cap, restores in capped if cap is not None]
    if len(known) < len(capped) or not known:
        return None
    fits = {paid_before(each) for each, _, _ in capped}  # a fit that several products start from was released once
    before = [loss_of_whole_person(fit) for fit in fits]
    if None in before:
        return None
    stated = min(delta_of(product) for product, _, _ in capped) if delta is None else delta
    guarantee = guarantee_after(known, stated, [loss for loss in before if loss is not None])
    return guarantee if math.isfinite(guarantee.epsilon) else None


def facts_of(
    product: Product, changes: Sequence[Change], issued: datetime.date, trail: str | None = None
) -> NewtonFacts | CautiousFacts:
    """What a certificate of this product is calculated from. Changes in the order in which they were made."""
    policy = learning_policy_of(product)
    if policy is None:
        raise InvalidInput(
            f"policy {product.policy!r} cannot be certified: it learns nothing, so there is nothing to say"
        )
    listed = _manual(changes)
    date = max(issued, listed[-1].date) if listed else issued
    service = ServiceFacts(
        product=product.name,
        outcome_seconds=product.outcome_seconds,
        records_per_customer=product.records_per_customer,
        changes=listed,
        trail=trail,
    )
    facts: NewtonFacts | CautiousFacts = part(policy, "statements").facts_of_policy(
        policy,
        date,
        demand=demand_of(product),
        features=features_of(product),
        horizon=product.horizon,
        service=service,
    )
    return facts


def certify(
    product: Product,
    *,
    ledger: Ledger,
    changes: Sequence[Change],
    trail: str | None = None,
    key: Ed25519PrivateKey,
    issued: datetime.date | None = None,
    previous: Certificate | None = None,
) -> Certificate:
    """A certificate of what the product's learner has paid for and spent, checked once before it is handed out."""
    from hushprice.policies.verification import verify
    from hushprice.privacy.certificates.certificate import (
        issue,  # loads the cryptography library, which quoters do not need
    )

    date = datetime.datetime.now(datetime.UTC).date() if issued is None else issued
    certificate = issue(facts_of(product, changes, date, trail), ledger, key, previous)
    verify(certificate, public_key=certificate.public_key, previous=previous)  # which may be of an earlier key
    return certificate


def _manual(changes: Sequence[Change]) -> tuple[ManualChange, ...]:
    """The changes as a certificate lists them, with dates that never go back: what is listed once stays where it is."""
    listed: list[ManualChange] = []
    for change in changes:
        date = datetime.datetime.fromtimestamp(change.at, datetime.UTC).date()
        date = max(date, listed[-1].date) if listed else date
        cut = len(change.detail) > LONGEST_DETAIL
        detail = change.detail[: LONGEST_DETAIL - 3] + "..." if cut else change.detail
        listed.append(ManualChange(date=date, what=change.what, detail=detail))
    return tuple(listed)
