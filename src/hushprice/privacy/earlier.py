"""What customers paid before the first price: the budget of a fit that a product starts from, and of both together.

Where nobody in the log can be a customer there is no such fit (`None`), and nothing adds up. The proof is in
docs/proofs/composition.md, section 6.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from hushprice.privacy import accountant
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.customers import in_histories
from hushprice.privacy.events import EarlierFit, Event
from hushprice.privacy.ledger import Entry, loss_of_all
from hushprice.privacy.loss import Loss, compose, loss_of


def entries_after(fit: EarlierFit | None, *events: Event) -> tuple[Entry, ...]:
    """The fit, and these after it, once each."""
    return tuple(Entry(event, 1) for event in (fit, *events) if event is not None)


def claimed_after(fit: EarlierFit | None, claimed: EpsilonDelta) -> EpsilonDelta:
    """The claim about both: epsilons and deltas add up (fact:composition, 1)."""
    if fit is None:
        return claimed
    delta = claimed.delta + fit.delta
    while delta - fit.delta < claimed.delta:  # rounded up: what is left of it for the product is its own
        delta = math.nextafter(delta, 2.0)
    return EpsilonDelta(claimed.epsilon + fit.epsilon, delta)


def proven_after(fit: EarlierFit | None, event: Event, claimed: EpsilonDelta, adjacency: Adjacency) -> EpsilonDelta:
    """What the accountant gets for both, at the delta that is claimed for both: in mu where both are Gaussian."""
    delta = claimed_after(fit, claimed).delta
    return EpsilonDelta(accountant.epsilon_of(loss_in_histories(entries_after(fit, event), adjacency), delta), delta)


def loss_in_histories(entries: Iterable[Entry], adjacency: Adjacency, histories: int = 1) -> Loss:
    """The loss where so many histories of a store may hold the same record. A fit was released before all, once."""
    entries = tuple(entries)
    fits = [entry for entry in entries if isinstance(entry.event, EarlierFit)]
    rest = loss_of_all([entry for entry in entries if entry not in fits], adjacency)
    return compose([in_histories(rest, histories), loss_of_all(fits, adjacency)])


def loss_of_whole_person(fit: EarlierFit | None) -> Loss | None:
    """What a fit costs a customer, all rows in the log together; None where nothing is proven about that."""
    if fit is None:
        return Loss()
    return loss_of(fit, 1, Adjacency.REPLACE_ONE) if fit.whole_person and fit.mu is not None else None
