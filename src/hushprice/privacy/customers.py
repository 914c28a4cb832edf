"""From the guarantee of one record to that of a customer, who has at most `records` of them in a product.

A release that is mu-GDP for one record is (m mu)-GDP for m of them together, and one of epsilon at delta 0 has m
epsilon. Products whose noise is independent compose by the root of the sum of squares, and by the sum
(docs/reference/privacy.md, "A customer with several records"). Both are turned into (epsilon, delta) once, at the end:
(epsilon, delta) itself would grow exponentially in m.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.privacy import accountant
from hushprice.privacy.loss import Loss, compose


@dataclass(frozen=True, kw_only=True, slots=True)
class CustomerGuarantee:
    """What prices to others reveal about all records of one customer, at most. Epsilon may be infinite: nothing."""

    records: int  # at most, of all products together
    mu: float
    epsilon: float
    delta: float


def loss_of_customer(loss: Loss, records: int) -> Loss:
    """The loss where `records` records change together instead of one.

    Each moves what is published by at most its own change, so all of them by at most m times it: m mu, and m times an
    epsilon at delta 0. They may be in m different batches, each with as many numbers on a grid. Objective perturbation
    has no such rule, and is refused.
    """
    checks.whole(1, records=records)
    if loss.radials or loss.epsilon > 0.0 or loss.delta > 0.0 or loss.failure != 0.0:
        raise InvalidInput("a customer's records are accounted for in Gaussian releases alone, got estimates as well")
    return Loss(
        mu_squared=loss.mu_squared * records * records,
        pure=loss.pure * records,
        coordinates=loss.coordinates * records,
        unbounded=loss.unbounded,
    )


def most_records(cap: int, restores: int) -> int:
    """How many records of a customer may be in releases: the counts behind the cap go back with every restored backup.

    >>> most_records(3, 0), most_records(3, 2)
    (3, 9)
    """
    return cap * (restores + 1)


def in_histories(loss: Loss, histories: int) -> Loss:
    """The loss where what is published are the releases of so many histories of one store, which drew apart at backups.

    Each history alone has the loss given, and the noise of each is its own: squares of mu add up, and epsilons at delta
    0 (docs/proofs/operation.md, section 9).
    """
    checks.whole(1, histories=histories)
    return compose([loss] * histories)


def guarantee_after(
    products: Iterable[tuple[Loss, int, int]], delta: float, earlier: Iterable[Loss] = ()
) -> CustomerGuarantee:
    """What is proven for a customer of all these products, each with its loss, its cap and its restored backups.

    `earlier` are what fits cost the customer that products started from, all rows of a person together.

    >>> found = guarantee_after([(Loss(mu_squared=0.04), 3, 3)], 1e-6)
    >>> found.records, round(found.mu, 12)
    (12, 1.2)
    """
    products = tuple(products)
    found = guarantee_of([(in_histories(loss, restores + 1), cap) for loss, cap, restores in products], delta, earlier)
    return replace(found, records=sum(most_records(cap, restores) for _, cap, restores in products))


def guarantee_of(products: Iterable[tuple[Loss, int]], delta: float, earlier: Iterable[Loss] = ()) -> CustomerGuarantee:
    """What is proven for a customer of all these products, each with its loss and its cap on records.

    >>> one = guarantee_of([(Loss(mu_squared=0.04), 3)], 1e-6)
    >>> round(one.mu, 12), round(one.epsilon, 2)
    (0.6, 2.76)
    """
    products = tuple(products)
    loss = compose([*(loss_of_customer(each, records) for each, records in products), *earlier])
    return CustomerGuarantee(
        records=sum(int(records) for _, records in products),
        mu=math.inf if loss.unbounded else loss.mu,
        epsilon=accountant.epsilon_of(loss, delta),
        delta=delta,
    )
