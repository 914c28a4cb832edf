"""Certificates: sound ones verify, and nothing in one can be changed without being caught or being on the list."""

from __future__ import annotations

import dataclasses
import datetime
import json
import pathlib
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.privacy.certificates.certificates import (
    CHANGES,
    KEY,
    STRANGER,
    field,
    leaves,
    make,
    make_batch_facts,
    make_facts,
    make_ledger,
    make_moment_facts,
    make_service_facts,
    parse,
    raw,
    replaced,
    resigned,
)

from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.errors import InvalidInput
from hushprice.noise import System
from hushprice.policies import verification
from hushprice.policies.cautious.statements import STATED as STATED_OF_CAUTIOUS
from hushprice.policies.newton.statements import STATED as STATED_OF_NEWTON
from hushprice.policies.paper.noise import without_noise
from hushprice.policies.paper.statements import STATED
from hushprice.policies.verification import UNPROVABLE, verify
from hushprice.privacy import accountant
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.certificates import batch_facts, canonical, certificate, signing, statements
from hushprice.privacy.certificates.batch_facts import ManualChange, ServiceFacts
from hushprice.privacy.certificates.certificate import Certificate
from hushprice.privacy.customers import guarantee_of
from hushprice.privacy.ledger import loss_of_all

STATED_OF_BATCHES = batch_facts.STATED_OF_PRICER | STATED_OF_NEWTON
STATED_OF_SERVICE = batch_facts.STATED_OF_SERVICE | STATED_OF_NEWTON
STATED_OF_MOMENTS = batch_facts.STATED_OF_PRICER | STATED_OF_CAUTIOUS
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
}
LEAVES = [
    pytest.param(which, path, id=f"{which}-{field(doc, path)}")
    for which, doc in DOCUMENTS.items()
    for path, _ in leaves(doc)
]
CHOICES = [
    ("printed", "published", "tight"),
    ("logistic", "gaussian", "poisson"),
    ("main", "intercept", "interactions"),
    ("tree", "toeplitz"),
    ("triangle", "frobenius"),
    ("replace-one", "zero-out"),
    (
        "CovarianceStream",
        "PerturbedEstimate",
        "Batches",
        "MomentBatches",
        "LaplaceBatches",
        "RowCounts",
        "LogSums",
        "NotPrivate",
    ),
    ("Tree", "Toeplitz"),
    ("2026-10-01", "2026-10-02"),
    ("2026-09-01", "2026-09-02"),
    ("2026-09-03", "2026-09-04"),
    ("freeze", "resume", "rules", "reference price", "restored backup"),
]


def others(value: Any) -> list[Any]:
    """Values somebody might put in place of this one."""
    return [other for other in _others(value) if (type(other), other) != (type(value), value)]


def refusal(text: bytes) -> str:
    """Why a certificate is refused; nothing where it is not."""
    try:
        verify(Certificate.parse(text))
    except InvalidInput as problem:
        return str(problem)
    return ""


def _others(value: Any) -> list[Any]:
    match value:
        case bool():
            return [not value, 1, None]
        case int():
            return [value + 1, value - 1, 0, 10**30, float(value), str(value), None]
        case float():
            return [value * 1.001, value * 0.999, value * (1 + 1e-7), -value - 1.0, 0.0, 1e308, 10**400, None]
        case str() if re.fullmatch("[0-9a-f]{64,}", value):
            return [value[:-1] + ("0" if value[-1] != "0" else "1"), value[:-1], value.upper() + "G", None]
        case str():
            named = [other for choice in CHOICES if value in choice for other in choice if other != value]
            return [*named, value + "x", "", 7]
        case _:
            return [1.0, 0.25, "0" * 64, "a" * 64, "x"]


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


def test_certificates_of_batches_follow_each_other_and_no_other_policys():
    later = make_batch_facts(issued=datetime.date(2026, 11, 1))
    verify(make(later, previous=BATCHES), previous=BATCHES)
    earlier = make_batch_facts(issued=datetime.date(2026, 9, 1))
    with pytest.raises(InvalidInput, match=r"^mechanism.issued is 2026-09-01, before"):
        verify(make(earlier, previous=BATCHES), previous=BATCHES)
    with pytest.raises(InvalidInput, match=r"^parameters"):
        verify(make(make_facts(), previous=BATCHES), previous=BATCHES)


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


def test_a_file_is_read_back_as_it_was_written(tmp_path):
    SOUND.write(tmp_path / "a.json")
    assert Certificate.read(tmp_path / "a.json") == SOUND
    with pytest.raises(InvalidInput, match="exists already and is not overwritten"):
        SOUND.write(tmp_path / "a.json")
    with pytest.raises(InvalidInput, match=r"^certificate '.*nowhere.json' cannot be read"):
        Certificate.read(tmp_path / "nowhere.json")
    (tmp_path / "b.json").write_text("[]")
    with pytest.raises(InvalidInput, match=r"^certificate '.*b.json': it is not a hushprice certificate$"):
        Certificate.read(tmp_path / "b.json")


@pytest.mark.beyond_coverage
@pytest.mark.parametrize(("which", "path"), LEAVES)
def test_a_changed_field_is_refused(which, path):
    document = DOCUMENTS[which]
    for value in others(dict(leaves(document))[path]):
        with pytest.raises(InvalidInput):
            verify(parse(replaced(document, path, value)))


NAMED = re.compile(
    "^$|^(format|previous|sections|(mechanism|parameters|events|result|outside_the_guarantee)[.][a-z]"
    "|it describes no mechanism: [a-z])"
)


@pytest.mark.parametrize(("which", "path"), LEAVES)
def test_a_forged_field_is_refused_by_name_or_is_merely_stated(which, path):
    document = DOCUMENTS[which]
    name = field(document, path)
    if path[-1] in ("public_key", "signature", "hash"):
        return  # the forger makes these anew
    changed = [replaced(document, path, value) for value in others(dict(leaves(document))[path])]
    refusals = [refusal(json.dumps(resigned(each)).encode()) for each in changed]
    assert [message for message in refusals if not NAMED.search(message)] == []
    # A weaker claim follows from a stronger proof, so it is no lie.
    stated = {
        "batches": STATED_OF_BATCHES,
        "service": STATED_OF_SERVICE,
        "uncapped": STATED_OF_SERVICE,
        "moments": STATED_OF_MOMENTS,
    }.get(which, STATED)
    merely = {*stated, "previous", "result.claimed.epsilon"}
    assert ("" in refusals) == (name in merely or name.startswith("outside_the_guarantee.changes["))


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


def test_certificates_follow_each_other():
    assert "it follows certificate" in verify(SOUND).stated["previous"]
    found = verify(SOUND, previous=FIRST)
    assert "no count went down" in found.holds[-1]
    assert "previous" not in found.stated


@pytest.mark.parametrize(
    ("later", "message"),
    [
        ({"estimates": 0}, "events.spent counts 0 estimates, the previous certificate 1"),
        ({"issued": datetime.date(2026, 8, 31)}, "mechanism.issued is 2026-08-31, before"),
        ({"delay": 5}, "parameters.delay is 5, but the previous certificate gives 4"),
        ({"horizon": 61}, "parameters.horizon is 61, but the previous certificate gives 60"),
    ],
)
def test_what_cannot_follow_is_refused(later, message):
    with pytest.raises(InvalidInput, match=r"^" + re.escape(message)):
        verify(make(make_facts(**later), previous=FIRST), previous=FIRST)


def test_a_weaker_claim_cannot_follow():
    weaker = replaced(DOCUMENTS["tight"], ("sections", 3, "content", "claimed", "epsilon"), 1.5)
    with pytest.raises(InvalidInput, match=r"^result.claimed.epsilon is 1.5, but the previous certificate gives 1.0"):
        verify(parse(resigned(weaker, KEY)), previous=FIRST)


def test_a_certificate_follows_the_one_it_names():
    with pytest.raises(InvalidInput, match=r"^previous is None, not the certificate given"):
        verify(FIRST, previous=SOUND)


def test_a_new_key_goes_on_with_the_chain_where_whoever_verifies_names_it():
    old, new = signing.public_half(KEY), signing.public_half(STRANGER)
    later = make(make_facts(), previous=FIRST, key=STRANGER)
    assert "another key, the one given" in verify(later, public_key=new, previous=FIRST).holds[-1]
    with pytest.raises(InvalidInput, match=f"^public_key is {new}, but the previous certificate's is {old}"):
        verify(later, previous=FIRST)
    with pytest.raises(InvalidInput, match=f"^public_key is {new}, not the key given, {old}"):
        verify(later, public_key=old, previous=FIRST)
    last = make(make_facts(), previous=later, key=STRANGER)
    assert "same key" in verify(last, public_key=new, previous=later).holds[-1]


def test_a_new_key_is_held_to_all_that_the_old_one_said():
    later = make(make_facts(estimates=0), previous=FIRST, key=STRANGER)
    with pytest.raises(InvalidInput, match=r"^events.spent counts 0 estimates"):
        verify(later, public_key=signing.public_half(STRANGER), previous=FIRST)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "it is not JSON: Expecting value"),
        (SOUND.to_json().encode()[:-40], "it is not JSON"),
        (b'{"format": NaN}', "NaN is not a number"),
        (b'{"format": 1e999}', "'1e999' is beyond every float"),
        (b'{"format": 1, "format": 1}', "the field 'format' occurs twice"),
        (b"\xff\xfe", "it is not UTF-8 text"),
        (b'{"format": "\\ud800"}', "it is not UTF-8 text"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b" " * 9_000_000, "it is 9000000 bytes long"),
        (b"[1]", "it is not a hushprice certificate"),
        (b'{"format": 3}', "format is 3; this version reads formats 1 and 2"),
        (b'{"format": true}', "format is True; this version reads formats 1 and 2"),
        (json.dumps({**DOCUMENTS["tight"], "format": 2}).encode(), "sections.name must be mechanism, parameters"),
        (json.dumps({**DOCUMENTS["service"], "format": 1}).encode(), "sections.name must be mechanism, parameters"),
        (b'{"format": 1}', "Object missing required field `previous`"),
        (json.dumps({**DOCUMENTS["tight"], "more": 1}).encode(), "Object contains unknown field `more`"),
        (json.dumps({**DOCUMENTS["tight"], "signature": 1}).encode(), "signature: Expected `str`, got `int`"),
        (json.dumps({**DOCUMENTS["tight"], "sections": []}).encode(), "sections.name must be mechanism, parameters"),
    ],
)
def test_what_is_no_certificate_is_refused_in_one_line(text, message):
    with pytest.raises(InvalidInput, match=r"^" + re.escape(message)) as caught:
        Certificate.parse(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ((1, "content", "extra"), 1, "parameters.extra is unknown"),
        ((1, "content", "demand", "name"), "mine", "parameters.demand.name: Invalid enum value 'mine'"),
        ((1, "content", "demand", "name"), "gaussian", "parameters.demand.noise is missing for gaussian demand"),
        ((1, "content", "horizon"), -1, "parameters.horizon: Expected `int` >= 0"),
        ((2, "content", "allowance"), [], "events.allowance is [], but the rest of the file gives"),
    ],
)
def test_a_wrong_content_is_refused_by_its_field(path, value, message):
    with pytest.raises(InvalidInput, match=r"^" + re.escape(message)):
        verify(parse(resigned(replaced(DOCUMENTS["tight"], ("sections", *path), value))))


def test_a_missing_field_is_named():
    document = replaced(DOCUMENTS["tight"], ("previous",), None)
    del document["sections"][1]["content"]["sensitivities"]["gradient"]
    with pytest.raises(InvalidInput, match=r"^parameters.sensitivities.gradient is missing"):
        verify(parse(resigned(document)))


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(text):
    with pytest.raises(InvalidInput):
        Certificate.parse(text)


TEXT = SOUND.to_json().encode()


@given(st.integers(0, len(TEXT) - 1), st.binary(max_size=3), st.integers(0, 3))
def test_changed_bytes_are_refused_unless_they_mean_the_same(position, put, cut):
    changed = TEXT[:position] + put + TEXT[position + cut :]
    refused = refusal(changed)
    assert "\n" not in refused
    assert refused or Certificate.parse(changed) == SOUND  # white space, or another spelling of a number or letter


def test_the_file_is_canonical():
    assert canonical.render(json.loads(TEXT)).encode() == TEXT
    hashed = canonical.encode(SOUND.content("result"))
    assert hashed == json.dumps(SOUND.content("result"), sort_keys=True, separators=(",", ":")).encode()


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
