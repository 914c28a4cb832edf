"""A signed statement of what a pricer's prices can reveal, complete enough to be recomputed from the file alone.

Four sections in a fixed order, or five, each with a hash of its content and of all before it, and a signature over the
last hash (docs/guide/certificates.md). There is nothing in it that was computed from a record: how often a release
happened depends on releases alone, and how often a value was clipped is left out.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated, Any, Protocol, Self

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hushprice.errors import InvalidInput
from hushprice.privacy.certificates import canonical, signing
from hushprice.privacy.certificates.statements import plain
from hushprice.privacy.ledger import Ledger

OUTSIDE = "outside_the_guarantee"  # the fifth section of a service's certificate
_SECTIONS = ("mechanism", "parameters", "events", "result")
FORMATS = {1: _SECTIONS, 2: (*_SECTIONS, OUTSIDE)}  # 1: of a pricer; 2: of a product of the pricing service
SECTIONS = FORMATS[2]
FIRST = "0" * 64  # stands for the hash before the first section where no certificate came before


class Facts(Protocol):
    """What a certificate is calculated from; everything else in it follows. Each policy has its own."""

    @property
    def issued(self) -> datetime.date: ...

    def describe(self) -> dict[str, dict[str, Any]]:
        """The sections. Facts that do not add up are refused by the field."""
        ...

    def check_follows(self, before: Any) -> None:
        """Refuse facts in which something counted down since the certificate before."""
        ...


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
        """The content of the section of that name."""
        return self.sections[FORMATS[self.format].index(name)].content

    def to_json(self) -> str:
        """The certificate as the text of its file."""
        return canonical.render(msgspec.to_builtins(self))

    def write(self, path: str | Path) -> None:
        """Write the certificate to a new file: it is kept, the next one refers to it."""
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


def issue(facts: Facts, ledger: Ledger, key: Ed25519PrivateKey, previous: Certificate | None = None) -> Certificate:
    """Sign what the facts come to. The ledger must say the same of what was paid for and spent."""
    contents = facts.describe()
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
