"""Is a certificate true? Everything in it is computed again from the file alone, and what cannot be is said so.

From a few entries, which the policy's `statements.py` reads, the whole certificate is written a second time and
compared field by field. So a field is either compared, or one of those entries; and every one of these moves something
that is compared, except what `stated` lists, and the claim, which may be weaker than what is proven.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from types import ModuleType
from typing import Any

import msgspec
import numpy as np

from hushprice.errors import HushpriceError, InvalidInput, first_line
from hushprice.policies import POLICIES
from hushprice.policies.catalog import statements as policy_statements
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.certificates import canonical, fit_facts, signing
from hushprice.privacy.certificates.certificate import FIRST, OUTSIDE, SECTIONS, Certificate, Facts
from hushprice.privacy.certificates.facts import Mechanism, read_section
from hushprice.privacy.certificates.statements import versions
from hushprice.privacy.customers import CustomerGuarantee

_ONE_RECORD = "that one customer is one record: who comes k times is protected k times less"
_ONE_KEY = "that one customer has one customer key: who has k of them is protected k times less"
_ALL_CHANGES = "that every change by hand that moved prices is listed as outside the guarantee"

UNPROVABLE = (
    "that the shop's prices came from this program, unchanged, and from no other use of the records",
    "that every record was held to ||phi|| <= 1 and to the demand's bounds before it was used",
    "that noise was drawn afresh, once, from the source named, and that no old copy of the pricer lived on",
    _ONE_RECORD,
    "that nothing else about the records was visible: the time a quote took, error messages, logs, clip counts",
    "that the customer's own price stayed between the shop and that customer",
    "that successive certificates are about one pricer, and that there is no other pricer over the same customers",
)


class _Result(msgspec.Struct):
    claimed: EpsilonDelta
    proven: EpsilonDelta
    spent: EpsilonDelta
    customer: CustomerGuarantee | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Verified:
    """A certificate that adds up: what that shows, what it merely states, and what no file can show."""

    claimed: EpsilonDelta
    proven: EpsilonDelta
    spent: EpsilonDelta
    customer: CustomerGuarantee | None = None  # of all records of a customer, where their number is capped
    holds: tuple[str, ...]
    stated: dict[str, str]  # the field, and what it says
    unprovable: tuple[str, ...]
    outside_the_guarantee: tuple[dict[str, str], ...] = ()  # changes by hand, as stated

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain values, for JSON."""
        return asdict(self)


def verify(certificate: Certificate, *, public_key: str | None = None, previous: Certificate | None = None) -> Verified:
    """What this certificate shows; one that does not add up is refused by the field.

    `public_key` (hexadecimal) is whose signature it must be; `previous` is the certificate it must follow. One that
    follows under a new key needs `public_key`: what vouches for a new key is that its owner has named it, no file.
    """
    _check_chain(certificate)
    if public_key not in (None, certificate.public_key):
        raise InvalidInput(f"public_key is {certificate.public_key}, not the key given, {public_key}")
    recompute(certificate)
    policy = certificate.content("mechanism")["policy"]
    service, says = certificate.format == 2, _statements(policy)
    holds = [*_signature(public_key is not None), *says.recomputed(certificate)]
    stated = {field: _shown(certificate, field, what) for field, what in says.stated(certificate).items()}
    changes = certificate.content(OUTSIDE)["changes"] if service else []
    if service:
        stated[OUTSIDE] = _listed(changes)
    if previous is not None:
        verify(previous)
        _check_follows(certificate, previous, named=public_key is not None)
        signer = "same key" if certificate.public_key == previous.public_key else "another key, the one given"
        holds.append(f"it follows certificate {previous.hash[:16]}...: same parameters, {signer}, no count went down")
    elif certificate.previous is not None:
        stated["previous"] = f"it follows certificate {certificate.previous[:16]}..., which was not given"
    result = msgspec.convert(certificate.content("result"), _Result)
    return Verified(
        **{name: getattr(result, name) for name in result.__struct_fields__},
        holds=tuple(holds),
        stated=stated,
        unprovable=fit_facts.UNPROVABLE if policy == fit_facts.FIT else _unprovable(service, bool(result.customer)),
        outside_the_guarantee=tuple(changes),
    )


def _unprovable(service: bool, capped: bool) -> tuple[str, ...]:
    lines = tuple(_ONE_KEY if capped and line == _ONE_RECORD else line for line in UNPROVABLE)
    return (*lines, _ALL_CHANGES) if service else lines


def facts_of(certificate: Certificate) -> Facts:
    """The facts behind a certificate, each of its own type and within bounds, true or not."""
    policy = read_section(certificate, "mechanism", Mechanism).policy
    if policy not in (*POLICIES, fit_facts.FIT):
        raise InvalidInput(f"mechanism.policy is {policy!r:.40}, which this version does not know")
    facts: Facts = _statements(policy).read(certificate)
    return facts


def _statements(policy: str) -> ModuleType:
    """What certificates of this policy say, or those of a fit, which no policy made."""
    return fit_facts if policy == fit_facts.FIT else policy_statements(policy)


def recompute(certificate: Certificate) -> None:
    """Write the certificate a second time, and refuse it where the two differ."""
    try:
        with np.errstate(all="ignore"):  # a number too large is found out below, and needs no warning
            expected = facts_of(certificate).describe()
    except (HushpriceError, ArithmeticError, ValueError) as problem:
        message = first_line(problem)
        if message.startswith(SECTIONS):
            raise InvalidInput(message) from None
        raise InvalidInput(f"it describes no mechanism: {message}") from None  # a negative slope, an infinite distance
    for name in expected:
        found = canonical.difference(certificate.content(name), expected[name], name)
        if found is not None:
            raise InvalidInput(found + _other_version(certificate))


def _check_chain(certificate: Certificate) -> None:
    last = certificate.previous or FIRST
    for section in certificate.sections:
        last = canonical.chained(last, section.content)
        if section.hash != last:
            raise InvalidInput(f"{section.name}.hash does not match: this section or what comes before it was changed")
    if not signing.is_signed(certificate.public_key, certificate.signature, certificate.hash):
        raise InvalidInput("signature is not one of public_key over the last hash")


def _check_follows(certificate: Certificate, previous: Certificate, *, named: bool) -> None:
    """Refuse what cannot follow. `named`: whoever verifies has named the key of the later one.

    The signature covers `previous`, and so all that the certificate before says: the holder of a new key vouches for
    the whole chain, and nothing of the old key is needed, which may be lost.
    """
    if certificate.previous != previous.hash:
        raise InvalidInput(f"previous is {certificate.previous}, not the certificate given, {previous.hash}")
    if certificate.public_key != previous.public_key and not named:
        raise InvalidInput(
            f"public_key is {certificate.public_key}, but the previous certificate's is {previous.public_key}: "
            "give the new public key as its owner has made it known"
        )
    unchanged = canonical.difference(certificate.content("parameters"), previous.content("parameters"), "parameters")
    claims = canonical.difference(
        certificate.content("result")["claimed"], previous.content("result")["claimed"], "result.claimed"
    )
    for found in (unchanged, claims):
        if found is not None:
            raise InvalidInput(found.replace("the rest of the file", "the previous certificate"))
    now, before = facts_of(certificate), facts_of(previous)
    if now.issued < before.issued:
        raise InvalidInput(f"mechanism.issued is {now.issued}, before the previous certificate's {before.issued}")
    now.check_follows(before)
    if certificate.format == 2:  # so is the previous one, by its parameters
        listed, earlier = (each.content(OUTSIDE)["changes"] for each in (certificate, previous))
        if listed[: len(earlier)] != earlier:
            raise InvalidInput(f"{OUTSIDE}.changes must begin with all {len(earlier)} of the previous certificate")


def _signature(known: bool) -> list[str]:
    if known:
        return ["unchanged since it was signed with the public key given: hash chain and signature"]
    under = "under the key inside the file, which tells nothing about who holds it (give --public-key for that)"
    return [f"unchanged since it was signed: hash chain and signature, {under}"]


def _listed(changes: list[dict[str, str]]) -> str:
    """How many, and the last few."""
    last = "; ".join(f"{each['date']} {each['what']}" for each in changes[-5:])
    return f"changes by hand that moved prices, which no noise covers: {len(changes)}" + (f", last {last}" * bool(last))


def _shown(certificate: Certificate, field: str, what: str) -> str:
    section, *names = field.split(".")
    value: Any = certificate.content(section)
    for name in names:
        value = value[name]
    return f"{what}: {value}"


def _other_version(certificate: Certificate) -> str:
    """A later version may count differently; then the certificate is to be checked with the version that issued it."""
    issuer, ours = certificate.content("mechanism")["versions"]["hushprice"], versions()["hushprice"]
    return "" if issuer == ours else f" (issued by hushprice {issuer}, verified by {ours})"
