"""How the event of policy cautious stands in a certificate, and how it is read back from there."""

from __future__ import annotations

import math
from typing import Annotated, Any

from msgspec import Meta, Struct

from hushprice.errors import InvalidInput
from hushprice.policies.cautious.noise import aggregated
from hushprice.policies.cautious.pricing import population
from hushprice.privacy import sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.certificates.certificate import Certificate
from hushprice.privacy.certificates.facts import read_section
from hushprice.privacy.events import (
    AggregatedBatches,
    BitReports,
    Event,
    LaplaceBatches,
    MomentBatches,
    ShuffledBits,
)
from hushprice.product import MOST_CONTEXTS

StatedEvent = LaplaceBatches | MomentBatches | BitReports | ShuffledBits  # MomentBatches before there was Laplace noise
MOST_CHOICES = 16
MOST_STEPS = 64


def trust_of(event: Event) -> str:
    """The trust model that an event is of."""
    match event:
        case BitReports():
            return "local"
        case ShuffledBits():
            return "shuffle"
        case AggregatedBatches():
            return "aggregated"
    return "central"


def describe(event: Event, adjacency: Adjacency) -> dict[str, Any]:
    """As a certificate says it."""
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


class StatedCost(Struct):
    """What a fit cost."""

    epsilon: float
    delta: float
    mu: float | None
    numbers: Annotated[int, Meta(ge=0, le=2**36)]
    whole_person: bool


class PriorSection(Struct):
    """The fit that prices start from."""

    fit: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    same_people: bool
    cost: StatedCost | None = None


class Shared(Struct):
    """What the parameters of every such certificate have."""

    adjacency: Adjacency
    contexts: Annotated[int, Meta(ge=0, le=MOST_CONTEXTS)]
    horizon: Annotated[int, Meta(ge=1, le=2**62)]
    prior: PriorSection | None = None


class _Parameters(Shared, kw_only=True):
    least: float
    most: float
    noise: _Noise


class _Step(Struct):
    among: Annotated[int, Meta(ge=1, le=2**40)]
    keep: float


class _Bits(Struct):
    steps: Annotated[list[_Step], Meta(min_length=1, max_length=MOST_STEPS)]
    delta: float | None


class _BitParameters(Shared, kw_only=True):
    bits: _Bits


class _GaussianParameters(Shared, kw_only=True):
    largest: float
    noise: _GaussianNoise
    own: Annotated[list[float], Meta(min_length=1, max_length=MOST_CHOICES)]


def read_event(certificate: Certificate) -> StatedEvent:
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
