"""What a certificate of policy cautious says."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from hushprice.policies.cautious.pricing import instruments, population
from hushprice.privacy import sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.certificates.batch_facts import (
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
from hushprice.privacy.certificates.statements import mechanism, versions
from hushprice.privacy.events import MomentBatches
from hushprice.product import MOST_CONTEXTS

STATED = {"parameters.horizon": "how many customers are learned from; nothing proven depends on it"}

_RELEASERS = {
    "descriptions": "of each batch, once: a sum of descriptions of customers, two of them at most sqrt(2) apart, "
    "with Gaussian noise",
    "earnings": "of each batch, once: what its holdout and its other customers earned, each record at most 1 of one of "
    "them, with Gaussian noise",
    "policy": "cautious",
    "score": "of each batch, once: a sum of residuals times instruments of length at most 1, with Gaussian noise",
}
MOST_CHOICES = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class CautiousFacts:
    """What a certificate of policy cautious is calculated from; everything else in it follows."""

    issued: datetime.date  # in UTC
    versions: Mapping[str, str]
    adjacency: Adjacency
    horizon: int
    delay: int = 0
    contexts: int
    event: MomentBatches
    claimed: EpsilonDelta
    service: ServiceFacts | None = None  # then there is a deadline in seconds, and `delay` is not said

    def describe(self) -> dict[str, dict[str, Any]]:
        """The sections. All batches are one release, which is paid and spent at the start."""
        return {
            "mechanism": mechanism(_RELEASERS, self.issued, self.versions),
            "parameters": _parameters(self),
            **paid_at_once(self.event, self.claimed, self.adjacency, self.issued, self.service),
        }

    def check_follows(self, before: CautiousFacts) -> None:
        """Nothing in it counts."""


def _parameters(facts: CautiousFacts) -> dict[str, Any]:
    event = facts.event
    return {
        "adjacency": facts.adjacency.value,
        "contexts": int(facts.contexts),
        **lateness(facts.delay, facts.service),
        "horizon": int(facts.horizon),
        "largest": float(event.largest),
        "noise": {
            "score": float(event.noise),
            "description": float(event.description_noise),
            "earnings": float(event.earnings_noise),
            **({} if event.holdout_noise is None else {"holdout": float(event.holdout_noise)}),
        },
        "own": [float(share) for share in event.own],
        "sensitivities": {
            "description": sensitivity.of_covariance(facts.adjacency),
            "earnings": 1.0,
            "score": [sensitivity.of_moments(event.largest, share, facts.adjacency) for share in event.own],
        },
    }


class _Noise(Struct):
    score: float
    description: float
    earnings: float
    holdout: float | None = None  # older certificates have one noise for both numbers


class _Parameters(Struct):
    adjacency: Adjacency
    contexts: Annotated[int, Meta(ge=0, le=MOST_CONTEXTS)]
    horizon: Annotated[int, Meta(ge=1, le=2**62)]
    largest: float
    noise: _Noise
    own: Annotated[list[float], Meta(min_length=1, max_length=MOST_CHOICES)]


def read(certificate: Certificate) -> CautiousFacts:
    """The facts behind a certificate, each of its own type and within bounds, true or not."""
    mechanism = read_section(certificate, "mechanism", Mechanism)
    parameters = read_section(certificate, "parameters", _Parameters)
    noise, contexts = parameters.noise, parameters.contexts
    return CautiousFacts(
        issued=mechanism.issued,
        versions=msgspec.to_builtins(mechanism.versions),
        adjacency=parameters.adjacency,
        horizon=parameters.horizon,
        delay=read_delay(certificate),
        contexts=contexts,
        event=MomentBatches(
            scores=instruments.entries(contexts),
            descriptions=population.entries(contexts),
            largest=parameters.largest,
            own=tuple(parameters.own),
            noise=noise.score,
            description_noise=noise.description,
            earnings_noise=noise.earnings,
            live=True,
            holdout_noise=noise.holdout,
        ),
        claimed=read_section(certificate, "result", StatedResult).claimed,
        service=read_service(certificate),
    )


def facts_of(pricer: Any, issued: datetime.date) -> CautiousFacts:
    """The facts of a live pricer."""
    return facts_of_policy(pricer.policy, issued, horizon=pricer.horizon, delay=pricer.slots.delay)


def facts_of_policy(
    policy: Any, issued: datetime.date, *, horizon: int, delay: int = 0, service: ServiceFacts | None = None
) -> CautiousFacts:
    """The facts of whoever runs this policy."""
    rules = policy.rules
    return CautiousFacts(
        issued=issued,
        versions=versions(),
        adjacency=policy.adjacency,
        horizon=horizon,
        delay=delay,
        contexts=rules.model.contexts,
        event=rules.noise.event(rules.model.contexts, live=True),
        claimed=rules.noise.claimed,
        service=service,
    )


def is_certified(policy: Any) -> bool:
    """Is it one of hushprice's own that a certificate can be about?"""
    return bool(policy.name == "cautious")


def stated(certificate: Certificate) -> dict[str, str]:
    """The fields that no arithmetic can check, and what each says."""
    return {**stated_by(certificate), **STATED}


def recomputed(certificate: Certificate) -> list[str]:
    """What writing the certificate a second time has shown, a line each."""
    parameters = certificate.content("parameters")
    return [
        f"sensitivities of a score, a description and earnings, neighbours {parameters['adjacency']}, recomputed",
        f"events recomputed: any number of batches of {len(parameters['own'])} kinds, grids",
        *recomputed_once(certificate),
    ]
