"""What a certificate of policy noisy-newton says."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from hushprice.demand.features import FeatureMap, by_name
from hushprice.demand.protocol import Demand
from hushprice.policies.newton.noise import BatchNoise
from hushprice.privacy import sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.certificates.batch_facts import (
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
from hushprice.privacy.certificates.facts import (
    Mechanism,
    StatedDemand,
    StatedFeatures,
    StatedResult,
    demand_of,
    read_section,
)
from hushprice.privacy.certificates.statements import bounded, constants, mechanism, versions
from hushprice.privacy.events import MOST_LEVELS

STATED = {
    "parameters.cap": "of a record's curvature, in whose units noise is added; nothing proven depends on it",
    "parameters.demand.bound": "the most that counts as bought; scores are held to length 1 whatever it is",
    "parameters.demand.name": "the demand family; scores are held to length 1 whatever it is",
    "parameters.demand.slope": "the slope of demand; nothing proven depends on it",
    "parameters.horizon": "how many customers are learned from; nothing proven depends on it",
}

_RELEASERS = {
    "curvature": "of each batch, block by block: sums of psi psi', ||psi|| <= 1, with Gaussian noise",
    "policy": "noisy-newton",
    "score": "of each batch, once: a sum of scores of length at most 1, with Gaussian noise",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class NewtonFacts(BatchFacts):
    """What a certificate of policy noisy-newton is calculated from."""

    demand: Demand  # a built-in family
    features: FeatureMap  # a built-in map
    cap: float
    noise: BatchNoise

    def describe(self) -> dict[str, dict[str, Any]]:
        """The sections. All batches are one release, which is paid and spent at the start."""
        event = self.noise.event(self.features.dimension, live=True)
        return {
            "mechanism": mechanism(_RELEASERS, self.issued, self.versions),
            "parameters": _parameters(self),
            **paid_at_once(event, self.noise.claimed, self.adjacency, self.issued, service=self.service),
        }


def _parameters(facts: NewtonFacts) -> dict[str, Any]:
    noise, features = facts.noise, facts.features
    return {
        "adjacency": facts.adjacency.value,
        "cap": float(facts.cap),
        **lateness(facts.delay, facts.service),
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


def read(certificate: Certificate) -> NewtonFacts:
    """The facts behind a certificate, each of its own type and within bounds, true or not."""
    mechanism = read_section(certificate, "mechanism", Mechanism)
    parameters = read_section(certificate, "parameters", _Parameters)
    claimed = read_section(certificate, "result", StatedResult).claimed
    noise = parameters.noise
    return NewtonFacts(
        issued=mechanism.issued,
        versions=msgspec.to_builtins(mechanism.versions),
        adjacency=parameters.adjacency,
        horizon=parameters.horizon,
        delay=read_delay(certificate),
        demand=demand_of(parameters.demand),
        features=by_name(parameters.features.map, parameters.features.contexts),
        cap=parameters.cap,
        noise=BatchNoise(score=noise.score, curvature=noise.curvature, levels=noise.levels, claimed=claimed),
        service=read_service(certificate),
    )


def facts_of(pricer: Any, issued: datetime.date) -> NewtonFacts:
    """The facts of a live pricer."""
    return facts_of_policy(pricer.policy, issued, **ran_by(pricer))


def facts_of_policy(policy: Any, issued: datetime.date, **ran: Any) -> NewtonFacts:
    """The facts of whoever runs this policy: `ran` is demand, features, horizon, and delay or service."""
    rules = policy.rules
    return NewtonFacts(
        issued=issued, versions=versions(), adjacency=policy.adjacency, cap=rules.cap, noise=rules.noise, **ran
    )


def is_certified(policy: Any) -> bool:
    """Is it one of hushprice's own that a certificate can be about?"""
    return bool(policy.name == "noisy-newton")


def stated(certificate: Certificate) -> dict[str, str]:
    """The fields that no arithmetic can check, and what each says."""
    return {**stated_by(certificate), **STATED}


def recomputed(certificate: Certificate) -> list[str]:
    """What writing the certificate a second time has shown, a line each."""
    parameters = certificate.content("parameters")
    return [
        f"sensitivities of a score and of a curvature, neighbours {parameters['adjacency']}, recomputed",
        f"events recomputed: any number of batches, each of at most {2 ** parameters['noise']['levels']} blocks, grids",
        *recomputed_once(certificate),
    ]
