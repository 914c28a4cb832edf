"""Certificates of a product: from its declaration, its learner's ledger and the changes made by hand."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.service.products import SCHEMA, make_product

from hushprice.errors import InvalidInput
from hushprice.noise import System
from hushprice.policies.newton.noise import open_ledger
from hushprice.policies.newton.private.learner import NewtonLearner
from hushprice.policies.verification import verify
from hushprice.privacy.certificates import signing
from hushprice.privacy.certificates.certificate import Certificate
from hushprice.privacy.customers import guarantee_of
from hushprice.privacy.ledger import Ledger
from hushprice.service.shared.certificates import certify, customer_of, customers_of, facts_of, loss_of_product
from hushprice.service.shared.product import Product, demand_of, features_of, policy_of
from hushprice.service.store.values import Change

KEY = Ed25519PrivateKey.generate()
DATE = datetime.date(2026, 10, 1)
CHANGES = [
    Change("shirt", 1.78e9, "rules", '{"floor":5.0}'),
    Change("shirt", 1.785e9, "freeze", ""),
]


def ledger_of(product: Product) -> Ledger:
    """As the product's live learner has it."""
    policy = policy_of(product)
    assert policy.rules is not None
    return NewtonLearner(
        demand=demand_of(product), dimension=features_of(product).dimension, rules=policy.rules, source=System()
    ).ledger


def made(product: Product, **changes: Any) -> Certificate:
    given: dict[str, Any] = {"ledger": ledger_of(product), "changes": [], "key": KEY, "issued": DATE}
    return certify(product, **given | changes)


@pytest.mark.parametrize(
    "changes",
    [{}, {"schema": SCHEMA, "records_per_customer": 4}, {"family": "poisson", "unit_cost": 3.0, "epsilon": 0.3}],
    ids=str,
)
def test_a_products_certificate_is_its_learners_ledger(changes: dict[str, Any]) -> None:
    product = make_product(**changes)
    issued = made(product, changes=CHANGES)
    found = verify(Certificate.parse(issued.to_json().encode()), public_key=signing.public_half(KEY))
    assert (found.claimed, found.proven) == (policy_of(product).claimed, policy_of(product).proven)
    assert found.customer == customer_of(product)
    assert [each["what"] for each in found.outside_the_guarantee] == ["rules", "freeze"]
    parameters = issued.content("parameters")
    assert (parameters["product"], parameters["outcome_seconds"]) == ("shirt", 3600.0)
    assert "delay" not in parameters


def test_who_verifies_reads_that_a_claim_covers_one_history_of_those_that_overlap() -> None:
    product = make_product()
    lines = []
    for changes in ([], [Change("shirt", 1.78e9, "lost notes", "")]):
        issued = made(product, changes=changes).to_json().encode()
        found = verify(Certificate.parse(issued), public_key=signing.public_half(KEY))
        assert (found.proven.epsilon > found.claimed.epsilon) == bool(changes)
        lines += [line for line in found.holds if line.startswith("claimed covers")]
    assert [line.split(":")[0] for line in lines] == ["claimed covers proven", "claimed covers one history"]
    assert "2 may overlap" in lines[1]


def test_certificates_of_a_product_follow_each_other() -> None:
    product = make_product(records_per_customer=2)
    first = made(product, changes=CHANGES[:1])
    second = made(product, changes=CHANGES, previous=first)
    assert "it follows certificate" in verify(second, previous=first).holds[-1]
    with pytest.raises(InvalidInput, match=r"^outside_the_guarantee.changes must begin with all 2"):
        made(product, changes=CHANGES[1:], previous=second)
    with pytest.raises(InvalidInput, match=r"^parameters.records_per_customer"):
        made(make_product(records_per_customer=3), changes=CHANGES, previous=second)


def test_a_clock_that_goes_back_moves_no_change_before_another() -> None:
    ahead = [*CHANGES, Change("shirt", 1.8e9, "resume", ""), Change("shirt", 1.7e9, "freeze", "")]
    issued = made(make_product(), changes=ahead)
    dates = [each["date"] for each in issued.content("outside_the_guarantee")["changes"]]
    assert dates == ["2026-05-28", "2026-07-25", "2027-01-15", "2027-01-15"]
    assert issued.content("mechanism")["issued"] == "2027-01-15"


def test_a_long_detail_is_cut_and_said_to_be() -> None:
    issued = made(make_product(), changes=[Change("shirt", 1.78e9, "rules", "x" * 5000)])
    assert issued.content("outside_the_guarantee")["changes"][0]["detail"] == "x" * 497 + "..."


def test_another_ledger_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^ledger"):
        made(make_product(), ledger=ledger_of(make_product(epsilon=2.0)))
    rules = policy_of(make_product()).rules
    assert rules is not None
    unspent = open_ledger(rules.noise, rules.noise.event(4, live=True), policy_of(make_product()).adjacency)
    with pytest.raises(InvalidInput, match=r"^ledger.spent"):
        made(make_product(), ledger=unspent)


def test_a_fixed_price_has_no_certificate_and_no_customers_figure() -> None:
    product = make_product(policy="fixed", records_per_customer=3)
    with pytest.raises(InvalidInput, match="policy 'fixed' cannot be certified"):
        facts_of(product, [], DATE)
    assert customer_of(product) is None
    assert loss_of_product(product).mu == 0.0


def test_a_customer_of_several_products_has_the_root_of_the_sum_of_squares() -> None:
    one, other = make_product(records_per_customer=2), make_product(epsilon=0.5, delta=1e-7, records_per_customer=5)
    fixed = make_product(policy="fixed")
    found = customers_of([(one, 0), (fixed, 0), (other, 0)])
    assert found == guarantee_of([(loss_of_product(one), 2), (loss_of_product(other), 5)], 2e-10)
    assert customers_of([(one, 0), (other, 0)], 1e-6) == guarantee_of(
        [(loss_of_product(one), 2), (loss_of_product(other), 5)], 1e-6
    )
    single = [customer_of(product) for product in (one, other)]
    assert found is not None
    assert found.mu**2 == pytest.approx(sum(each.mu**2 for each in single if each is not None))


def test_one_product_without_a_cap_leaves_nothing_to_promise_a_customer() -> None:
    assert customer_of(make_product()) is None
    assert customers_of([(make_product(records_per_customer=2), 0), (make_product(), 0)]) is None
    assert customers_of([]) is None
    assert customer_of(make_product(records_per_customer=10_000, epsilon=50.0)) is None  # infinite
    kept = customer_of(make_product(records_per_customer=1))
    proven = policy_of(make_product()).proven
    assert kept is not None
    assert proven is not None
    assert kept.epsilon == proven.epsilon
