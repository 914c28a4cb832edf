"""What a certificate of policy noisy-newton says."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from hushprice.demand.features import FeatureMap, by_name
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.policies.newton.noise import BatchNoise
from hushprice.privacy import sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.certificates.certificate import OUTSIDE, Certificate
from hushprice.privacy.certificates.facts import (
    Count,
    Mechanism,
    StatedDemand,
    StatedFeatures,
    StatedResult,
    Text,
    demand_of,
    read_section,
)
from hushprice.privacy.certificates.statements import DELAY, bounded, constants, costs, mechanism, versions
from hushprice.privacy.certificates.statements import STATED as STATED_BY_ALL
from hushprice.privacy.customers import guarantee_after
from hushprice.privacy.events import MOST_LEVELS
from hushprice.privacy.histories import OVERLAPS, RESTORES
from hushprice.privacy.ledger import Entry, loss_of_all

MOST_RECORDS = 10_000  # of a customer: a promise about more would say nothing
LONGEST_DETAIL = 500  # characters
ChangeKind = Literal[
    "freeze", "resume", "retire", "rules", "reference price", "restored backup", "overlapping histories", "lost notes"
]

STATED = {
    **STATED_BY_ALL,
    **DELAY,
    "parameters.cap": "of a record's curvature, in whose units noise is added; nothing proven depends on it",
    "parameters.demand.bound": "the most that counts as bought; scores are held to length 1 whatever it is",
    "parameters.demand.name": "the demand family; scores are held to length 1 whatever it is",
    "parameters.demand.slope": "the slope of demand; nothing proven depends on it",
    "parameters.horizon": "how many customers are learned from; nothing proven depends on it",
}

STATED_OF_SERVICE = {
    **{field: what for field, what in STATED.items() if field != "parameters.delay"},
    "parameters.outcome_seconds": "how late an outcome may come; nothing proven depends on it",
    "parameters.product": "the product",
}

_RELEASERS = {
    "curvature": "of each batch, block by block: sums of psi psi', ||psi|| <= 1, with Gaussian noise",
    "policy": "noisy-newton",
    "score": "of each batch, once: a sum of scores of length at most 1, with Gaussian noise",
}


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
class NewtonFacts:
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

    def describe(self) -> dict[str, dict[str, Any]]:
        """The sections. All batches are one release, which is paid and spent at the start."""
        allowance = (Entry(self.noise.event(self.features.dimension, live=True), 1),)
        sections = {
            "mechanism": mechanism(_RELEASERS, self.issued, self.versions),
            "parameters": _parameters(self),
            **costs(allowance, allowance, self.noise.claimed, self.adjacency, _overlaps(self.service) + 1),
        }
        if self.service is not None:
            sections["result"]["customer"] = _customer(self, allowance, self.service)
            sections[OUTSIDE] = {"changes": _changes(self.service.changes, self.issued), **_trail(self.service)}
        return sections

    def check_follows(self, before: NewtonFacts) -> None:
        """Nothing in it counts."""


def _overlaps(service: ServiceFacts | None) -> int:
    """Histories, besides the one there is, that may have released the same records."""
    return 0 if service is None else sum(change.what in OVERLAPS for change in service.changes)


def _customer(facts: NewtonFacts, allowance: tuple[Entry, ...], service: ServiceFacts) -> dict[str, Any] | None:
    """The guarantee of all records of a customer; None without a cap on them, or where that proves nothing."""
    if service.records_per_customer is None:
        return None
    restores = sum(change.what in RESTORES for change in service.changes)
    of_product = (loss_of_all(allowance, facts.adjacency), service.records_per_customer, restores)
    found = guarantee_after([of_product], facts.noise.claimed.delta)
    return asdict(found) if math.isfinite(found.epsilon) else None


def _trail(service: ServiceFacts) -> dict[str, str]:
    return {} if service.trail is None else {"trail": service.trail}


def _changes(changes: tuple[ManualChange, ...], issued: datetime.date) -> list[dict[str, str]]:
    """As stated; in order, and none of a date to come."""
    for index, (date, following) in enumerate(pairwise([*(each.date for each in changes), issued])):
        if date > following:
            raise InvalidInput(f"{OUTSIDE}.changes[{index}].date is {date}, after what follows it, of {following}")
    return [{"date": each.date.isoformat(), "what": each.what, "detail": each.detail} for each in changes]


def _parameters(facts: NewtonFacts) -> dict[str, Any]:
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


def _lateness(facts: NewtonFacts) -> dict[str, Any]:
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


class _Noise(Struct):
    score: float
    curvature: float
    levels: Annotated[int, Meta(ge=0, le=MOST_LEVELS)]


class _Parameters(Struct):
    adjacency: Adjacency
    cap: Annotated[float, Meta(gt=0.0)]
    demand: StatedDemand
    features: StatedFeatures
    horizon: Annotated[int, Meta(ge=1, le=2**62)]
    noise: _Noise


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


def read(certificate: Certificate) -> NewtonFacts:
    """The facts behind a certificate, each of its own type and within bounds, true or not."""
    mechanism = read_section(certificate, "mechanism", Mechanism)
    parameters = read_section(certificate, "parameters", _Parameters)
    claimed = read_section(certificate, "result", StatedResult).claimed
    noise = parameters.noise
    service = None if certificate.format == 1 else _service(certificate)
    return NewtonFacts(
        issued=mechanism.issued,
        versions=msgspec.to_builtins(mechanism.versions),
        adjacency=parameters.adjacency,
        horizon=parameters.horizon,
        delay=read_section(certificate, "parameters", _Delay).delay if service is None else 0,
        demand=demand_of(parameters.demand),
        features=by_name(parameters.features.map, parameters.features.contexts),
        cap=parameters.cap,
        noise=BatchNoise(score=noise.score, curvature=noise.curvature, levels=noise.levels, claimed=claimed),
        service=service,
    )


def _service(certificate: Certificate) -> ServiceFacts:
    stated = read_section(certificate, "parameters", _Service)
    outside = read_section(certificate, OUTSIDE, _Outside)
    return ServiceFacts(
        product=stated.product,
        outcome_seconds=stated.outcome_seconds,
        records_per_customer=stated.records_per_customer,
        changes=tuple(ManualChange(date=each.date, what=each.what, detail=each.detail) for each in outside.changes),
        trail=outside.trail,
    )


def facts_of(pricer: Any, issued: datetime.date) -> NewtonFacts:
    """The facts of a live pricer."""
    policy = pricer.policy
    return NewtonFacts(
        issued=issued,
        versions=versions(),
        adjacency=policy.adjacency,
        horizon=pricer.horizon,
        delay=pricer.slots.delay,
        demand=pricer.demand,
        features=pricer.features,
        cap=policy.rules.cap,
        noise=policy.rules.noise,
    )


def is_certified(policy: Any) -> bool:
    """Is it one of hushprice's own that a certificate can be about?"""
    return bool(policy.name == "noisy-newton")


def stated(certificate: Certificate) -> dict[str, str]:
    """The fields that no arithmetic can check, and what each says."""
    return STATED if certificate.format == 1 else STATED_OF_SERVICE


def recomputed(certificate: Certificate) -> list[str]:
    """What writing the certificate a second time has shown, a line each."""
    result, parameters = certificate.content("result"), certificate.content("parameters")
    proven, customer = result["proven"], result.get("customer")
    return [
        f"sensitivities of a score and of a curvature, neighbours {parameters['adjacency']}, recomputed",
        f"events recomputed: any number of batches, each of at most {2 ** parameters['noise']['levels']} blocks, grids",
        f"proven for all batches: epsilon {proven['epsilon']:.6g} at delta {proven['delta']:.3g}, recomputed",
        _of_claim(certificate),
        "spent within what was paid for: all batches are one release, paid and spent at the start",
        *([] if customer is None else [_of_customer(customer)]),
    ]


def _of_claim(certificate: Certificate) -> str:
    """Does the claim hold? Not for records that overlapping histories may have released more than once."""
    claimed = certificate.content("result")["claimed"]
    figure = f"epsilon {claimed['epsilon']:.6g} at delta {claimed['delta']:.3g}"
    more = 0 if certificate.format == 1 else _overlaps(_service(certificate))
    if not more:
        return f"claimed covers proven: {figure}"
    return f"claimed covers one history: {figure}; {more + 1} may overlap, and proven is for a record in all of them"


def _of_customer(customer: dict[str, Any]) -> str:
    most = f"{customer['records']} record" + ("s" if customer["records"] > 1 else "")
    figure = f"epsilon {customer['epsilon']:.6g} at delta {customer['delta']:.3g} (mu {customer['mu']:.6g})"
    return f"proven for a customer with at most {most} in this product: {figure}, recomputed"
