"""What a product promises and has spent, from its declaration and its last release: public figures."""

from __future__ import annotations

from collections.abc import Iterable

from hushprice.privacy.customers import CustomerGuarantee
from hushprice.service.quoting.priced_product import Held
from hushprice.service.shared.certificates import customer_of, customers_of
from hushprice.service.shared.messages import AllPrivacy, CustomerLevel, Label, Left, Pair, Privacy

_NOTE = (
    "All batches together are one release that is paid for at once: from the first release on, all of it is spent, "
    "and no later release costs more."
)
_FIXED = "Every customer gets the reference price: no record is read, so nothing is revealed or spent."
_FIELDS = ("claimed", "proven", "spent", "left", "customer", "quotes", "learned")
_PUBLIC: dict[str, Label] = dict.fromkeys(_FIELDS, "public")


def privacy_of(held: Held) -> Privacy:
    """The body of GET /v1/products/{name}/privacy."""
    product, policy = held.product, held.policy
    assert policy.claimed is not None
    assert policy.proven is not None
    claimed = Pair(policy.claimed.epsilon, policy.claimed.delta)
    proven = Pair(policy.proven.epsilon, policy.proven.delta)
    spent = proven if held.release is not None else Pair(0.0, 0.0)
    return Privacy(
        product=product.name,
        policy=product.policy,
        adjacency=policy.adjacency.value,
        claimed=claimed,
        proven=proven,
        spent=spent,
        left=Left(max(0.0, claimed.epsilon - spent.epsilon)),
        customer=_level(customer_of(product, held.stored.restores)),
        horizon=product.horizon,
        quotes=held.slots,
        learned=held.learned,
        learning=held.ended is None,
        learning_ended=held.ended,
        releases=held.sequence,
        versions=held.version,
        next_release_after_slot=_next_release(held),
        note=_FIXED if held.quoter is None else _NOTE,
        labels=_PUBLIC | {"releases": held.label, "versions": held.label},
    )


def _next_release(held: Held) -> int | None:
    """None where nothing will be released any more: a batch that the horizon cuts is erased."""
    look = None if held.quoter is None else held.quoter.look
    return None if look is None or held.ended is not None or look > held.product.horizon else look


def privacy_of_all(listed: Iterable[Held]) -> AllPrivacy:
    """The body of GET /v1/privacy."""
    products = list(listed)
    together = customers_of([(held.product, held.stored.restores) for held in products]) if products else None
    return AllPrivacy([privacy_of(held) for held in products], _level(together), "public")


def _level(found: CustomerGuarantee | None) -> CustomerLevel | None:
    return None if found is None else CustomerLevel(found.records, found.epsilon, found.delta, found.mu)
