"""What a certificate of policy paper says, from the facts it follows from, and how these are read back."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from hushprice.demand.features import FeatureMap, by_name
from hushprice.demand.protocol import Demand, steepest
from hushprice.errors import InvalidInput
from hushprice.policies.paper import tolerance
from hushprice.policies.paper.calibration import CALIBRATIONS
from hushprice.policies.paper.noise import Noise, events
from hushprice.privacy import sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.certificates.certificate import Certificate
from hushprice.privacy.certificates.facts import (
    Count,
    Mechanism,
    StatedDemand,
    StatedFeatures,
    StatedResult,
    demand_of,
    read_section,
)
from hushprice.privacy.certificates.statements import DELAY, bounded, constants, costs, mechanism, versions
from hushprice.privacy.certificates.statements import STATED as STATED_BY_ALL
from hushprice.privacy.ledger import Entry

MOST_ESTIMATES = 1_000_000  # more take minutes to account for, so a file could keep its reader busy for ever
STATED = {
    **STATED_BY_ALL,
    "parameters.calibration": "which rule chose the noise; what the noise proves does not depend on it",
    **DELAY,
}

_RELEASERS = {
    "covariance": "PrivateCov: every sum of phi phi', with Gaussian noise (alg:private-cov)",
    "estimate": "PrivateMLE: objective perturbation over ||theta|| <= 2, then output noise (alg:private-mle)",
    "policy": "paper",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class PaperFacts:
    """What a certificate of policy paper is calculated from; everything else in it follows."""

    issued: datetime.date  # in UTC
    versions: Mapping[str, str]
    calibration: str
    adjacency: Adjacency
    horizon: int
    delay: int
    demand: Demand  # a built-in family
    features: FeatureMap  # a built-in map
    noise: Noise
    estimates: int  # made so far

    def describe(self) -> dict[str, dict[str, Any]]:
        """The sections. Facts that do not add up are refused by the field."""
        noise, dimension = self.noise, self.features.dimension
        if noise.claimed is None or noise.max_estimates is None:
            raise InvalidInput("result.claimed is missing: nothing is claimed, so there is nothing to certify")
        if noise.max_estimates > MOST_ESTIMATES:
            raise InvalidInput(f"parameters.max_estimates is {noise.max_estimates}, above {MOST_ESTIMATES}")
        if not 0 <= self.estimates <= noise.max_estimates:
            raise InvalidInput(f"events.spent[1].count is {self.estimates}, more than were paid for")
        if self.estimates > max(0, self.horizon - self.delay - 1):
            raise InvalidInput(f"events.spent[1].count is {self.estimates}, more than there were records to learn from")
        losses = sensitivity.of_loss(self.demand)
        stream, estimate = events(noise, horizon=self.horizon, dimension=dimension, losses=losses, live=True)
        allowance = (Entry(stream, 1), Entry(estimate, noise.max_estimates))
        spent = allowance[:1] if self.estimates == 0 else (allowance[0], Entry(estimate, self.estimates))
        return {
            "mechanism": mechanism(_RELEASERS, self.issued, self.versions),
            "parameters": _parameters(self, losses, estimate),
            **costs(allowance, spent, noise.claimed, self.adjacency),
        }

    def check_follows(self, before: PaperFacts) -> None:
        """Refuse fewer estimates than the certificate before stated."""
        if self.estimates < before.estimates:
            raise InvalidInput(
                f"events.spent counts {self.estimates} estimates, the previous certificate {before.estimates}"
            )


def _parameters(facts: PaperFacts, losses: sensitivity.LossBounds, estimate: Any) -> dict[str, Any]:
    demand, noise = facts.demand, facts.noise
    return {
        "adjacency": facts.adjacency.value,
        "calibration": facts.calibration,
        "delay": int(facts.delay),
        "demand": {**constants(demand), "steepest": steepest(demand)},
        "dimension": int(facts.features.dimension),
        "features": bounded(facts.features),
        "horizon": int(facts.horizon),
        "max_estimates": noise.max_estimates,
        "noise": {
            "covariance": float(noise.covariance_noise),
            "estimate": float(noise.estimate_noise),
            "output": float(noise.output_noise),
            "ridge": float(noise.estimate_ridge),
            "strategy": noise.strategy,
            "layout": noise.layout,
        },
        "sensitivities": {
            "covariance": sensitivity.of_covariance(facts.adjacency),
            "gradient": losses.gradient,
            "difference": losses.difference,
            "curvature": losses.curvature,
            "distance": estimate.distance,
            "solver_gap": tolerance.TOLERANCE,
        },
    }


class _Noise(Struct):
    covariance: float
    estimate: float
    output: float
    ridge: float
    strategy: Literal["tree", "toeplitz"]
    layout: Literal["triangle", "frobenius"]


class _Parameters(Struct):
    adjacency: Adjacency
    calibration: Literal["printed", "published", "tight"]
    delay: Count
    demand: StatedDemand
    features: StatedFeatures
    horizon: Count
    max_estimates: Count
    noise: _Noise


class _Entry(Struct):
    count: Count


class _Events(Struct):
    spent: Annotated[list[_Entry], Meta(min_length=1, max_length=2)]


def read(certificate: Certificate) -> PaperFacts:
    """The facts behind a certificate, each of its own type and within bounds, true or not."""
    if certificate.format != 1:
        raise InvalidInput("mechanism.policy must be noisy-newton in a certificate of the pricing service")
    mechanism = read_section(certificate, "mechanism", Mechanism)
    parameters = read_section(certificate, "parameters", _Parameters)
    claimed = read_section(certificate, "result", StatedResult).claimed
    spent = read_section(certificate, "events", _Events).spent
    noise = parameters.noise
    return PaperFacts(
        issued=mechanism.issued,
        versions=msgspec.to_builtins(mechanism.versions),
        calibration=parameters.calibration,
        adjacency=parameters.adjacency,
        horizon=parameters.horizon,
        delay=parameters.delay,
        demand=demand_of(parameters.demand),
        features=by_name(parameters.features.map, parameters.features.contexts),
        noise=Noise(
            covariance_noise=noise.covariance,
            estimate_noise=noise.estimate,
            estimate_ridge=noise.ridge,
            output_noise=noise.output,
            strategy=noise.strategy,
            layout=noise.layout,
            floored=True,  # what is done to a release afterwards costs nothing
            claimed=claimed,
            max_estimates=parameters.max_estimates,
        ),
        estimates=spent[1].count if len(spent) == 2 else 0,
    )


def facts_of(pricer: Any, issued: datetime.date) -> PaperFacts:
    """The facts of a live pricer."""
    policy = pricer.policy
    return PaperFacts(
        issued=issued,
        versions=versions(),
        calibration=str(policy.calibration),
        adjacency=policy.adjacency,
        horizon=pricer.horizon,
        delay=pricer.slots.delay,
        demand=pricer.demand,
        features=pricer.features,
        noise=policy.noise,
        estimates=pricer.ledger.count(pricer.learner.estimate_event),
    )


def is_certified(policy: Any) -> bool:
    """Is it one of hushprice's own that a certificate can be about?"""
    return policy.name == "paper" and policy.calibration in CALIBRATIONS


def stated(certificate: Certificate) -> dict[str, str]:
    """The fields that no arithmetic can check, and what each says."""
    return STATED


def recomputed(certificate: Certificate) -> list[str]:
    """What writing the certificate a second time has shown, a line each."""
    result, parameters = certificate.content("result"), certificate.content("parameters")
    spent = certificate.content("events")["spent"]
    made = spent[1]["count"] if len(spent) == 2 else 0
    claimed, proven = result["claimed"], result["proven"]
    return [
        f"sensitivities of {parameters['demand']['name']} demand, neighbours {parameters['adjacency']}, recomputed",
        f"events recomputed: the noise strategy for horizon {parameters['horizon']}, grids, the solver's distance",
        f"proven for everything paid for: epsilon {proven['epsilon']:.6g} at delta {proven['delta']:.3g}, recomputed",
        f"claimed covers proven: epsilon {claimed['epsilon']:.6g} at delta {claimed['delta']:.3g}",
        f"spent within what was paid for: the covariance stream, {made} of {parameters['max_estimates']} estimates",
        # How many estimates were made was not fixed in advance, so this reads a meter; the promise is what is proven.
        f"spent so far, recomputed: the meter reads epsilon {result['spent']['epsilon']:.6g} at the same delta",
    ]
