"""What a certificate of policy cautious says."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Struct

from hushprice.errors import InvalidInput
from hushprice.policies.cautious.stated_event import (
    PriorSection,
    Shared,
    StatedEvent,
    describe,
    read_event,
    trust_of,
)
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.certificates.batch_facts import (
    ALONE,
    BatchFacts,
    lateness,
    paid_at_once,
    ran_by,
    read_delay,
    read_service,
    recomputed_once,
    stated_by,
)
from hushprice.privacy.certificates.certificate import Certificate
from hushprice.privacy.certificates.facts import Mechanism, StatedResult, read_section
from hushprice.privacy.certificates.statements import mechanism, plain, versions
from hushprice.privacy.events import (
    EarlierFit,
    Event,
    MomentBatches,
)

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
class CautiousFacts(BatchFacts):
    """What a certificate of policy cautious is calculated from."""

    contexts: int
    event: StatedEvent
    claimed: EpsilonDelta
    prior: StatedPrior | None = None  # the fit that prices start from

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


def _releasers(event: Event) -> dict[str, str]:
    if isinstance(event, MomentBatches):
        return _GAUSSIAN_RELEASERS
    return _TRUSTED.get(trust_of(event), _RELEASERS)


def _parameters(facts: CautiousFacts) -> dict[str, Any]:
    event, adjacency = facts.event, facts.adjacency
    return {
        "adjacency": adjacency.value,
        "contexts": int(facts.contexts),
        **lateness(facts.delay, facts.service),
        "horizon": int(facts.horizon),
        **({} if facts.prior is None else {"prior": facts.prior.describe()}),
        **({} if trust_of(event) == "central" else {"trust": trust_of(event)}),
        **describe(event, adjacency),
    }


class _Results(Struct):
    alone: StatedResult


def read(certificate: Certificate) -> CautiousFacts:
    """The facts behind a certificate, each of its own type and within bounds, true or not."""
    mechanism = read_section(certificate, "mechanism", Mechanism)
    parameters = read_section(certificate, "parameters", Shared)
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
        event=read_event(certificate),
        claimed=claimed,
        prior=prior,
        service=read_service(certificate),
    )


def _read_prior(stated: PriorSection) -> StatedPrior:
    if stated.same_people != (stated.cost is not None):
        raise InvalidInput("parameters.prior.cost must be there where the same people are in both, and only there")
    cost = stated.cost
    paid = None if cost is None else EarlierFit(fit=stated.fit, **msgspec.structs.asdict(cost))
    return StatedPrior(fit=stated.fit, paid=paid)


def facts_of(pricer: Any, issued: datetime.date) -> CautiousFacts:
    """The facts of a live pricer."""
    return facts_of_policy(pricer.policy, issued, **ran_by(pricer))


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
