"""Sound certificates of every kind, and why one is refused."""

from __future__ import annotations

import datetime

import pytest
from tests.privacy.certificates.certificates import (
    field,
    leaves,
    make,
    make_batch_facts,
    make_facts,
    make_moment_facts,
    make_rival_facts,
    make_service_facts,
    raw,
)

from hushprice.demand.families import Gaussian
from hushprice.errors import InvalidInput
from hushprice.policies.cautious.statements import STATED as STATED_OF_CAUTIOUS
from hushprice.policies.newton.statements import STATED as STATED_OF_NEWTON
from hushprice.policies.rival_parts.statements import STATED as STATED_OF_A_RIVAL
from hushprice.policies.verification import verify
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.certificates import batch_facts, statements
from hushprice.privacy.certificates.certificate import Certificate

STATED_OF_BATCHES = batch_facts.STATED_OF_PRICER | STATED_OF_NEWTON


STATED_OF_SERVICE = batch_facts.STATED_OF_SERVICE | STATED_OF_NEWTON


STATED_OF_MOMENTS = batch_facts.STATED_OF_PRICER | STATED_OF_CAUTIOUS


STATED_OF_RIVALS = statements.STATED | STATED_OF_A_RIVAL


FIRST = make(make_facts(estimates=1, issued=datetime.date(2026, 9, 1)))


SOUND = make(make_facts(), previous=FIRST)


LOOSE = make(make_facts("published", Gaussian(noise=1.5), Adjacency.ZERO_OUT, estimates=0))


BATCHES = make(make_batch_facts())


SERVICE = make(make_service_facts())


UNCAPPED = make(make_service_facts(None, ()))


DOCUMENTS = {
    "tight": raw(SOUND),
    "published": raw(LOOSE),
    "batches": raw(BATCHES),
    "service": raw(SERVICE),
    "uncapped": raw(UNCAPPED),
    "moments": raw(make(make_moment_facts())),
    "rival": raw(make(make_rival_facts())),
    "reports": raw(make(make_rival_facts("ldp-glm", "tight"))),
}


LEAVES = [
    pytest.param(which, path, id=f"{which}-{field(doc, path)}")
    for which, doc in DOCUMENTS.items()
    for path, _ in leaves(doc)
]


def refusal(text: bytes) -> str:
    """Why a certificate is refused; nothing where it is not."""
    try:
        verify(Certificate.parse(text))
    except InvalidInput as problem:
        return str(problem)
    return ""
