"""From a live pricer to the facts its certificate is calculated from."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hushprice.demand.families import BUILT_IN
from hushprice.demand.features import MAPS, by_name
from hushprice.errors import InvalidInput
from hushprice.noise import System
from hushprice.policies.protocol import part
from hushprice.policies.verification import verify
from hushprice.privacy.certificates.certificate import Certificate, issue
from hushprice.privacy.certificates.statements import SOURCE

if TYPE_CHECKING:
    from hushprice.live.pricer import Pricer


def certify(
    pricer: Pricer, key: Ed25519PrivateKey, *, issued: datetime.date | None, previous: Certificate | None
) -> Certificate:
    """A certificate of what the pricer has paid for and spent, checked once before it is handed out."""
    _refuse_uncertified(pricer)
    date = datetime.datetime.now(datetime.UTC).date() if issued is None else issued
    facts = part(pricer.policy, "statements").facts_of(pricer, date)
    certificate = issue(facts, pricer.ledger, key, previous)
    verify(certificate, public_key=certificate.public_key, previous=previous)  # which may be of an earlier key
    return certificate


def _refuse_uncertified(pricer: Pricer) -> None:
    """Only what this package wrote can be vouched for; a part of one's own is on its author's word."""
    source, features = pricer.source, pricer.features
    if source.simulated:
        raise InvalidInput(f"source {source.label!r} cannot be certified: simulated noise protects nobody")
    if not pricer.policy.private:
        raise InvalidInput(f"policy {pricer.policy.name!r} cannot be certified: it claims nothing")
    own = {
        "demand": type(pricer.demand) in BUILT_IN.values(),
        "features": features.name in MAPS and features == by_name(features.name, features.contexts),
        "source": type(source) is System and source.label == SOURCE and source.secure,
        **pricer.engine.own_parts(certified=True),
        "policy": part(pricer.policy, "statements").is_certified(pricer.policy),
    }
    for name, known in own.items():
        if not known:
            raise InvalidInput(f"{name} is not one of hushprice's own, so the pricer cannot be certified")
