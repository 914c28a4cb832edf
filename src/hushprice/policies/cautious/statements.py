"""What a certificate of policy cautious says."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from hushprice.errors import InvalidInput
from hushprice.policies.cautious.noise import aggregated
from hushprice.policies.cautious.pricing import population
from hushprice.privacy import sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.certificates.batch_facts import (
    ALONE,
    ServiceFacts,
    lateness,
    paid_at_once,
    read_delay,
    read_service,
    recomputed_once,
    stated_by,
)
from hushprice.privacy.certificates.certificate import Certificate
from hushprice.privacy.certificates.facts import Mechanism, StatedResult, read_section
from hushprice.privacy.certificates.statements import mechanism, plain, versions
from hushprice.privacy.events import (
    AggregatedBatches,
    BitReports,
    EarlierFit,
    Event,
    LaplaceBatches,
    MomentBatches,
    ShuffledBits,
)
from hushprice.product import MOST_CONTEXTS

STATED = {"parameters.horizon": "how many customers are learned from; nothing proven depends on it"}

_STATED_PRIOR = {
    "parameters.prior.fit": "SHA-256 of the fit that prices start from",
    "parameters.prior.same_people": "may who is in the fit's log be a customer? If not, its budget does not count here",
}
_STATED_COST = {"parameters.prior.cost": "what the fit cost, which its own certificate proves"}

_COMMON = {
    "descriptions": "of each batch, once: a sum of descriptions of customers, two of them at most sqrt(2) apart, "
    "with Gaussian noise",
    "policy": "cautious",
}
_EARNED = "of each batch, once: what its holdout and its other customers earned, each record at most 1 of one of them"
_RELEASERS = {
    **_COMMON,
    "earnings": f"{_EARNED}, with Laplace noise",
    "score": "of each side of each batch, once: a sum of residuals, and one of residuals times attributes whose sizes "
    "add up to 1 at most, with Laplace noise",
}
_GAUSSIAN_RELEASERS = {
    **_COMMON,
    "earnings": f"{_EARNED}, with Gaussian noise",
    "score": "of each batch, once: a sum of residuals times instruments of length at most 1, with Gaussian noise",
}
_BIT = "of each customer's device, once: one bit, turned over with a stated probability"
_TRUSTED = {
    "local": {"policy": "cautious", "score": f"{_BIT}; nothing else but the price is known of a customer"},
    "shuffle": {"policy": "cautious", "score": f"{_BIT}, in an order that a shuffler draws, who adds fair bits"},
    "aggregated": {**_RELEASERS, "aggregators": "two, given shares; each adds all of this noise to its own total"},
}
_STATED_TRUST = {"parameters.trust": "that devices, and whoever is between, do what the proof says they do"}
MOST_CHOICES = 16
MOST_STEPS = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class StatedPrior:
    """The fit that prices start from, and what it cost customers who may be in its log; None: nobody is in both."""

    fit: str
    paid: EarlierFit | None

    def describe(self) -> dict[str, Any]:
        """As a certificate says it."""
        return {"fit": self.fit, "same_people": self.paid is not None} | (
            {} if self.paid is None else {"cost": {**plain(self.paid)}}
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class CautiousFacts:
    """What a certificate of policy cautious is calculated from; everything else in it follows."""

    issued: datetime.date  # in UTC
    versions: Mapping[str, str]
    adjacency: Adjacency
    horizon: int
    delay: int = 0
    contexts: int
    event: LaplaceBatches | MomentBatches | BitReports | ShuffledBits  # MomentBatches before there was Laplace noise
    claimed: EpsilonDelta
    prior: StatedPrior | None = None  # the fit that prices start from
    service: ServiceFacts | None = None  # then there is a deadline in seconds, and `delay` is not said

    def describe(self) -> dict[str, dict[str, Any]]:
        """The sections. All batches are one release, which is paid and spent at the start."""
        return {
            "mechanism": mechanism(
                _releasers(self.event),
                self.issued,
                self.versions,
            ),
            "parameters": _parameters(self),
            **paid_at_once(self.event, self.claimed, self.adjacency, self.issued, service=self.service, paid=self.paid),
        }

    @property
    def paid(self) -> EarlierFit | None:
        """What customers may have paid before the first price."""
        return None if self.prior is None else self.prior.paid

    def check_follows(self, before: CautiousFacts) -> None:
        """Nothing to check: no number in it may only grow."""


def _trust(event: Event) -> str:
    """The trust model that an event is of."""
    match event:
        case BitReports():
            return "local"
        case ShuffledBits():
            return "shuffle"
        case AggregatedBatches():
            return "aggregated"
    return "central"


def _releasers(event: Event) -> dict[str, str]:
    if isinstance(event, MomentBatches):
        return _GAUSSIAN_RELEASERS
    return _TRUSTED.get(_trust(event), _RELEASERS)


def _parameters(facts: CautiousFacts) -> dict[str, Any]:
    event, adjacency = facts.event, facts.adjacency
    return {
        "adjacency": adjacency.value,
        "contexts": int(facts.contexts),
        **lateness(facts.delay, facts.service),
        "horizon": int(facts.horizon),
        **({} if facts.prior is None else {"prior": facts.prior.describe()}),
        **({} if _trust(event) == "central" else {"trust": _trust(event)}),
        **_of_event(event, adjacency),
    }


def _of_event(event: Event, adjacency: Adjacency) -> dict[str, Any]:
    match event:
        case BitReports():
            return {"bits": {"steps": [{"among": 1, "keep": float(event.keep)}], "delta": None}}
        case ShuffledBits():
            steps = [{"among": int(among), "keep": float(keep)} for among, keep in event.steps]
            return {"bits": {"steps": steps, "delta": float(event.delta)}}
        case LaplaceBatches():
            return _of_laplace(event, adjacency)
        case MomentBatches():
            return _of_moments(event, adjacency)
    raise InvalidInput(f"a certificate of policy 'cautious' cannot be about {event!r}")


def _of_laplace(event: LaplaceBatches, adjacency: Adjacency) -> dict[str, Any]:
    """Where personal is null, attributes are left out."""
    return {
        "least": float(event.least),
        "most": float(event.most),
        "noise": {
            "description": float(event.description_noise),
            "earnings_scale": float(event.earnings_scale),
            **({} if event.holdout_scale is None else {"holdout_scale": float(event.holdout_scale)}),
            "scales": [
                {"common": float(common), "personal": float(personal) if personal < math.inf else None}
                for common, personal in event.scales
            ],
        },
        "sensitivities": {
            "description": sensitivity.of_covariance(adjacency),
            "earnings": 1.0,
            "common": sensitivity.of_sides(event.least, event.most, (1.0, 0.0), adjacency),
            "personal": sensitivity.of_sides(event.least, event.most, (0.0, 1.0), adjacency),
        },
    }


def _of_moments(event: MomentBatches, adjacency: Adjacency) -> dict[str, Any]:
    return {
        "largest": float(event.largest),
        "noise": {
            "score": float(event.noise),
            "description": float(event.description_noise),
            "earnings": float(event.earnings_noise),
        },
        "own": [float(share) for share in event.own],
        "sensitivities": {
            "description": sensitivity.of_covariance(adjacency),
            "earnings": 1.0,
            "score": [sensitivity.of_moments(event.largest, share, adjacency) for share in event.own],
        },
    }


class _Scales(Struct):
    common: float
    personal: float | None


class _Noise(Struct):
    description: float
    earnings_scale: float
    scales: Annotated[list[_Scales], Meta(min_length=1, max_length=MOST_CHOICES)]
    holdout_scale: float | None = None


class _GaussianNoise(Struct):
    score: float
    description: float
    earnings: float


class _Cost(Struct):
    epsilon: float
    delta: float
    mu: float | None
    numbers: Annotated[int, Meta(ge=0, le=2**36)]
    whole_person: bool


class _Prior(Struct):
    fit: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    same_people: bool
    cost: _Cost | None = None


class _Shared(Struct):
    adjacency: Adjacency
    contexts: Annotated[int, Meta(ge=0, le=MOST_CONTEXTS)]
    horizon: Annotated[int, Meta(ge=1, le=2**62)]
    prior: _Prior | None = None


class _Parameters(_Shared, kw_only=True):
    least: float
    most: float
    noise: _Noise


class _Step(Struct):
    among: Annotated[int, Meta(ge=1, le=2**40)]
    keep: float


class _Bits(Struct):
    steps: Annotated[list[_Step], Meta(min_length=1, max_length=MOST_STEPS)]
    delta: float | None


class _BitParameters(_Shared, kw_only=True):
    bits: _Bits


class _GaussianParameters(_Shared, kw_only=True):
    largest: float
    noise: _GaussianNoise
    own: Annotated[list[float], Meta(min_length=1, max_length=MOST_CHOICES)]


class _Results(Struct):
    alone: StatedResult


def _event(certificate: Certificate) -> LaplaceBatches | MomentBatches | BitReports | ShuffledBits:
    """As the certificate states it."""
    if "bits" in certificate.content("parameters"):
        bits = read_section(certificate, "parameters", _BitParameters).bits
        if bits.delta is None:
            return BitReports(keep=bits.steps[0].keep)
        return ShuffledBits(steps=tuple((each.among, each.keep) for each in bits.steps), delta=bits.delta)
    if "own" in certificate.content("parameters"):
        return _gaussian_event(read_section(certificate, "parameters", _GaussianParameters))
    parameters = read_section(certificate, "parameters", _Parameters)
    noise = parameters.noise
    event = LaplaceBatches(
        contexts=parameters.contexts,
        least=parameters.least,
        most=parameters.most,
        scales=tuple((each.common, math.inf if each.personal is None else each.personal) for each in noise.scales),
        descriptions=population.entries(parameters.contexts),
        description_noise=noise.description,
        earnings_scale=noise.earnings_scale,
        live=True,
        holdout_scale=noise.holdout_scale,
    )
    return event if certificate.content("parameters").get("trust") is None else aggregated(event)


def _gaussian_event(parameters: _GaussianParameters) -> MomentBatches:
    return MomentBatches(
        scores=3 * (parameters.contexts + 1),
        descriptions=population.entries(parameters.contexts),
        largest=parameters.largest,
        own=tuple(parameters.own),
        noise=parameters.noise.score,
        description_noise=parameters.noise.description,
        earnings_noise=parameters.noise.earnings,
        live=True,
    )


def read(certificate: Certificate) -> CautiousFacts:
    """The facts behind a certificate, each of its own type and within bounds, true or not."""
    mechanism = read_section(certificate, "mechanism", Mechanism)
    parameters = read_section(certificate, "parameters", _Shared)
    prior = None if parameters.prior is None else _read_prior(parameters.prior)
    if prior is None or prior.paid is None:
        claimed = read_section(certificate, "result", StatedResult).claimed
    else:
        claimed = read_section(certificate, "result", _Results).alone.claimed
    return CautiousFacts(
        issued=mechanism.issued,
        versions=msgspec.to_builtins(mechanism.versions),
        adjacency=parameters.adjacency,
        horizon=parameters.horizon,
        delay=read_delay(certificate),
        contexts=parameters.contexts,
        event=_event(certificate),
        claimed=claimed,
        prior=prior,
        service=read_service(certificate),
    )


def _read_prior(stated: _Prior) -> StatedPrior:
    if stated.same_people != (stated.cost is not None):
        raise InvalidInput("parameters.prior.cost must be there where the same people are in both, and only there")
    cost = stated.cost
    paid = None if cost is None else EarlierFit(fit=stated.fit, **msgspec.structs.asdict(cost))
    return StatedPrior(fit=stated.fit, paid=paid)


def facts_of(pricer: Any, issued: datetime.date) -> CautiousFacts:
    """The facts of a live pricer."""
    return facts_of_policy(
        pricer.policy,
        issued,
        demand=pricer.demand,
        features=pricer.features,
        horizon=pricer.horizon,
        delay=pricer.slots.delay,
    )


def facts_of_policy(
    policy: Any, issued: datetime.date, *, demand: object = None, features: object = None, **ran: Any
) -> CautiousFacts:
    """The facts of whoever runs this policy: `ran` is horizon, and delay or service. Its rules say all of demand."""
    rules = policy.rules
    return CautiousFacts(
        issued=issued,
        versions=versions(),
        adjacency=policy.adjacency,
        contexts=rules.model.contexts,
        event=rules.event(live=True),
        claimed=rules.noise.claimed,
        prior=None if rules.prior is None else StatedPrior(fit=rules.prior.fit, paid=rules.prior.paid),
        **ran,
    )


def is_certified(policy: Any) -> bool:
    """Is it one of hushprice's own that a certificate can be about?"""
    return bool(policy.name == "cautious")


def stated(certificate: Certificate) -> dict[str, str]:
    """The fields that no arithmetic can check, and what each says."""
    prior = certificate.content("parameters").get("prior")
    of_prior = {} if prior is None else _STATED_PRIOR | (_STATED_COST if prior["same_people"] else {})
    of_trust = _STATED_TRUST if "trust" in certificate.content("parameters") else {}
    return {**stated_by(certificate), **STATED, **of_prior, **of_trust}


def recomputed(certificate: Certificate) -> list[str]:
    """What writing the certificate a second time has shown, a line each."""
    parameters = certificate.content("parameters")
    prior = parameters.get("prior")
    of_fit = [] if prior is None else [_of_prior(certificate, prior)]
    if "bits" in parameters:
        steps = len(parameters["bits"]["steps"])
        return [*of_fit, f"events recomputed: one bit a record, {steps} ways to hide it", *recomputed_once(certificate)]
    kinds = len(parameters.get("own") or parameters["noise"]["scales"])
    return [
        *of_fit,
        f"sensitivities of a score, a description and earnings, neighbours {parameters['adjacency']}, recomputed",
        f"events recomputed: any number of batches of {kinds} kinds, grids",
        *recomputed_once(certificate),
    ]


def _of_prior(certificate: Certificate, prior: dict[str, Any]) -> str:
    name = f"prices start from fit {prior['fit'][:16]}..."
    if not prior["same_people"]:
        return f"{name}, whose log is stated to hold no customer: its budget is not in these figures"
    claimed, alone = certificate.content("result")["claimed"], certificate.content("result")[ALONE]["claimed"]
    return (
        f"{name}, and budgets add up: epsilon {prior['cost']['epsilon']:.6g} of the fit and {alone['epsilon']:.6g} "
        f"of the product, {claimed['epsilon']:.6g} together"
    )
