"""Certificates: sound ones verify, and nothing in one can be changed without being caught or being on the list."""

from __future__ import annotations

import dataclasses
import datetime
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.accounting.certificates import (
    KEY,
    STRANGER,
    field,
    leaves,
    make,
    make_batch_facts,
    make_facts,
    make_ledger,
    parse,
    raw,
    replaced,
    resigned,
)

from hushprice.accounting import accountant, canonical, certificate, signing, statements, verification
from hushprice.accounting.adjacency import Adjacency
from hushprice.accounting.certificate import Certificate, describe
from hushprice.accounting.noise import without_noise
from hushprice.accounting.verification import STATED, STATED_OF_BATCHES, verify
from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.errors import InvalidInput
from hushprice.releasers.noise import System

FIRST = make(make_facts(estimates=1, issued=datetime.date(2026, 9, 1)))
SOUND = make(make_facts(), previous=FIRST)
LOOSE = make(make_facts("published", Gaussian(noise=1.5), Adjacency.ZERO_OUT, estimates=0))
BATCHES = make(make_batch_facts())
DOCUMENTS = {"tight": raw(SOUND), "published": raw(LOOSE), "batches": raw(BATCHES)}
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
    ("CovarianceStream", "PerturbedEstimate", "Batches", "NotPrivate"),
    ("Tree", "Toeplitz"),
    ("2026-10-01", "2026-10-02"),
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


def test_certificates_of_batches_follow_each_other_and_no_other_policys():
    later = make_batch_facts(issued=datetime.date(2026, 11, 1))
    verify(make(later, previous=BATCHES), previous=BATCHES)
    earlier = make_batch_facts(issued=datetime.date(2026, 9, 1))
    with pytest.raises(InvalidInput, match=r"^mechanism.issued is 2026-09-01, before"):
        verify(make(earlier, previous=BATCHES), previous=BATCHES)
    with pytest.raises(InvalidInput, match=r"^parameters"):
        verify(make(make_facts(), previous=BATCHES), previous=BATCHES)


@pytest.mark.parametrize(("which", "other"), [("tight", "noisy-newton"), ("batches", "paper")])
def test_a_certificate_of_one_policy_is_none_of_the_other(which, other):
    document = DOCUMENTS[which]
    path = next(path for path, _ in leaves(document) if field(document, path) == "mechanism.policy")
    with pytest.raises(InvalidInput, match=r"^parameters"):
        verify(parse(resigned(replaced(document, path, other))))


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


@pytest.mark.parametrize(("which", "path"), LEAVES)
def test_a_changed_field_is_refused(which, path):
    document = DOCUMENTS[which]
    for value in others(dict(leaves(document))[path]):
        with pytest.raises(InvalidInput):
            verify(parse(replaced(document, path, value)))


NAMED = re.compile(
    "^$|^(format|previous|sections|(mechanism|parameters|events|result)[.][a-z]|it describes no mechanism: [a-z])"
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
    stated = STATED_OF_BATCHES if which == "batches" else STATED
    assert ("" in refusals) == (name in {*stated, "previous", "result.claimed.epsilon"})


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
        describe(dataclasses.replace(make_facts(), noise=without_noise(10.0)))


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


def test_a_certificate_follows_the_one_it_names_and_under_one_key():
    with pytest.raises(InvalidInput, match=r"^previous is None, not the certificate given"):
        verify(FIRST, previous=SOUND)
    with pytest.raises(InvalidInput, match=r"^public_key is not that of the previous certificate"):
        verify(make(make_facts(), previous=FIRST, key=STRANGER), previous=FIRST)


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
        (b" " * 2_000_000, "it is 2000000 bytes long"),
        (b"[1]", "it is not a hushprice certificate"),
        (b'{"format": 2}', "format is 2; this version reads format 1"),
        (b'{"format": true}', "format is True; this version reads format 1"),
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
        describe(dataclasses.replace(make_facts(), horizon=2))
