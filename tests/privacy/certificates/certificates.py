"""Certificates for tests: sound ones, and ones re-signed by somebody who changed them."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import json
from collections.abc import Iterator
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hushprice.demand.families import Logistic
from hushprice.demand.features import by_name
from hushprice.demand.protocol import Demand
from hushprice.policies.cautious import noise as moment_noise
from hushprice.policies.cautious.statements import CautiousFacts
from hushprice.policies.newton import noise as batch_noise
from hushprice.policies.newton.statements import NewtonFacts
from hushprice.policies.paper.calibration import calibrate
from hushprice.policies.paper.noise import open_ledger
from hushprice.policies.paper.statements import PaperFacts
from hushprice.policies.protocol import Constants
from hushprice.policies.rival_parts.rival_policy import open_ledger as rival_ledger
from hushprice.policies.rival_parts.statements import RivalFacts
from hushprice.privacy import sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta, split
from hushprice.privacy.certificates import canonical, signing
from hushprice.privacy.certificates.batch_facts import ManualChange, ServiceFacts
from hushprice.privacy.certificates.certificate import FIRST, Certificate, issue
from hushprice.privacy.certificates.statements import versions
from hushprice.privacy.ledger import Entry, Ledger

KEY = Ed25519PrivateKey.from_private_bytes(b"operator's key, for tests alone!")
STRANGER = Ed25519PrivateKey.from_private_bytes(b"somebody else's key, to forge it")


def make_facts(
    calibration: str = "tight",
    demand: Demand | None = None,
    adjacency: Adjacency = Adjacency.REPLACE_ONE,
    *,
    estimates: int = 2,
    horizon: int = 60,
    max_estimates: int = 3,
    delay: int = 4,
    issued: datetime.date = datetime.date(2026, 10, 1),
) -> PaperFacts:
    demand = Logistic() if demand is None else demand
    features = by_name("main", 1)
    noise = calibrate(
        calibration,
        split(1.0, 1e-6),
        horizon=horizon,
        dimension=features.dimension,
        max_estimates=max_estimates,
        ridge=10.0,
        constants=Constants(bound=demand.bound, scale=demand.scale, curvature=demand.paper_curvature),
        losses=sensitivity.of_loss(demand),
        adjacency=adjacency,
    )
    return PaperFacts(
        issued=issued,
        versions=versions(),
        calibration=calibration,
        adjacency=adjacency,
        horizon=horizon,
        delay=delay,
        demand=demand,
        features=features,
        noise=noise,
        estimates=estimates,
    )


def make_batch_facts(
    demand: Demand | None = None,
    adjacency: Adjacency = Adjacency.REPLACE_ONE,
    *,
    issued: datetime.date = datetime.date(2026, 10, 1),
) -> NewtonFacts:
    return NewtonFacts(
        issued=issued,
        versions=versions(),
        adjacency=adjacency,
        horizon=60,
        delay=4,
        demand=Logistic() if demand is None else demand,
        features=by_name("main", 1),
        cap=0.7,
        noise=batch_noise.calibrate(EpsilonDelta(1.0, 1e-6), dimension=2, levels=5, adjacency=adjacency),
    )


def make_moment_facts(
    adjacency: Adjacency = Adjacency.REPLACE_ONE,
    *,
    issued: datetime.date = datetime.date(2026, 10, 1),
    service: ServiceFacts | None = None,
) -> CautiousFacts:
    claimed = EpsilonDelta(1.0, 1e-6)
    noise = moment_noise.calibrate(claimed, contexts=2, least=0.01, most=0.1, adjacency=adjacency)
    return CautiousFacts(
        issued=issued,
        versions=versions(),
        adjacency=adjacency,
        horizon=60,
        delay=0 if service is not None else 4,
        contexts=2,
        event=noise.event(2, live=True),
        claimed=claimed,
        service=service,
    )


CHANGES = (
    ManualChange(date=datetime.date(2026, 9, 1), what="rules", detail='{"floor":5.0}'),
    ManualChange(date=datetime.date(2026, 9, 3), what="freeze", detail=""),
)


def make_service_facts(
    records: int | None = 3,
    changes: tuple[ManualChange, ...] = CHANGES,
    *,
    issued: datetime.date = datetime.date(2026, 10, 1),
    outcome_seconds: float = 3600.0,
) -> NewtonFacts:
    service = ServiceFacts(
        product="shirt", outcome_seconds=outcome_seconds, records_per_customer=records, changes=changes
    )
    return dataclasses.replace(make_batch_facts(issued=issued), delay=0, service=service)


def make_rival_facts(policy: str = "almost-free", calibration: str | None = None, horizon: int = 60) -> RivalFacts:
    return RivalFacts(
        issued=datetime.date(2026, 10, 1),
        versions=versions(),
        adjacency=Adjacency.REPLACE_ONE,
        horizon=horizon,
        policy=policy,
        calibration=calibration,
        claimed=EpsilonDelta(1.0, 1e-6),
        demand=Logistic(),
        features=by_name("main", 1),
    )


AnyFacts = PaperFacts | NewtonFacts | CautiousFacts | RivalFacts


def make_ledger(facts: AnyFacts) -> Ledger:
    if isinstance(facts, RivalFacts):
        ledger = rival_ledger(facts.made().events, facts.claimed, facts.adjacency)
        for event in facts.made().events:
            ledger = ledger.spend(event)
        return ledger
    if isinstance(facts, CautiousFacts):
        open_once = Ledger(adjacency=facts.adjacency, claimed=facts.claimed, allowance=(Entry(facts.event, 1),))
        return open_once.spend(facts.event)
    if isinstance(facts, NewtonFacts):
        event = facts.noise.event(facts.features.dimension, live=True)
        return batch_noise.open_ledger(facts.noise, event, facts.adjacency).spend(event)
    assert facts.noise.max_estimates is not None
    ledger = open_ledger(
        facts.noise,
        horizon=facts.horizon,
        dimension=facts.features.dimension,
        losses=sensitivity.of_loss(facts.demand),
        max_estimates=facts.noise.max_estimates,
        live=True,
        adjacency=facts.adjacency,
    )
    assert ledger.allowance is not None
    stream, estimate = (entry.event for entry in ledger.allowance)
    ledger = ledger.spend(stream)
    return ledger.spend(estimate, facts.estimates) if facts.estimates else ledger


def make(facts: AnyFacts, previous: Certificate | None = None, key: Ed25519PrivateKey = KEY) -> Certificate:
    return issue(facts, make_ledger(facts), key, previous)


def raw(certificate: Certificate) -> dict[str, Any]:
    return json.loads(certificate.to_json())


def parse(document: Any) -> Certificate:
    return Certificate.parse(json.dumps(document).encode())


def resigned(document: dict[str, Any], key: Ed25519PrivateKey = STRANGER) -> dict[str, Any]:
    """The document with its hashes made to fit and a signature of one's own."""
    last = str(document["previous"] or FIRST)
    for section in document["sections"]:
        last = canonical.chained(last, section["content"])
        section["hash"] = last
    return {**document, "public_key": signing.public_half(key), "signature": signing.sign(key, last)}


Path = tuple[str | int, ...]


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every field that holds no other, with its path."""
    if isinstance(value, dict | list):
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*path, name))
    else:
        yield path, value


def replaced(document: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """A copy of the document with one field changed."""
    changed = copy.deepcopy(document)
    place: Any = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return changed


def field(document: dict[str, Any], path: Path) -> str:
    """The path as messages write it."""
    if path[0] != "sections":
        return str(path[0])
    name, inner = document["sections"][path[1]]["name"], path[3:] if path[2] == "content" else path[2:]
    return name + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in inner)
