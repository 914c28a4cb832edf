"""What a certificate of a rival says: its events are calculated again from what it was asked for."""

from __future__ import annotations

import datetime
import functools
import importlib
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from hushprice.demand.features import FeatureMap, by_name
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.policies import POLICIES
from hushprice.policies.rival_parts.frame import market_frame
from hushprice.policies.rival_parts.rival_policy import RivalPolicy, made_live
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.certificates.batch_facts import BatchFacts, lateness, ran_by
from hushprice.privacy.certificates.certificate import Certificate
from hushprice.privacy.certificates.facts import (
    Mechanism,
    StatedDemand,
    StatedFeatures,
    StatedResult,
    Text,
    demand_of,
    read_section,
)
from hushprice.privacy.certificates.statements import STATED as COMMON
from hushprice.privacy.certificates.statements import bounded, constants, costs, mechanism, versions
from hushprice.privacy.ledger import Entry

_NOTHING = "nothing proven depends on it"
STATED = {
    "parameters.demand.bound": f"the most that counts as bought; {_NOTHING}",
    "parameters.demand.slope": f"the slope of demand; {_NOTHING}",
    "parameters.horizon": "how many customers are learned from; events that depend on it were recomputed with it",
}
STATED_OF_REPORTS = {
    "parameters.trust": "that each report is made as the proof says: here by the program that issued this"
}
_RELEASES = "each event once; prices between are calculated from releases"
_REPORTS = (
    "of each customer one report, with noise of its own, drawn where the record is; nothing else is learned of it"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RivalFacts(BatchFacts):
    """What a certificate of a rival is calculated from."""

    policy: str
    calibration: str | None
    claimed: EpsilonDelta
    demand: Demand  # the logistic family
    features: FeatureMap  # a built-in map

    def describe(self) -> dict[str, dict[str, Any]]:
        """The sections. All releases there will ever be are paid and spent at the start."""
        made = self.made()
        if made.claimed != self.claimed:
            raise InvalidInput(f"result.claimed is {self.claimed}, where {self.policy!r} claims {made.claimed}")
        entries = tuple(Entry(event, 1) for event in made.events)
        releasers = {"policy": self.policy, "releases": _REPORTS if made.reported else _RELEASES}
        return {
            "mechanism": mechanism(releasers, self.issued, self.versions),
            "parameters": {
                "adjacency": self.adjacency.value,
                "calibration": self.calibration,
                **lateness(0, None),  # a rival learns at once
                "demand": constants(self.demand),
                "dimension": int(self.features.dimension),
                "features": bounded(self.features),
                "horizon": int(self.horizon),
                **({"trust": "local"} if made.reported else {}),
            },
            **costs(entries, entries, self.claimed, self.adjacency),
        }

    def made(self) -> RivalPolicy:
        """The policy that a live pricer runs."""
        frame = market_frame(self.demand, self.features, self.horizon, self.policy)
        made = made_live(self.policy, self.claimed, self.adjacency, self.calibration, frame)
        if not made.learns or made.calibration != self.calibration:
            raise InvalidInput(f"mechanism.policy is {self.policy!r}, which no live pricer runs so")
        return made


class _Parameters(Struct):
    adjacency: Adjacency
    calibration: Text | None
    demand: StatedDemand
    features: StatedFeatures
    horizon: Annotated[int, Meta(ge=1, le=2**62)]


def read(certificate: Certificate) -> RivalFacts:
    """The facts behind a certificate, each of its own type and within bounds, true or not."""
    if certificate.format != 1:
        raise InvalidInput(f"format is {certificate.format}, but no product of the service runs this policy")
    stated = read_section(certificate, "mechanism", Mechanism)
    parameters = read_section(certificate, "parameters", _Parameters)
    return RivalFacts(
        issued=stated.issued,
        versions=msgspec.to_builtins(stated.versions),
        adjacency=parameters.adjacency,
        horizon=parameters.horizon,
        policy=stated.policy,
        calibration=parameters.calibration,
        claimed=read_section(certificate, "result", StatedResult).claimed,
        demand=demand_of(parameters.demand),
        features=by_name(parameters.features.map, parameters.features.contexts),
    )


def facts_of(pricer: Any, issued: datetime.date) -> RivalFacts:
    """The facts of a live pricer."""
    policy: RivalPolicy = pricer.policy
    assert policy.claimed is not None
    return RivalFacts(
        issued=issued,
        versions=versions(),
        adjacency=policy.adjacency,
        policy=policy.name,
        calibration=policy.calibration,
        claimed=policy.claimed,
        **ran_by(pricer),
    )


def is_certified(policy: RivalPolicy) -> bool:
    """Is it begun as one of hushprice's own is, and nobody else's class under its name?"""
    begin, own = policy.begin, importlib.import_module(POLICIES[policy.name]) if policy.name in POLICIES else None
    return isinstance(begin, functools.partial) and begin.func in vars(own).values() if own is not None else False


def stated(certificate: Certificate) -> dict[str, str]:
    """The fields that no arithmetic can check, and what each says."""
    return {**COMMON, **STATED, **(STATED_OF_REPORTS if "trust" in certificate.content("parameters") else {})}


def recomputed(certificate: Certificate) -> list[str]:
    """What writing the certificate a second time has shown, a line each."""
    claimed, proven = (certificate.content("result")[name] for name in ("claimed", "proven"))
    reported = "trust" in certificate.content("parameters")
    return [
        "events recomputed from the policy, its calibration, the claim and the horizon",
        *(["each record is in one report: the event says what that costs at most"] if reported else []),
        f"proven for all releases: epsilon {proven['epsilon']:.6g} at delta {proven['delta']:.3g}, recomputed",
        f"claimed covers proven: epsilon {claimed['epsilon']:.6g} at delta {claimed['delta']:.3g}",
        "spent within what was paid for: every release is paid and spent at the start",
    ]
