"""What a certificate states, read strictly: the entries that everything else in it is computed from."""

from __future__ import annotations

import datetime
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from hushprice.demand import families
from hushprice.demand.features import by_name
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.policies.newton.noise import BatchNoise
from hushprice.policies.newton.statements import (
    LONGEST_DETAIL,
    MOST_RECORDS,
    OUTSIDE,
    BatchFacts,
    ManualChange,
    ServiceFacts,
)
from hushprice.policies.paper.noise import Noise
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.certificates.certificate import Certificate, Facts, first_words
from hushprice.privacy.events import MOST_LEVELS

_Text = Annotated[str, Meta(min_length=1, max_length=100)]
_Count = Annotated[int, Meta(ge=0, le=2**62)]


class _Versions(Struct):
    hushprice: _Text
    numpy: _Text
    opendp: _Text
    python: _Text
    scipy: _Text


class _Mechanism(Struct):
    policy: Literal["paper", "noisy-newton"]
    issued: datetime.date
    versions: _Versions


class _Demand(Struct):
    name: Literal["logistic", "gaussian", "poisson"]
    slope: float
    bound: float
    noise: float | None


class _Features(Struct):
    map: Literal["main", "intercept", "interactions"]
    contexts: Annotated[int, Meta(ge=0, le=10_000)]


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
    delay: _Count
    demand: _Demand
    features: _Features
    horizon: _Count
    max_estimates: _Count
    noise: _Noise


class _BatchNoise(Struct):
    score: float
    curvature: float
    levels: Annotated[int, Meta(ge=0, le=MOST_LEVELS)]


class _BatchParameters(Struct):
    adjacency: Adjacency
    cap: Annotated[float, Meta(gt=0.0)]
    demand: _Demand
    features: _Features
    horizon: Annotated[int, Meta(ge=1, le=2**62)]
    noise: _BatchNoise


class _Delay(Struct):
    delay: _Count


class _Service(Struct):
    outcome_seconds: Annotated[float, Meta(gt=0.0)]
    product: _Text
    records_per_customer: Annotated[int, Meta(ge=1, le=MOST_RECORDS)] | None


class _Change(Struct):
    date: datetime.date
    what: Literal["freeze", "resume", "rules", "reference price", "restored backup"]
    detail: Annotated[str, Meta(max_length=LONGEST_DETAIL)]


class _Outside(Struct):
    changes: list[_Change]


class _Entry(Struct):
    count: _Count


class _Events(Struct):
    spent: Annotated[list[_Entry], Meta(min_length=1, max_length=2)]


class _Result(Struct):
    claimed: EpsilonDelta


_Kind = TypeVar("_Kind")


def facts_of(certificate: Certificate) -> Facts | BatchFacts:
    """The facts behind a certificate, each of its own type and within bounds, true or not."""
    mechanism = _read(certificate, "mechanism", _Mechanism)
    if mechanism.policy == "noisy-newton":
        return _batch_facts(certificate, mechanism)
    if certificate.format != 1:
        raise InvalidInput("mechanism.policy must be noisy-newton in a certificate of the pricing service")
    return _paper_facts(certificate, mechanism)


def _batch_facts(certificate: Certificate, mechanism: _Mechanism) -> BatchFacts:
    parameters = _read(certificate, "parameters", _BatchParameters)
    claimed = _read(certificate, "result", _Result).claimed
    noise = parameters.noise
    service = None if certificate.format == 1 else _service(certificate)
    return BatchFacts(
        issued=mechanism.issued,
        versions=msgspec.to_builtins(mechanism.versions),
        adjacency=parameters.adjacency,
        horizon=parameters.horizon,
        delay=_read(certificate, "parameters", _Delay).delay if service is None else 0,
        demand=_demand(parameters.demand),
        features=by_name(parameters.features.map, parameters.features.contexts),
        cap=parameters.cap,
        noise=BatchNoise(score=noise.score, curvature=noise.curvature, levels=noise.levels, claimed=claimed),
        service=service,
    )


def _service(certificate: Certificate) -> ServiceFacts:
    stated = _read(certificate, "parameters", _Service)
    changes = _read(certificate, OUTSIDE, _Outside).changes
    return ServiceFacts(
        product=stated.product,
        outcome_seconds=stated.outcome_seconds,
        records_per_customer=stated.records_per_customer,
        changes=tuple(ManualChange(date=each.date, what=each.what, detail=each.detail) for each in changes),
    )


def _paper_facts(certificate: Certificate, mechanism: _Mechanism) -> Facts:
    parameters = _read(certificate, "parameters", _Parameters)
    claimed = _read(certificate, "result", _Result).claimed
    spent = _read(certificate, "events", _Events).spent
    noise = parameters.noise
    return Facts(
        issued=mechanism.issued,
        versions=msgspec.to_builtins(mechanism.versions),
        calibration=parameters.calibration,
        adjacency=parameters.adjacency,
        horizon=parameters.horizon,
        delay=parameters.delay,
        demand=_demand(parameters.demand),
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


def _demand(stated: _Demand) -> Demand:
    """The built-in family with these constants. Gaussian demand has its slope from its noise."""
    if stated.name == "logistic":
        return families.Logistic(slope=stated.slope, bound=stated.bound)
    if stated.name == "poisson":
        return families.Poisson(slope=stated.slope, bound=stated.bound)
    if stated.noise is None:
        raise InvalidInput("parameters.demand.noise is missing for gaussian demand")
    return families.Gaussian(noise=stated.noise, bound=stated.bound)


def _read(certificate: Certificate, section: str, kind: type[_Kind]) -> _Kind:
    try:
        return msgspec.convert(certificate.content(section), kind)
    except msgspec.ValidationError as problem:
        raise InvalidInput(first_words(problem, section)) from None
