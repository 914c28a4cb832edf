"""A signed statement of what a pricer's prices can reveal, complete enough to be recomputed from the file alone.

Four sections in a fixed order, or five, each with a hash of its content and of all before it, and a signature over the
last hash (docs/guide/certificates.md). There is nothing in it that was computed from a record: how often a release
happened depends on releases alone, and how often a value was clipped is left out.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand, steepest
from hushprice.errors import InvalidInput
from hushprice.policies.newton.statements import OUTSIDE, BatchFacts, describe_batches
from hushprice.policies.paper import tolerance
from hushprice.policies.paper.noise import Noise, events
from hushprice.privacy import sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.certificates import canonical, signing
from hushprice.privacy.certificates.statements import bounded, constants, costs, mechanism, plain
from hushprice.privacy.ledger import Entry, Ledger

_SECTIONS = ("mechanism", "parameters", "events", "result")
FORMATS = {1: _SECTIONS, 2: (*_SECTIONS, OUTSIDE)}  # 1: of a pricer; 2: of a product of the pricing service
SECTIONS = FORMATS[2]
FIRST = "0" * 64  # stands for the hash before the first section where no certificate came before
MOST_ESTIMATES = 1_000_000  # more take minutes to account for, so a file could keep its reader busy for ever

_RELEASERS = {
    "covariance": "PrivateCov: every sum of phi phi', with Gaussian noise (alg:private-cov)",
    "estimate": "PrivateMLE: objective perturbation over ||theta|| <= 2, then output noise (alg:private-mle)",
    "policy": "paper",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
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


def describe(facts: Facts | BatchFacts) -> dict[str, dict[str, Any]]:
    """The sections. Facts that do not add up are refused by the field."""
    if isinstance(facts, BatchFacts):
        return describe_batches(facts)
    noise, dimension = facts.noise, facts.features.dimension
    if noise.claimed is None or noise.max_estimates is None:
        raise InvalidInput("result.claimed is missing: nothing is claimed, so there is nothing to certify")
    if noise.max_estimates > MOST_ESTIMATES:
        raise InvalidInput(f"parameters.max_estimates is {noise.max_estimates}, above {MOST_ESTIMATES}")
    if not 0 <= facts.estimates <= noise.max_estimates:
        raise InvalidInput(f"events.spent[1].count is {facts.estimates}, more than were paid for")
    if facts.estimates > max(0, facts.horizon - facts.delay - 1):
        raise InvalidInput(f"events.spent[1].count is {facts.estimates}, more than there were records to learn from")
    losses = sensitivity.of_loss(facts.demand)
    stream, estimate = events(noise, horizon=facts.horizon, dimension=dimension, losses=losses, live=True)
    allowance = (Entry(stream, 1), Entry(estimate, noise.max_estimates))
    spent = allowance[:1] if facts.estimates == 0 else (allowance[0], Entry(estimate, facts.estimates))
    return {
        "mechanism": mechanism(_RELEASERS, facts.issued, facts.versions),
        "parameters": _parameters(facts, losses, estimate),
        **costs(allowance, spent, noise.claimed, facts.adjacency),
    }


def _parameters(facts: Facts, losses: sensitivity.LossBounds, estimate: Any) -> dict[str, Any]:
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


_Hash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One link of the chain."""

    name: str
    content: dict[str, Any]
    hash: _Hash


class Certificate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A certificate as it stands in its file, verified or not: `verification.verify` says which."""

    format: int
    previous: _Hash | None  # the last hash of the certificate before this one
    sections: list[Section]
    public_key: str
    signature: str

    @property
    def hash(self) -> str:
        """The last hash, which stands for the whole."""
        return self.sections[-1].hash

    def content(self, name: str) -> dict[str, Any]:
        """One section."""
        return self.sections[FORMATS[self.format].index(name)].content

    def to_json(self) -> str:
        """The file's text."""
        return canonical.render(msgspec.to_builtins(self))

    def write(self, path: str | Path) -> None:
        """To a new file: certificates are kept, the next one refers to this."""
        signing.write_once(Path(path), self.to_json().encode(), 0o644, "certificate")

    @classmethod
    def parse(cls, text: bytes) -> Self:
        """A certificate of the right shape; whether it is true is another question."""
        raw = canonical.decode(text)
        if not isinstance(raw, dict) or "format" not in raw:
            raise InvalidInput("it is not a hushprice certificate")
        if type(raw["format"]) is not int or raw["format"] not in FORMATS:
            raise InvalidInput(f"format is {raw['format']!r:.20}; this version reads formats 1 and 2")
        try:
            read = msgspec.convert(raw, cls)
        except msgspec.ValidationError as problem:
            raise InvalidInput(first_words(problem)) from None
        names = FORMATS[read.format]
        if tuple(section.name for section in read.sections) != names:
            raise InvalidInput(f"sections.name must be {', '.join(names)}, in this order")
        if read.previous == FIRST:  # it would hash like none at all
            raise InvalidInput("previous: no certificate has this hash")
        return read

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The certificate in a file."""
        text = signing.read_file(Path(path), "certificate")
        try:
            return cls.parse(text)
        except InvalidInput as problem:
            raise InvalidInput(f"certificate {str(path)!r}: {problem}") from None


def issue(
    facts: Facts | BatchFacts, ledger: Ledger, key: Ed25519PrivateKey, previous: Certificate | None = None
) -> Certificate:
    """Sign what the facts come to. The ledger must say the same of what was paid for and spent."""
    contents = describe(facts)
    stated = {"allowance": plain(ledger.allowance), "spent": plain(ledger.spent)}
    found = canonical.difference(stated, contents["events"], "ledger")
    if found is not None:
        raise InvalidInput(found)
    before = None if previous is None else previous.hash
    sections, last = [], before or FIRST
    chosen = next(number for number, names in FORMATS.items() if names == tuple(contents))
    for name in FORMATS[chosen]:
        last = canonical.chained(last, contents[name])
        sections.append(Section(name, contents[name], last))
    return Certificate(
        format=chosen,
        previous=before,
        sections=sections,
        public_key=signing.public_half(key),
        signature=signing.sign(key, last),
    )


def first_words(problem: msgspec.ValidationError, where: str = "") -> str:
    """msgspec's message with the field first."""
    what, _, place = str(problem).partition(" - at `$")
    field = f"{where}{place.rstrip('`')}".lstrip(".")
    return f"{field}: {what}" if field else what
