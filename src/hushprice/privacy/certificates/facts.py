"""What a certificate states, read strictly: the entries that every policy's has. Its own are in its `statements.py`."""

from __future__ import annotations

import datetime
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from hushprice.demand import families
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.certificates.certificate import Certificate, first_words

Text = Annotated[str, Meta(min_length=1, max_length=100)]
Count = Annotated[int, Meta(ge=0, le=2**62)]


class Versions(Struct):
    """The software that ran."""

    hushprice: Text
    numpy: Text
    opendp: Text
    python: Text
    scipy: Text


class Mechanism(Struct):
    """Which policy ran, and when and with what this was said."""

    policy: Text
    issued: datetime.date
    versions: Versions


class StatedDemand(Struct):
    """A built-in demand family."""

    name: Literal["logistic", "gaussian", "poisson"]
    slope: float
    bound: float
    noise: float | None


class StatedFeatures(Struct):
    """A built-in feature map."""

    map: Literal["main", "intercept", "interactions"]
    contexts: Annotated[int, Meta(ge=0, le=10_000)]


class StatedResult(Struct):
    """What is claimed."""

    claimed: EpsilonDelta


Kind = TypeVar("Kind")


def demand_of(stated: StatedDemand) -> Demand:
    """The built-in family with these constants. Gaussian demand has its slope from its noise."""
    if stated.name == "logistic":
        return families.Logistic(slope=stated.slope, bound=stated.bound)
    if stated.name == "poisson":
        return families.Poisson(slope=stated.slope, bound=stated.bound)
    if stated.noise is None:
        raise InvalidInput("parameters.demand.noise is missing for gaussian demand")
    return families.Gaussian(noise=stated.noise, bound=stated.bound)


def read_section(certificate: Certificate, section: str, kind: type[Kind]) -> Kind:
    """A section's entries, each of its own type and within bounds, true or not."""
    try:
        return msgspec.convert(certificate.content(section), kind)
    except msgspec.ValidationError as problem:
        raise InvalidInput(first_words(problem, section)) from None
