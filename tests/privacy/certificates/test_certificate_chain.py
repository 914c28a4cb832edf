"""A certificate follows the one before it, and no other."""

from __future__ import annotations

import datetime
import re

import pytest
from tests.privacy.certificates.certificates import (
    KEY,
    STRANGER,
    make,
    make_batch_facts,
    make_facts,
    parse,
    replaced,
    resigned,
)
from tests.privacy.certificates.documents import (
    BATCHES,
    DOCUMENTS,
    FIRST,
    SOUND,
)

from hushprice.errors import InvalidInput
from hushprice.policies.verification import verify
from hushprice.privacy.certificates import signing


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


def test_certificates_of_batches_follow_each_other_and_no_other_policys():
    later = make_batch_facts(issued=datetime.date(2026, 11, 1))
    verify(make(later, previous=BATCHES), previous=BATCHES)
    earlier = make_batch_facts(issued=datetime.date(2026, 9, 1))
    with pytest.raises(InvalidInput, match=r"^mechanism.issued is 2026-09-01, before"):
        verify(make(earlier, previous=BATCHES), previous=BATCHES)
    with pytest.raises(InvalidInput, match=r"^parameters"):
        verify(make(make_facts(), previous=BATCHES), previous=BATCHES)
