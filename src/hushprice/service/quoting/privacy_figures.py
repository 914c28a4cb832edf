"""What a product promises and has spent, from its declaration and its last release: public figures."""

from __future__ import annotations

from collections.abc import Iterable

from hushprice.privacy.customers import CustomerGuarantee
from hushprice.service.quoting.priced_product import PricedProduct
from hushprice.service.shared.certificates import customer_of, customers_of, paid_before, proven_of
from hushprice.service.shared.product import AGGREGATED, LOCAL
from hushprice.service.shared.report_messages import AllPrivacy, CustomerLevel, Label, Left, Pair, Privacy

_NOTE = (
    "All batches together are one release that is paid for at once: from the first release on, all of it is spent, "
    "and no later release costs more."
)
_LOCAL = (
    "Customers' own devices make prices, and send one bit of a quote, turned over by chance: epsilon is of each report "
    "by itself, so whoever sends k of them has told up to k times as much. A price that is charged, and seen, tells of "
    "its customer; it is not asked for here."
)
_AGGREGATED = (
    "Customers' own devices make prices, and send a share to each of two aggregators, which publish sums with noise: "
    "this service sees nothing else, and epsilon holds where one of the two keeps its shares to itself. A price that "
    "is charged, and seen, tells of its customer; it is not asked for here."
)
_OVERLAP = (
    "Backups of the store were restored in such a way that {} histories may have released the same records: proven is "
    "for a record in all of them, and above what was claimed."
)
_PRIOR = (
    "Prices start from a private fit of a log, {}..., in which customers may be: its budget, epsilon {:g} at delta "
    "{:g}, is in these figures."
)
_APART = (
    "Prices start from a private fit of a log, {}..., of which the shop says that no customer is in it: its budget is "
    "not in these figures."
)
_FIXED = "Every customer gets the reference price: no record is read, so nothing is revealed or spent."
_FIELDS = ("claimed", "proven", "spent", "left", "customer", "quotes", "learned")
_PUBLIC: dict[str, Label] = dict.fromkeys(_FIELDS, "public")


def privacy_of(priced: PricedProduct) -> Privacy:
    """The body of GET /v1/products/{name}/privacy."""
    product, policy = priced.product, priced.policy
    assert policy.claimed is not None
    claimed, found = Pair(policy.claimed.epsilon, policy.claimed.delta), proven_of(product, priced.stored.overlaps)
    proven = Pair(found.epsilon, found.delta)
    paid = paid_before(product)
    before = Pair(0.0, 0.0) if paid is None else Pair(paid.epsilon, paid.delta)
    spent = proven if priced.release is not None else before
    return Privacy(
        product=product.name,
        policy=product.policy,
        trust=product.trust,
        adjacency=policy.adjacency.value,
        claimed=claimed,
        proven=proven,
        spent=spent,
        left=Left(max(0.0, claimed.epsilon - spent.epsilon)),
        customer=_level(customer_of(product, priced.stored.restores)),
        horizon=product.horizon,
        quotes=priced.slots,
        learned=priced.learned,
        learning=priced.ended is None,
        learning_ended=priced.ended,
        releases=priced.sequence,
        versions=priced.version,
        next_release_after_slot=_next_release(priced),
        note=_note(priced),
        labels=_PUBLIC | {"releases": priced.label, "versions": priced.label},
    )


def _note(priced: PricedProduct) -> str:
    if priced.quoter is None:
        return _FIXED
    overlaps, paid, prior = priced.stored.overlaps, paid_before(priced.product), priced.product.prior
    notes = [_LOCAL if priced.product.trust == LOCAL else _NOTE]
    if priced.product.trust == AGGREGATED:
        notes.insert(0, _AGGREGATED)
    if prior is not None:
        digest = prior["fit"][:16]
        notes.append(_APART.format(digest) if paid is None else _PRIOR.format(digest, paid.epsilon, paid.delta))
    if overlaps:
        notes.append(_OVERLAP.format(overlaps + 1))
    return " ".join(notes)


def _next_release(priced: PricedProduct) -> int | None:
    """None where nothing will be released any more: a batch that the horizon cuts is erased."""
    look = None if priced.quoter is None else priced.quoter.look
    return None if look is None or priced.ended is not None or look > priced.product.horizon else look


def privacy_of_all(listed: Iterable[PricedProduct]) -> AllPrivacy:
    """The body of GET /v1/privacy."""
    products = list(listed)
    together = customers_of([(priced.product, priced.stored.restores) for priced in products]) if products else None
    return AllPrivacy([privacy_of(priced) for priced in products], _level(together), "public")


def _level(proven: CustomerGuarantee | None) -> CustomerLevel | None:
    return None if proven is None else CustomerLevel(proven.records, proven.epsilon, proven.delta, proven.mu)
