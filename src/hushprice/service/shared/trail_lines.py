"""The trail of what was done by hand as the command line lists it, compared with the digests in certificates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from hushprice.errors import InvalidInput
from hushprice.policies.verification import verify
from hushprice.privacy.certificates.certificate import OUTSIDE, Certificate
from hushprice.service.shared.times import rfc3339
from hushprice.service.store.trail import TrailEntry, heads


def lines(entries: Sequence[TrailEntry], certificates: Sequence[Path]) -> Iterator[str]:
    """A line an entry, its fields divided by tabs, then one a certificate; InvalidInput where they do not agree."""
    signed = [(file, signed_head(Certificate.read(file))) for file in certificates]
    for entry in entries:
        yield "\t".join((rfc3339(entry.at), entry.actor, entry.what, entry.about, entry.detail)).rstrip()
    known = list(heads(entries))
    for file, head in signed:
        if head not in known:
            raise InvalidInput(
                f"certificate {str(file)!r} was signed after entries that are not in the trail as it is now: "
                "it was changed, or an older backup was restored"
            )
        yield f"{str(file)!r} was signed after entry {known.index(head) + 1} of {len(known)}"


def signed_head(certificate: Certificate) -> str:
    """The digest of the trail in a certificate that holds."""
    verify(certificate)
    head = certificate.content(OUTSIDE).get("trail") if certificate.format == 2 else None
    if not isinstance(head, str):
        raise InvalidInput("certificate has no digest of a trail: it is not of a service that kept one")
    return head
