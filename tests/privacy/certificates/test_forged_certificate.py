"""Nothing in a certificate can be changed without being caught or being on the list."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.privacy.certificates.certificates import (
    field,
    leaves,
    parse,
    replaced,
    resigned,
)
from tests.privacy.certificates.documents import (
    DOCUMENTS,
    LEAVES,
    SOUND,
    STATED_OF_BATCHES,
    STATED_OF_MOMENTS,
    STATED_OF_RIVALS,
    STATED_OF_SERVICE,
    refusal,
)

from hushprice.errors import InvalidInput
from hushprice.policies.paper.statements import STATED
from hushprice.policies.verification import verify
from hushprice.privacy.certificates import canonical
from hushprice.privacy.certificates.certificate import Certificate

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


# Of other fields no branch is reached that these do not reach.
FORGED = [
    leaf
    if leaf.id.endswith(("-previous", "-mechanism.policy"))
    else pytest.param(*leaf.values, id=leaf.id, marks=pytest.mark.beyond_coverage)
    for leaf in LEAVES
]


@pytest.mark.parametrize(("which", "path"), FORGED)
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
        "rival": STATED_OF_RIVALS,
        "reports": STATED_OF_RIVALS,
    }.get(which, STATED)
    weaker = () if which in ("rival", "reports") else ("result.claimed.epsilon",)  # whose noise follows from its claim
    merely = {*stated, *weaker, "previous"}
    assert ("" in refusals) == (name in merely or name.startswith("outside_the_guarantee.changes["))


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
