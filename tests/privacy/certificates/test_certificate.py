"""Certificates: sound ones verify, and numbers that do not add up are refused."""

from __future__ import annotations

import dataclasses
import datetime
import json
import pathlib

import pytest
from tests.privacy.certificates.certificates import (
    KEY,
    field,
    leaves,
    make,
    make_batch_facts,
    make_facts,
    make_ledger,
    make_moment_facts,
    parse,
    replaced,
    resigned,
)
from tests.privacy.certificates.documents import (
    DOCUMENTS,
    SOUND,
    STATED_OF_BATCHES,
)

from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.errors import InvalidInput
from hushprice.noise import System
from hushprice.policies import verification
from hushprice.policies.paper.noise import without_noise
from hushprice.policies.paper.statements import STATED
from hushprice.policies.verification import verify
from hushprice.privacy import accountant
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.certificates import certificate, signing, statements
from hushprice.privacy.certificates.batch_facts import ServiceFacts
from hushprice.privacy.certificates.certificate import Certificate


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("calibration", ["printed", "published", "tight"])
@pytest.mark.parametrize(
    "demand", [Logistic(slope=2, bound=1), Gaussian(noise=0.7), Poisson()], ids=lambda each: each.name
)
@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("estimates", [0, 3])
def test_a_certificate_verifies(calibration, demand, adjacency, estimates):
    facts = make_facts(calibration, demand, adjacency, estimates=estimates)
    issued = make(facts)
    found = verify(Certificate.parse(issued.to_json().encode()), public_key=signing.public_half(KEY))
    ledger = make_ledger(facts)
    assert found.claimed == ledger.claimed
    assert found.proven == ledger.proven
    assert found.spent.epsilon == ledger.epsilon(1e-6)
    assert "public key given" in found.holds[0]
    assert set(found.stated) == set(STATED)


@pytest.mark.parametrize(
    "demand", [Logistic(slope=2, bound=1), Gaussian(noise=0.7), Poisson()], ids=lambda each: each.name
)
@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_a_certificate_of_batches_verifies(demand, adjacency):
    facts = make_batch_facts(demand, adjacency)
    found = verify(Certificate.parse(make(facts).to_json().encode()))
    ledger = make_ledger(facts)
    assert (found.claimed, found.proven) == (ledger.claimed, ledger.proven)
    assert found.spent == found.proven  # paid at the start
    assert set(found.stated) == set(STATED_OF_BATCHES)


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("service", [None, ServiceFacts(product="shirt", outcome_seconds=9.0, records_per_customer=3)])
def test_a_certificate_of_moments_verifies(adjacency, service):
    facts = make_moment_facts(adjacency, service=service)
    found = verify(Certificate.parse(make(facts).to_json().encode()))
    ledger = make_ledger(facts)
    assert (found.claimed, found.proven) == (ledger.claimed, ledger.proven)
    assert found.spent == found.proven  # paid at the start
    assert ("parameters.delay" in found.stated) == (service is None)
    assert (found.customer is None) == (service is None)
    later = dataclasses.replace(facts, issued=datetime.date(2026, 11, 1))
    verify(make(later, previous=make(facts)), previous=make(facts))


@pytest.mark.parametrize(
    ("which", "other", "where"),
    [
        ("tight", "noisy-newton", "parameters"),
        ("batches", "paper", "parameters"),
        ("batches", "cautious", "parameters"),
        ("moments", "noisy-newton", "parameters"),
        ("service", "paper", "mechanism"),
    ],
)
def test_a_certificate_of_one_policy_is_none_of_the_other(which, other, where):
    document = DOCUMENTS[which]
    path = next(path for path, _ in leaves(document) if field(document, path) == "mechanism.policy")
    with pytest.raises(InvalidInput, match=f"^{where}"):
        verify(parse(resigned(replaced(document, path, other))))


def test_the_list_of_what_is_merely_stated():
    assert set(STATED) == {
        "mechanism.issued",
        "mechanism.versions.hushprice",
        "mechanism.versions.numpy",
        "mechanism.versions.opendp",
        "mechanism.versions.python",
        "mechanism.versions.scipy",
        "parameters.calibration",
        "parameters.delay",
    }


def test_what_is_merely_stated_of_batches():
    assert set(STATED_OF_BATCHES) == set(STATED) - {"parameters.calibration"} | {
        "parameters.cap",
        "parameters.demand.bound",
        "parameters.demand.name",
        "parameters.demand.slope",
        "parameters.horizon",
    }


def test_a_claim_below_what_is_proven_is_refused():
    document = DOCUMENTS["tight"]
    low = replaced(document, ("sections", 3, "content", "claimed", "epsilon"), 0.5)
    with pytest.raises(InvalidInput, match=r"^result.claimed.epsilon is 0.5, below what is proven, "):
        verify(parse(resigned(low)))


def test_more_spent_than_paid_for_is_refused():
    high = replaced(DOCUMENTS["tight"], ("sections", 2, "content", "spent", 1, "count"), 4)
    with pytest.raises(InvalidInput, match=r"^events.spent\[1\].count is 4, more than were paid for"):
        verify(parse(resigned(high)))


def test_nothing_is_certified_where_nothing_is_claimed():
    with pytest.raises(InvalidInput, match="nothing is claimed"):
        dataclasses.replace(make_facts(), noise=without_noise(10.0)).describe()


def test_a_ledger_that_says_otherwise_is_refused():
    facts = make_facts()
    with pytest.raises(InvalidInput, match=r"^ledger.spent\[1\].count is 2"):
        certificate.issue(dataclasses.replace(facts, estimates=1), make_ledger(facts), KEY)


def test_too_many_estimates_are_refused_before_they_cost_time():
    many = replaced(DOCUMENTS["tight"], ("sections", 1, "content", "max_estimates"), 10**9)
    with pytest.raises(InvalidInput, match="max_estimates is 1000000000, above 1000000"):
        verify(parse(resigned(many)))


def test_numbers_no_mechanism_has_are_refused(monkeypatch):
    monkeypatch.setattr(accountant, "epsilon_of", lambda *_: 1 / 0)
    with pytest.raises(InvalidInput, match="it describes no mechanism: division by zero"):
        verify(SOUND)


def test_last_digits_may_differ_and_no_more():
    path = ("sections", 3, "content", "proven", "epsilon")
    proven = dict(leaves(DOCUMENTS["tight"]))[path]
    verify(parse(resigned(replaced(DOCUMENTS["tight"], path, proven * (1 + 5e-10)))))
    with pytest.raises(InvalidInput, match=r"^result.proven.epsilon"):
        verify(parse(resigned(replaced(DOCUMENTS["tight"], path, proven * (1 + 5e-9)))))


def test_another_version_is_named_where_numbers_differ():
    document = replaced(DOCUMENTS["tight"], ("sections", 0, "content", "versions", "hushprice"), "0.0.9")
    document = replaced(document, ("sections", 1, "content", "sensitivities", "gradient"), 3.0)
    with pytest.raises(InvalidInput, match=r"\(issued by hushprice 0.0.9, verified by "):
        verify(parse(resigned(document)))


def test_whose_key_it_is_matters_only_if_one_asks():
    forged = parse(resigned(DOCUMENTS["tight"]))
    assert "tells nothing about who holds it" in verify(forged).holds[0]
    with pytest.raises(InvalidInput, match=r"^public_key is [0-9a-f]{64}, not the key given"):
        verify(forged, public_key=signing.public_half(KEY))


def test_the_certified_source_is_the_live_one():
    assert System.label == statements.SOURCE
    assert System.secure


def test_a_report_is_plain_data():
    found = verify(SOUND).to_dict()
    assert json.loads(json.dumps(found)) == json.loads(json.dumps(found))
    assert found["unprovable"] == verification.UNPROVABLE


def test_more_estimates_than_records_to_learn_from_are_refused():
    with pytest.raises(InvalidInput, match=r"^events.spent\[1\].count is 2, more than there were records"):
        dataclasses.replace(make_facts(), horizon=2).describe()


@pytest.mark.parametrize("name", ["batches", "paper"])
def test_certificates_of_the_first_format_still_verify(name):
    found = verify(Certificate.read(pathlib.Path(__file__).parent / f"format_1_{name}.json"))
    assert (found.customer, found.outside_the_guarantee) == (None, ())
    assert found.claimed == EpsilonDelta(1.0, 1e-6)


@pytest.mark.parametrize("name", ["gaussian_moments", "gaussian_moments_service"])
def test_certificates_of_cautious_from_before_there_was_laplace_noise_still_verify(name):
    """Written by that version. What an event of then says is what it said."""
    certificate = Certificate.read(pathlib.Path(__file__).parent / f"{name}.json")
    found = verify(certificate)
    assert found.claimed == EpsilonDelta(1.0, 1e-6)
    assert certificate.content("events")["allowance"][0]["event"]["class"] == "MomentBatches"
    assert 0.999 < found.proven.epsilon <= 1.0
    assert (found.customer is None) == (name == "gaussian_moments")


def test_certificates_of_before_the_holdout_had_a_scale_of_its_own_still_verify():
    """Written by that version, which gave both groups the same noise and charged both."""
    certificate = Certificate.read(pathlib.Path(__file__).parent / "laplace_one_scale.json")
    found = verify(certificate)
    event = certificate.content("events")["allowance"][0]["event"]
    assert event["class"] == "LaplaceBatches"
    assert "holdout_scale" not in event
    assert 0.999 < found.proven.epsilon <= 1.0
    today = make(make_moment_facts()).content("events")["allowance"][0]["event"]
    assert today["holdout_scale"] < 0.1 * today["earnings_scale"]


def test_attributes_that_are_left_out_are_null_in_a_certificate():
    """JSON has no infinity."""
    certificate = make(make_moment_facts())
    scales = certificate.content("parameters")["noise"]["scales"]
    event = certificate.content("events")["allowance"][0]["event"]
    assert event["scales"] == [[each["common"], each["personal"]] for each in scales]
    assert None in [each["personal"] for each in scales]
