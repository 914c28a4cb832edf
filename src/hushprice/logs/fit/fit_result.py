"""What a fit of a log found, what it cost, and its file."""

from __future__ import annotations

import datetime
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.logs.fit.fit_noise import FitNoise
from hushprice.logs.fit.passes_of_fit import FitState, played
from hushprice.policies.verification import verify
from hushprice.prior import ENTRY, Prior, digest, prior_of
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.certificates import canonical, signing
from hushprice.privacy.certificates.certificate import Certificate, issue
from hushprice.privacy.certificates.fit_facts import FitFacts
from hushprice.privacy.certificates.statements import versions
from hushprice.privacy.events import LogFit
from hushprice.privacy.ledger import Entry, Ledger
from hushprice.privacy.loss import loss_of
from hushprice.product import Product
from hushprice.types import FloatArray

FORMAT = "hushprice fit 1"
ROW, CUSTOMER = "row", "customer"  # whose protection a fit's budget is


@dataclass(frozen=True, kw_only=True)
class Fit:
    """N(theta, covariance) in the numbers of the product's model, sampling, noise and shrinkage all counted."""

    names: tuple[str, ...]  # of theta's entries
    theta: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    count: float  # units of the log: with noise, unless
    known: int | None  # their number is public, as that of rows is where neighbours replace one
    unit: str  # row or customer
    event: LogFit  # what was released, with its noise
    claimed: EpsilonDelta
    proven: EpsilonDelta
    adjacency: Adjacency
    releases: tuple[tuple[float, ...], ...]  # all that was ever published: the rest is computed from it
    product: dict[str, float]  # what theta is relative to: level, response, reference_price, reach, most
    schema: str | None = None  # the attributes, as canonical JSON
    simulated: bool = False  # noise from a seed protects nobody

    def __post_init__(self) -> None:
        checks.one_of((ROW, CUSTOMER), unit=self.unit)
        checks.vector(len(self.names), theta=self.theta)
        if not (self.proven.epsilon <= self.claimed.epsilon or self.simulated):
            raise InvalidInput(f"proven epsilon {self.proven.epsilon!r} is above what is claimed, {self.claimed}")
        if self.simulated == self.event.live:
            raise InvalidInput("event.live must be true of a fit with noise of its own, and of no simulated one")

    @property
    def rows_per_customer(self) -> int:
        """How many rows of a customer count, at most; 1 where a unit is a row."""
        return self.event.rows

    @property
    def coefficients(self) -> dict[str, float]:
        """theta by name."""
        return dict(zip(self.names, self.theta, strict=True))

    @property
    def standard_errors(self) -> dict[str, float]:
        """By name: of sampling, of the privacy noise, and of what was known before."""
        return {name: math.sqrt(row[i]) for i, (name, row) in enumerate(zip(self.names, self.covariance, strict=True))}

    @property
    def ledger(self) -> Ledger:
        """One event, paid and spent."""
        ledger = Ledger(adjacency=self.adjacency, claimed=self.claimed, allowance=(Entry(self.event, 1),))
        return ledger.spend(self.event)

    @property
    def digest(self) -> str:
        """SHA-256 of the content: what a prior and a certificate know it by."""
        return digest(self.to_dict())

    def prior(self, *, same_people: bool = True) -> Prior:
        """A first belief for a product; `same_people=False` says that nobody in the log can be a customer."""
        if self.simulated:
            raise InvalidInput("a simulated fit cannot be a prior: its noise protects nobody")
        return prior_of({**self.to_dict(), "same_people": same_people})

    def certificate(self, key: Ed25519PrivateKey, *, issued: datetime.date | None = None) -> Certificate:
        """A signed statement of what the fit cost, checked once before it is handed out."""
        if self.simulated:
            raise InvalidInput("a simulated fit cannot be certified: its noise protects nobody")
        facts = FitFacts(
            issued=datetime.datetime.now(datetime.UTC).date() if issued is None else issued,
            versions=versions(),
            adjacency=self.adjacency,
            unit=self.unit,
            contexts=len(self.theta) // 2 - 1,
            event=self.event,
            claimed=self.claimed,
            fit=self.digest,
        )
        certificate = issue(facts, self.ledger, key)
        verify(certificate, public_key=certificate.public_key)
        return certificate

    def recomputed(self, product: Product) -> FitState:
        """Everything once more, from the releases alone: no row is needed, and none is read."""
        noise = FitNoise(event=self.event, claimed=self.claimed, adjacency=self.adjacency)

        def no_row(*given: object) -> FloatArray:
            raise InvalidInput(f"releases must be all {len(self.event.releases)} of a fit")

        before = [checks.vector(len(each), releases=each) for each in self.releases]
        return played(product, noise, no_row, known=self.known, before=before)

    def to_dict(self) -> dict[str, Any]:
        """The file's content."""
        loss = loss_of(self.event, 1, self.adjacency)
        plain = asdict(self)
        return {
            "format": FORMAT,
            **{name: plain[name] for name in ("names", "count", "known", "unit", "releases", "simulated")},
            "event": plain["event"],
            "proven": plain["proven"],
            "standard_errors": self.standard_errors,
            ENTRY: {
                **self.product,
                **{name: plain[name] for name in ("theta", "covariance", "claimed", "schema")},
                "adjacency": self.adjacency.value,
                "mu": loss.mu,
                "numbers": loss.coordinates,
                "whole_person": self.unit == CUSTOMER,
            },
        }

    def to_json(self) -> str:
        """The file's text."""
        return canonical.render(msgspec.to_builtins(self.to_dict()))

    def write(self, path: str | Path) -> None:
        """To a new file, in one piece: another fit of the same rows is another budget, and gets another file."""
        signing.write_once(Path(path), self.to_json().encode(), 0o644, "fit")

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The fit in a file."""
        text = signing.read_file(Path(path), "fit")
        try:
            return cls._of(canonical.decode(text))
        except InvalidInput as problem:
            raise InvalidInput(f"fit {str(path)!r}: {problem}") from None

    @classmethod
    def _of(cls, content: Any) -> Self:
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise InvalidInput(f"it is not what `hushprice fit` wrote ({FORMAT!r})")
        try:
            read = msgspec.convert(content, _Content)
        except (msgspec.ValidationError, ValueError) as problem:
            raise InvalidInput(f"it does not add up: {problem}") from None
        prior = prior_of(content)
        return cls(
            names=read.names,
            theta=prior.theta,
            covariance=prior.covariance,
            count=read.count,
            known=read.known,
            unit=read.unit,
            event=read.event,
            claimed=prior.claimed,
            proven=read.proven,
            adjacency=prior.adjacency,
            releases=read.releases,
            product={name: getattr(prior, name) for name in ("level", "response", "reference_price", "reach", "most")},
            schema=prior.schema,
            simulated=read.simulated,
        )


class _Content(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    format: str
    names: tuple[str, ...]
    count: float
    known: int | None
    unit: str
    releases: tuple[tuple[float, ...], ...]
    simulated: bool
    event: LogFit
    proven: EpsilonDelta
    standard_errors: dict[str, float]
    prior: dict[str, Any]
