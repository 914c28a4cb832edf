"""What a certificate of policy noisy-newton says."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal

from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.policies.newton.noise import BatchNoise
from hushprice.privacy import sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.certificates.statements import bounded, constants, costs, mechanism
from hushprice.privacy.customers import guarantee_of, most_records
from hushprice.privacy.ledger import Entry, loss_of_all

OUTSIDE = "outside_the_guarantee"  # the fifth section of a service's certificate
MOST_RECORDS = 10_000  # of a customer: a promise about more would say nothing
LONGEST_DETAIL = 500  # characters

_RELEASERS = {
    "curvature": "of each batch, block by block: sums of psi psi', ||psi|| <= 1, with Gaussian noise",
    "policy": "noisy-newton",
    "score": "of each batch, once: a sum of scores of length at most 1, with Gaussian noise",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ManualChange:
    """What somebody did by hand that moves prices: no noise covers what it was done in view of."""

    date: datetime.date  # in UTC
    what: Literal["freeze", "resume", "rules", "reference price", "restored backup"]
    detail: str  # public


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceFacts:
    """What a certificate of the pricing service says besides: deadlines, a cap on records, changes by hand."""

    product: str
    outcome_seconds: float
    records_per_customer: int | None
    changes: tuple[ManualChange, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchFacts:
    """What a certificate of policy noisy-newton is calculated from; everything else in it follows."""

    issued: datetime.date  # in UTC
    versions: Mapping[str, str]
    adjacency: Adjacency
    horizon: int
    delay: int = 0
    demand: Demand  # a built-in family
    features: FeatureMap  # a built-in map
    cap: float
    noise: BatchNoise
    service: ServiceFacts | None = None  # then there is a deadline in seconds, and `delay` is not said


def describe_batches(facts: BatchFacts) -> dict[str, dict[str, Any]]:
    """The sections. All batches are one release, which is paid and spent at the start."""
    allowance = (Entry(facts.noise.event(facts.features.dimension, live=True), 1),)
    sections = {
        "mechanism": mechanism(_RELEASERS, facts.issued, facts.versions),
        "parameters": _parameters(facts),
        **costs(allowance, allowance, facts.noise.claimed, facts.adjacency),
    }
    if facts.service is not None:
        sections["result"]["customer"] = _customer(facts, allowance, facts.service)
        sections[OUTSIDE] = {"changes": _changes(facts.service.changes, facts.issued)}
    return sections


def _customer(facts: BatchFacts, allowance: tuple[Entry, ...], service: ServiceFacts) -> dict[str, Any] | None:
    """The guarantee of all records of a customer; None without a cap on them, or where that proves nothing."""
    if service.records_per_customer is None:
        return None
    restores = sum(change.what == "restored backup" for change in service.changes)
    records = most_records(service.records_per_customer, restores)
    found = guarantee_of([(loss_of_all(allowance, facts.adjacency), records)], facts.noise.claimed.delta)
    return asdict(found) if math.isfinite(found.epsilon) else None


def _changes(changes: tuple[ManualChange, ...], issued: datetime.date) -> list[dict[str, str]]:
    """As stated; in order, and none of a date to come."""
    for index, (date, following) in enumerate(pairwise([*(each.date for each in changes), issued])):
        if date > following:
            raise InvalidInput(f"{OUTSIDE}.changes[{index}].date is {date}, after what follows it, of {following}")
    return [{"date": each.date.isoformat(), "what": each.what, "detail": each.detail} for each in changes]


def _parameters(facts: BatchFacts) -> dict[str, Any]:
    noise, features = facts.noise, facts.features
    return {
        "adjacency": facts.adjacency.value,
        "cap": float(facts.cap),
        **_lateness(facts),
        "demand": constants(facts.demand),
        "dimension": int(features.dimension),
        "features": bounded(features),
        "horizon": int(facts.horizon),
        "noise": {"score": float(noise.score), "curvature": float(noise.curvature), "levels": int(noise.levels)},
        "sensitivities": {
            "score": sensitivity.of_gradients(1.0, 2.0, facts.adjacency)[0],
            "curvature": sensitivity.of_covariance(facts.adjacency),
        },
    }


def _lateness(facts: BatchFacts) -> dict[str, Any]:
    """How late an outcome may come: in customers, or with the service in seconds."""
    service = facts.service
    if service is None:
        return {"delay": int(facts.delay)}
    cap = service.records_per_customer
    return {
        "outcome_seconds": float(service.outcome_seconds),
        "product": service.product,
        "records_per_customer": None if cap is None else int(cap),
    }
