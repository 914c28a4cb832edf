"""Certificates say whom customers have to trust, and are verified from the file."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.policies.cautious.test_reports import AGGREGATED, CENTRAL, LOCAL, SHUFFLE, product, rules_of

from hushprice.errors import InvalidInput
from hushprice.policies.cautious.noise import open_ledger
from hushprice.policies.cautious.policy import cautious_policy
from hushprice.policies.cautious.statements import CautiousFacts, facts_of_policy
from hushprice.policies.verification import verify
from hushprice.privacy.certificates import signing
from hushprice.privacy.certificates.certificate import Certificate, issue
from hushprice.privacy.events import NotPrivate

KEY = Ed25519PrivateKey.generate()
TODAY = datetime.datetime.now(datetime.UTC).date()


class Forged:
    """Facts of which one section is told otherwise, and signed."""

    def __init__(self, facts: CautiousFacts, section: str, edit: dict[str, Any]) -> None:
        self._facts, self._section, self._edit = facts, section, edit
        self.issued = facts.issued

    def describe(self) -> dict[str, dict[str, Any]]:
        told = self._facts.describe()
        told[self._section].update(self._edit)
        return told

    def check_follows(self, before: Any) -> None: ...


def issued(trust: str) -> Certificate:
    rules = rules_of(trust)
    event = rules.event(live=True)
    facts = facts_of_policy(cautious_policy(product(2), rules), TODAY, horizon=10_000)
    return issue(facts, open_ledger(rules.noise, event).spend(event), KEY)


@pytest.mark.parametrize("trust", [LOCAL, SHUFFLE, AGGREGATED])
def test_a_certificate_says_whom_to_trust_and_is_verified(trust: str) -> None:
    made = issued(trust)
    found = verify(Certificate.parse(made.to_json().encode()), public_key=signing.public_half(KEY))
    assert made.content("parameters")["trust"] == trust
    assert found.proven is not None
    assert 0.999 < found.proven.epsilon <= 1.0
    if trust == AGGREGATED:
        assert made.content("parameters")["noise"] == issued(CENTRAL).content("parameters")["noise"]
        assert "two, given shares" in made.content("mechanism")["aggregators"]
    else:
        assert "one bit" in made.content("mechanism")["score"]
    assert "trust" not in issued(CENTRAL).to_json()


@pytest.mark.parametrize("trust", [LOCAL, SHUFFLE, AGGREGATED])
def test_a_certificate_that_says_another_model_or_more_truth_does_not_hold(trust: str) -> None:
    for section, edit in (
        ("parameters", {"trust": {LOCAL: SHUFFLE, SHUFFLE: LOCAL, AGGREGATED: "central"}[trust]}),
        ("parameters", {"bits": {"steps": [{"among": 1, "keep": 0.9}], "delta": None}}),
    ):
        rules = rules_of(trust)
        facts = facts_of_policy(cautious_policy(product(2), rules), TODAY, horizon=10_000)
        ledger = open_ledger(rules.noise, facts.event).spend(facts.event)
        forged = issue(Forged(facts, section, edit), ledger, KEY)
        with pytest.raises(InvalidInput):
            verify(forged)


def test_nothing_is_certified_of_an_event_that_is_not_the_policys() -> None:
    rules = rules_of(CENTRAL)
    facts = facts_of_policy(cautious_policy(product(2), rules), TODAY, horizon=10_000)
    object.__setattr__(facts, "event", NotPrivate())
    with pytest.raises(InvalidInput, match="cannot be about"):
        facts.describe()
