"""Certificates of the pricing service: the guarantee of a customer, and changes by hand."""

from __future__ import annotations

import dataclasses
import datetime
import json
import re

import pytest
from tests.privacy.certificates.certificates import (
    CHANGES,
    KEY,
    make,
    make_batch_facts,
    make_ledger,
    make_service_facts,
    parse,
    replaced,
    resigned,
)
from tests.privacy.certificates.documents import (
    DOCUMENTS,
    SERVICE,
    STATED_OF_SERVICE,
    UNCAPPED,
)

from hushprice.errors import InvalidInput
from hushprice.policies.verification import UNPROVABLE, verify
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.certificates import signing
from hushprice.privacy.certificates.batch_facts import ManualChange
from hushprice.privacy.certificates.certificate import Certificate
from hushprice.privacy.customers import guarantee_of
from hushprice.privacy.ledger import loss_of_all


def test_a_services_certificate_states_the_guarantee_of_a_customer():
    found = verify(Certificate.parse(SERVICE.to_json().encode()), public_key=signing.public_half(KEY))
    loss = loss_of_all(make_ledger(make_service_facts()).allowance, Adjacency.REPLACE_ONE)
    assert found.customer == guarantee_of([(loss, 3)], 1e-6)
    assert found.customer.mu == pytest.approx(3 * loss.mu)
    assert found.customer.epsilon > 3 * found.proven.epsilon
    assert "proven for a customer with at most 3 records in this product: epsilon" in found.holds[-1]
    assert set(found.stated) == {*STATED_OF_SERVICE, "outside_the_guarantee"}
    assert len(set(UNPROVABLE) - set(found.unprovable)) == 1  # not a record each, but a key each
    assert verify(make(make_service_facts(1))).customer.epsilon == found.proven.epsilon
    assert "at most 1 record in this" in verify(make(make_service_facts(1))).holds[-1]


def test_a_service_without_a_cap_states_no_guarantee_of_a_customer():
    found = verify(UNCAPPED)
    assert found.customer is None
    assert found.unprovable[:-1] == UNPROVABLE
    assert "every change by hand" in found.unprovable[-1]
    assert found.stated["outside_the_guarantee"].endswith("no noise covers: 0")
    assert UNCAPPED.content("result")["customer"] is None


def test_a_cap_that_proves_nothing_is_stated_as_no_guarantee():
    facts = make_service_facts(10_000)
    facts = dataclasses.replace(
        facts, noise=dataclasses.replace(facts.noise, score=0.1, claimed=EpsilonDelta(1e6, 1e-6))
    )
    assert verify(make(facts)).customer is None


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (0, "parameters.records_per_customer: Expected `int` >= 1"),
        (10**9, "parameters.records_per_customer: Expected `int` <= 10000"),
        (2, "result.customer.epsilon is"),
        (None, "result.customer is {"),
    ],
)
def test_another_cap_than_the_customers_guarantee_is_about_is_refused(records, message):
    document = replaced(DOCUMENTS["service"], ("sections", 1, "content", "records_per_customer"), records)
    with pytest.raises(InvalidInput, match=r"^" + re.escape(message)):
        verify(parse(resigned(document)))


def test_a_customers_guarantee_cannot_be_left_out_or_made_up():
    left_out = replaced(DOCUMENTS["service"], ("sections", 3, "content", "customer"), None)
    with pytest.raises(InvalidInput, match=r"^result.customer is None, but the rest of the file gives"):
        verify(parse(resigned(left_out)))
    customer = DOCUMENTS["service"]["sections"][3]["content"]["customer"]
    made_up = replaced(DOCUMENTS["uncapped"], ("sections", 3, "content", "customer"), customer)
    with pytest.raises(InvalidInput, match=r"^result.customer is"):
        verify(parse(resigned(made_up)))


def test_changes_by_hand_are_listed_outside_the_guarantee():
    found = verify(SERVICE)
    assert found.outside_the_guarantee == (
        {"date": "2026-09-01", "what": "rules", "detail": '{"floor":5.0}'},
        {"date": "2026-09-03", "what": "freeze", "detail": ""},
    )
    assert found.stated["outside_the_guarantee"].endswith(": 2, last 2026-09-01 rules; 2026-09-03 freeze")
    assert json.loads(json.dumps(found.to_dict()))["customer"]["records"] == 3


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("changes", 0, "date"), "2026-09-04", "outside_the_guarantee.changes[0].date is 2026-09-04, after what"),
        (("changes", 1, "date"), "2026-10-02", "outside_the_guarantee.changes[1].date is 2026-10-02, after what"),
        (("changes", 1, "what"), "nothing", "outside_the_guarantee.changes[1].what: Invalid enum value 'nothing'"),
        (
            ("changes", 1, "detail"),
            "x" * 501,
            "outside_the_guarantee.changes[1].detail: Expected `str` of length <= 500",
        ),
        (("changes", 1, "more"), 1, "outside_the_guarantee.changes[1].more is unknown"),
        (("more",), 1, "outside_the_guarantee.more is unknown"),
    ],
)
def test_a_change_that_is_none_is_refused(place, value, message):
    document = replaced(DOCUMENTS["service"], ("sections", 4, "content", *place), value)
    with pytest.raises(InvalidInput, match=r"^" + re.escape(message)):
        verify(parse(resigned(document)))


def test_a_change_by_hand_once_listed_stays_listed():
    more = (*CHANGES, ManualChange(date=datetime.date(2026, 10, 5), what="resume", detail=""))
    later = datetime.date(2026, 11, 1)
    verify(make(make_service_facts(changes=more, issued=later), previous=SERVICE), previous=SERVICE)
    for fewer in ((), CHANGES[1:], (CHANGES[0], more[2])):
        with pytest.raises(InvalidInput, match=r"^outside_the_guarantee.changes must begin with all 2 of the previous"):
            verify(make(make_service_facts(changes=fewer, issued=later), previous=SERVICE), previous=SERVICE)


@pytest.mark.parametrize(
    "later",
    [make_service_facts(2), make_service_facts(None), make_service_facts(outcome_seconds=60.0), make_batch_facts()],
)
def test_a_services_certificate_follows_none_of_other_terms(later):
    with pytest.raises(InvalidInput, match=r"^parameters"):
        verify(make(later, previous=SERVICE), previous=SERVICE)
