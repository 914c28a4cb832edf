"""From a live pricer to the facts its certificate is calculated from."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hushprice.demand.families import BUILT_IN
from hushprice.demand.features import MAPS, by_name
from hushprice.errors import InvalidInput
from hushprice.noise import System
from hushprice.policies.newton.private.exact_batches import ExactBatch
from hushprice.policies.newton.rules import Newton
from hushprice.policies.newton.statements import BatchFacts
from hushprice.policies.paper.calibration import CALIBRATIONS
from hushprice.policies.paper.private.estimate import PrivateMLE
from hushprice.policies.paper.private.exact_covariance import ExactCov
from hushprice.policies.protocol import NEWTON
from hushprice.privacy.certificates.certificate import Certificate, Facts, issue
from hushprice.privacy.certificates.statements import SOURCE, versions
from hushprice.privacy.certificates.verification import verify

if TYPE_CHECKING:
    from hushprice.live.pricer import Pricer


def certify(
    pricer: Pricer, key: Ed25519PrivateKey, *, issued: datetime.date | None, previous: Certificate | None
) -> Certificate:
    """A certificate of what the pricer has paid for and spent, checked once before it is handed out."""
    _refuse_uncertified(pricer)
    date = datetime.datetime.now(datetime.UTC).date() if issued is None else issued
    facts = _facts(pricer, date) if pricer.policy.newton is None else _batch_facts(pricer, pricer.policy.newton, date)
    certificate = issue(facts, pricer.ledger, key, previous)
    verify(certificate, previous=previous)
    return certificate


def _facts(pricer: Pricer, issued: datetime.date) -> Facts:
    assert pricer.policy.noise is not None  # a policy that learns has some
    return Facts(
        issued=issued,
        versions=versions(),
        calibration=str(pricer.policy.calibration),
        adjacency=pricer.policy.adjacency,
        horizon=pricer.horizon,
        delay=pricer.slots.delay,
        demand=pricer.demand,
        features=pricer.features,
        noise=pricer.policy.noise,
        estimates=pricer.ledger.count(pricer.learner.estimate_event),
    )


def _batch_facts(pricer: Pricer, rules: Newton, issued: datetime.date) -> BatchFacts:
    return BatchFacts(
        issued=issued,
        versions=versions(),
        adjacency=pricer.policy.adjacency,
        horizon=pricer.horizon,
        delay=pricer.slots.delay,
        demand=pricer.demand,
        features=pricer.features,
        cap=rules.cap,
        noise=rules.noise,
    )


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
    }
    if pricer.policy.code == NEWTON:
        own["batch"] = type(pricer.learner.batch) is ExactBatch
        own["policy"] = pricer.policy.name == "noisy-newton"
    else:
        own["covariance"] = type(pricer.learner.covariance) is ExactCov
        own["estimates"] = type(pricer.learner.estimates) is PrivateMLE
        own["policy"] = pricer.policy.name == "paper" and pricer.policy.calibration in CALIBRATIONS
    for part, known in own.items():
        if not known:
            raise InvalidInput(f"{part} is not one of hushprice's own, so the pricer cannot be certified")
