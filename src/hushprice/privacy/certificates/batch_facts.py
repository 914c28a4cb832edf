"""What certificates of policies say whose batches are all one release, paid and spent at the start.

And what one of the pricing service says besides: deadlines, a cap on records, changes by hand.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from hushprice.errors import InvalidInput
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.certificates.certificate import OUTSIDE, Certificate
from hushprice.privacy.certificates.facts import Count, Text, read_section
from hushprice.privacy.certificates.statements import DELAY, STATED, costs
from hushprice.privacy.customers import guarantee_after
from hushprice.privacy.earlier import claimed_after, entries_after, loss_of_whole_person
from hushprice.privacy.events import EarlierFit, Event
from hushprice.privacy.histories import OVERLAPS, RESTORES
from hushprice.privacy.loss import loss_of

MOST_RECORDS = 10_000  # of a customer: a promise about more would say nothing
LONGEST_DETAIL = 500  # characters
ALONE = "alone"  # results of a product, where those of a fit before it are added to them
ChangeKind = Literal[
    "freeze", "resume", "retire", "rules", "reference price", "restored backup", "overlapping histories", "lost notes"
]

STATED_OF_PRICER = {**STATED, **DELAY}
STATED_OF_SERVICE = {
    **STATED,
    "parameters.outcome_seconds": "how late an outcome may come; nothing proven depends on it",
    "parameters.product": "the product",
}


def stated_by(certificate: Certificate) -> dict[str, str]:
    """The fields of every such certificate that no arithmetic can check, and what each says."""
    return STATED_OF_PRICER if certificate.format == 1 else STATED_OF_SERVICE


@dataclass(frozen=True, kw_only=True, slots=True)
class ManualChange:
    """What somebody did by hand that moves prices: no noise covers what it was done in view of."""

    date: datetime.date  # in UTC
    what: ChangeKind
    detail: str  # public


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceFacts:
    """What a certificate of the pricing service says besides: deadlines, a cap on records, changes by hand."""

    product: str
    outcome_seconds: float
    records_per_customer: int | None
    changes: tuple[ManualChange, ...] = ()
    trail: str | None = None  # SHA-256 of who did what by hand; None where nobody did anything


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchFacts:
    """What a certificate of such a policy is calculated from, whichever policy it is; everything else in it follows."""

    issued: datetime.date  # in UTC
    versions: Mapping[str, str]
    adjacency: Adjacency
    horizon: int
    delay: int = 0
    service: ServiceFacts | None = None  # then there is a deadline in seconds, and `delay` is not said

    def check_follows(self, before: BatchFacts) -> None:
        """Nothing to check: no number in it may only grow."""


def ran_by(pricer: Any) -> dict[str, Any]:
    """What a live pricer ran its policy with."""
    return {
        "demand": pricer.demand,
        "features": pricer.features,
        "horizon": pricer.horizon,
        "delay": pricer.slots.delay,
    }


def paid_at_once(
    event: Event,
    claimed: EpsilonDelta,
    adjacency: Adjacency,
    issued: datetime.date,
    *,
    service: ServiceFacts | None,
    paid: EarlierFit | None = None,
) -> dict[str, dict[str, Any]]:
    """The sections after `parameters`, where all batches are this one event, which `claimed` covers.

    With a fit that customers may have paid for before, results are of both, and the product's are beside them.
    """
    histories, entries = overlaps_of(service) + 1, entries_after(paid, event)
    total = claimed_after(paid, claimed)
    sections = costs(entries, entries, total, adjacency, histories)
    if paid is not None:
        own = entries_after(None, event)
        sections["result"][ALONE] = costs(own, own, claimed, adjacency, histories)["result"]
    if service is not None:
        sections["result"]["customer"] = _customer(event, paid, total, adjacency, service)
        sections[OUTSIDE] = {"changes": _changes(service.changes, issued), **_trail(service)}
    return sections


def overlaps_of(service: ServiceFacts | None) -> int:
    """Histories, besides the one there is, that may have released the same records."""
    return 0 if service is None else sum(change.what in OVERLAPS for change in service.changes)


def _customer(
    event: Event, paid: EarlierFit | None, claimed: EpsilonDelta, adjacency: Adjacency, service: ServiceFacts
) -> dict[str, Any] | None:
    """The guarantee of all records of a customer; None without a cap on them, or where that proves nothing."""
    before = loss_of_whole_person(paid)
    if service.records_per_customer is None or before is None:
        return None
    restores = sum(change.what in RESTORES for change in service.changes)
    of_product = (loss_of(event, 1, adjacency), service.records_per_customer, restores)
    found = guarantee_after([of_product], claimed.delta, [before])
    return asdict(found) if math.isfinite(found.epsilon) else None


def _trail(service: ServiceFacts) -> dict[str, str]:
    return {} if service.trail is None else {"trail": service.trail}


def _changes(changes: tuple[ManualChange, ...], issued: datetime.date) -> list[dict[str, str]]:
    """The changes as stated; refused unless in order, and none of a date to come."""
    for index, (date, following) in enumerate(pairwise([*(each.date for each in changes), issued])):
        if date > following:
            raise InvalidInput(f"{OUTSIDE}.changes[{index}].date is {date}, after what follows it, of {following}")
    return [{"date": each.date.isoformat(), "what": each.what, "detail": each.detail} for each in changes]


def lateness(delay: int, service: ServiceFacts | None) -> dict[str, Any]:
    """How late an outcome may come: in customers, or with the service in seconds."""
    if service is None:
        return {"delay": int(delay)}
    cap = service.records_per_customer
    return {
        "outcome_seconds": float(service.outcome_seconds),
        "product": service.product,
        "records_per_customer": None if cap is None else int(cap),
    }


class _Delay(Struct):
    delay: Count


class _Service(Struct):
    outcome_seconds: Annotated[float, Meta(gt=0.0)]
    product: Text
    records_per_customer: Annotated[int, Meta(ge=1, le=MOST_RECORDS)] | None


class _Change(Struct):
    date: datetime.date
    what: ChangeKind
    detail: Annotated[str, Meta(max_length=LONGEST_DETAIL)]


class _Outside(Struct):
    changes: list[_Change]
    trail: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] | None = None


def read_service(certificate: Certificate) -> ServiceFacts | None:
    """The facts behind a certificate of the service, true or not; None in one of a pricer."""
    if certificate.format == 1:
        return None
    stated = read_section(certificate, "parameters", _Service)
    outside = read_section(certificate, OUTSIDE, _Outside)
    return ServiceFacts(
        product=stated.product,
        outcome_seconds=stated.outcome_seconds,
        records_per_customer=stated.records_per_customer,
        changes=tuple(ManualChange(date=each.date, what=each.what, detail=each.detail) for each in outside.changes),
        trail=outside.trail,
    )


def read_delay(certificate: Certificate) -> int:
    """How many customers late an outcome may come; 0 in a certificate of the service, which says seconds."""
    return read_section(certificate, "parameters", _Delay).delay if certificate.format == 1 else 0


def recomputed_once(certificate: Certificate) -> list[str]:
    """What writing the certificate a second time has shown of what was paid, a line each."""
    result = certificate.content("result")
    proven, customer = result["proven"], result.get("customer")
    return [
        f"proven for all batches: epsilon {proven['epsilon']:.6g} at delta {proven['delta']:.3g}, recomputed",
        _of_claim(certificate),
        "spent within what was paid for: all batches are one release, paid and spent at the start",
        *([] if customer is None else [_of_customer(customer)]),
    ]


def _of_claim(certificate: Certificate) -> str:
    """Does the claim hold? Not for records that overlapping histories may have released more than once."""
    claimed = certificate.content("result")["claimed"]
    figure = f"epsilon {claimed['epsilon']:.6g} at delta {claimed['delta']:.3g}"
    more = overlaps_of(read_service(certificate))
    if not more:
        return f"claimed covers proven: {figure}"
    return f"claimed covers one history: {figure}; {more + 1} may overlap, and proven is for a record in all of them"


def _of_customer(customer: dict[str, Any]) -> str:
    most = f"{customer['records']} record" + ("s" if customer["records"] > 1 else "")
    figure = f"epsilon {customer['epsilon']:.6g} at delta {customer['delta']:.3g} (mu {customer['mu']:.6g})"
    return f"proven for a customer with at most {most} in this product: {figure}, recomputed"
