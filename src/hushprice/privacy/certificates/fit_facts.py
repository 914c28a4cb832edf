"""What a certificate of a fit says (logs/fit): there is no policy, no price and no horizon, and all of it is spent."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.certificates.certificate import Certificate
from hushprice.privacy.certificates.facts import Mechanism, StatedResult, read_section
from hushprice.privacy.certificates.statements import SOURCE, STATED, costs
from hushprice.privacy.events import LogFit
from hushprice.privacy.ledger import Entry

FIT = "fit"  # stands where the name of a policy does
MOST_CONTEXTS = 32  # of a product
_MOST_RELEASES = 64  # of a kind
_RELEASERS = {
    "description": "twice, each once: how many units there are and the first two moments of attributes and price, the "
    "second time in units of the first, held to a ball, with Gaussian noise",
    "guarantee": "(epsilon, delta)-differential privacy: what the fit publishes, about one unit of the log",
    "policy": FIT,
    "score": "of each pass, once: a sum of weighted residuals times instruments of length at most 1, with Gaussian "
    "noise",
}
UNPROVABLE = (
    "that the fit came from this program, unchanged, and that nothing else about the log was visible",
    "that every row was held to its declared bounds, and every customer to the declared number of rows",
    "that noise was drawn afresh, once, from the source named, and that no other fit of this log was made",
    "that one customer has one customer key; where a unit is a row, that one customer is one row",
)


def entries(contexts: int) -> tuple[int, int]:
    """Numbers in a description and in a score."""
    size = contexts + 1
    return 1 + size + size * (size + 1) // 2, 2 * size


@dataclass(frozen=True, kw_only=True, slots=True)
class FitFacts:
    """What a certificate of a fit is calculated from; everything else in it follows."""

    issued: datetime.date  # in UTC
    versions: Mapping[str, str]
    adjacency: Adjacency
    unit: str  # row or customer
    contexts: int
    event: LogFit
    claimed: EpsilonDelta
    fit: str  # SHA-256 of the fit's file

    def describe(self) -> dict[str, dict[str, Any]]:
        """The sections."""
        allowance = (Entry(self.event, 1),)
        return {
            "mechanism": {
                **_RELEASERS,
                "noise_source": {"label": SOURCE, "secure": True},
                "issued": self.issued.isoformat(),
                "versions": dict(self.versions),
            },
            "parameters": {
                "adjacency": self.adjacency.value,
                "contexts": int(self.contexts),
                "fit": self.fit,
                "noise": {
                    "description": [float(each) for each in self.event.description_noise],
                    "score": [float(each) for each in self.event.score_noise],
                },
                "rows_per_customer": int(self.event.rows),
                "sensitivities": {"description": 1.0, "score": 1.0},
                "unit": self.unit,
            },
            **costs(allowance, allowance, self.claimed, self.adjacency),
        }

    def check_follows(self, before: FitFacts) -> None:
        """Nothing in it counts."""


class _Noise(Struct):
    description: Annotated[list[float], Meta(min_length=1, max_length=_MOST_RELEASES)]
    score: Annotated[list[float], Meta(min_length=1, max_length=_MOST_RELEASES)]


class _Parameters(Struct):
    adjacency: Adjacency
    contexts: Annotated[int, Meta(ge=0, le=MOST_CONTEXTS)]
    fit: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    noise: _Noise
    rows_per_customer: Annotated[int, Meta(ge=1, le=2**30)]
    unit: Literal["row", "customer"]


def read(certificate: Certificate) -> FitFacts:
    """The facts behind a certificate, each of its own type and within bounds, true or not."""
    mechanism = read_section(certificate, "mechanism", Mechanism)
    parameters = read_section(certificate, "parameters", _Parameters)
    descriptions, scores = entries(parameters.contexts)
    return FitFacts(
        issued=mechanism.issued,
        versions=msgspec.to_builtins(mechanism.versions),
        adjacency=parameters.adjacency,
        unit=parameters.unit,
        contexts=parameters.contexts,
        event=LogFit(
            descriptions=descriptions,
            scores=scores,
            description_noise=tuple(parameters.noise.description),
            score_noise=tuple(parameters.noise.score),
            rows=parameters.rows_per_customer,
            live=True,
        ),
        claimed=read_section(certificate, "result", StatedResult).claimed,
        fit=parameters.fit,
    )


def stated(certificate: Certificate) -> dict[str, str]:
    """The fields that no arithmetic can check, and what each says."""
    return {
        **STATED,
        "parameters.fit": "SHA-256 of the fit's file",
        "parameters.unit": "whose protection this is: a row's or a customer's",
    }


def recomputed(certificate: Certificate) -> list[str]:
    """What writing the certificate a second time has shown, a line each."""
    parameters, result = certificate.content("parameters"), certificate.content("result")
    passes = len(parameters["noise"]["description"]) + len(parameters["noise"]["score"])
    proven, claimed = result["proven"], result["claimed"]
    return [
        f"sensitivities of a description and a score, neighbours {parameters['adjacency']}, recomputed",
        f"events recomputed: {passes} releases, grids, {parameters['rows_per_customer']} rows a unit at most",
        f"proven epsilon {proven['epsilon']:.6g} at delta {proven['delta']:g}, within the claim {claimed['epsilon']:g}",
    ]
