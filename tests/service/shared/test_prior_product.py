"""A product of the service that starts from a fit: declared, priced, restarted, and what it promises."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.priors import CLAIMED, MU, prior_for
from tests.service.cautious_runs import cautious_spec, learn, priced, serve
from tests.service.learning_runs import Shop

from hushprice import Product as ShopProduct
from hushprice.errors import InvalidInput
from hushprice.policies.verification import verify
from hushprice.prior import digest
from hushprice.privacy.customers import guarantee_of
from hushprice.privacy.loss import Loss
from hushprice.service.quoting.privacy_figures import privacy_of
from hushprice.service.shared.certificates import certify, customer_of, customers_of, loss_of_product, proven_of
from hushprice.service.shared.product import Product
from hushprice.service.shared.product_checks import check

SAME = ShopProduct(floor=8.0, ceiling=12.0, reference_price=10.0, conversion=0.4, contexts=2)
KEY = Ed25519PrivateKey.generate()


def fit(**changes: Any) -> dict[str, Any]:
    """The content of a fit's file."""
    entry = prior_for(SAME, theta=[0.5, 0.1, 0.0, 0.3, 0.0, 0.1], **changes).to_dict()
    return {"prior": {name: value for name, value in entry.items() if name not in ("fit", "same_people")}, "rows": 9}


def declared(**changes: Any) -> Product:
    return msgspec.json.decode(cautious_spec(**{"prior": fit()} | changes), type=Product)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    opened = Shop(tmp_path, cautious_spec(prior=fit()))
    yield opened
    opened.close()


def test_of_a_fits_file_what_prices_start_from_is_kept_with_its_digest() -> None:
    product = declared()
    check(product)
    assert product.prior is not None
    assert product.prior["fit"] == digest(fit())
    again = msgspec.json.decode(msgspec.json.encode(product), type=Product)
    assert again == product
    apart = declared(prior=fit() | {"same_people": False})
    assert apart.prior is not None
    assert (apart.prior["fit"], apart.prior["same_people"]) == (product.prior["fit"], False)


@pytest.mark.parametrize(
    ("given", "message"),
    [({"prior": {}}, "prior"), ({"theta": []}, "prior must be what"), (fit() | {"same_people": 2}, "same_people")],
)
def test_what_is_no_fit_is_refused(given: Any, message: str) -> None:
    with pytest.raises((InvalidInput, msgspec.ValidationError), match=message):
        declared(prior=given)


def test_a_fit_is_for_policy_cautious_and_for_the_same_attributes() -> None:
    with pytest.raises(InvalidInput, match="prior is for policy 'cautious'"):
        check(msgspec.structs.replace(declared(), policy="fixed", conversion=None, floor=None))
    with pytest.raises(InvalidInput, match="prior must be about the product's 3 contexts"):
        check(declared(contexts=3))


def test_prices_start_from_the_fit_and_a_restart_changes_nothing(shop: Shop) -> None:
    cold = msgspec.structs.replace(declared(), prior=None)
    assert priced(shop).product != cold
    assert np.abs(priced(shop).quoter.belief.theta).max() > 0.1  # type: ignore[union-attr]
    first = priced(shop).quoter.warm.weighed  # type: ignore[union-attr]
    serve(shop, 60)
    learn(shop)
    before: Any = shop.learner()._engine
    after: Any = shop.learner()._engine
    assert before.quoter.warm.weighed == after.quoter.warm.weighed != first
    for one, other in zip(before.quoter.warm.beliefs, after.quoter.warm.beliefs, strict=True):
        np.testing.assert_array_equal(one.theta, other.theta)
        np.testing.assert_array_equal(one.covariance, other.covariance)
    np.testing.assert_array_equal(before.quoter.belief.theta, priced(shop).quoter.belief.theta)  # type: ignore[union-attr]


def test_privacy_states_the_sum_from_the_first_moment(shop: Shop) -> None:
    first = privacy_of(priced(shop))
    assert first.claimed is not None
    assert first.claimed.epsilon == 300.0 + CLAIMED.epsilon
    assert first.spent is not None
    assert (first.spent.epsilon, first.spent.delta) == (CLAIMED.epsilon, CLAIMED.delta)
    assert "its budget, epsilon 0.5 at delta 1e-07, is in these figures" in first.note
    serve(shop, 60)
    learn(shop)
    later = privacy_of(priced(shop))
    assert later.spent == later.proven
    product = declared()
    overlapping = proven_of(product, 1)
    assert overlapping.epsilon > proven_of(product, 0).epsilon
    certificate = certify(product, ledger=shop.learner().ledger, changes=[], key=KEY)  # type: ignore[arg-type]
    found = verify(certificate)
    assert later.claimed is not None
    assert (found.claimed.epsilon, found.claimed.delta) == (later.claimed.epsilon, later.claimed.delta)
    assert found.proven == proven_of(product, 0)
    assert json.loads(certificate.to_json())["sections"][1]["content"]["prior"]["fit"] == digest(fit())


def test_a_log_of_others_adds_nothing(tmp_path: Path) -> None:
    apart = Shop(tmp_path, cautious_spec(prior=fit() | {"same_people": False}))
    found = privacy_of(priced(apart))
    assert found.claimed is not None
    assert found.claimed.epsilon == 300.0
    assert "no customer is in it" in found.note
    apart.close()


def test_a_customer_is_promised_something_only_where_the_fit_covers_the_whole_person() -> None:
    capped = {"records_per_customer": 2, "epsilon": 1.0}
    assert customer_of(declared(**capped)) is None
    whole = declared(**capped, prior=fit(whole_person=True))
    found = customer_of(whole)
    assert found is not None
    expected = guarantee_of([(loss_of_product(whole), 2)], found.delta, [Loss(mu_squared=MU * MU, coordinates=40)])
    assert found.mu == pytest.approx(expected.mu)
    twice = customers_of([(whole, 0), (msgspec.structs.replace(whole, name="coffee"), 0)], found.delta)
    assert twice is not None
    once = Loss(mu_squared=MU * MU, coordinates=40)  # of the fit, which was released once
    assert twice.mu == pytest.approx(guarantee_of([(loss_of_product(whole), 2)] * 2, found.delta, [once]).mu)
