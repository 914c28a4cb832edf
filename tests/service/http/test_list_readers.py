"""Answers about all products are for anybody, and long where there are many: made once for what is in them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.service.http.running import Running

from hushprice.service.http.routes import reports
from hushprice.service.quoting.priced_product import PricedProduct


@pytest.fixture
def viewed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Products of which a view was made."""
    names, real = [], PricedProduct.view

    def view(self: PricedProduct, **given: Any) -> Any:
        names.append(self.product.name)
        return real(self, **given)

    monkeypatch.setattr(PricedProduct, "view", view)
    return names


def test_a_list_is_made_once_until_something_in_it_changes(fresh: Running, viewed: list[str]) -> None:
    fresh.create(name="parcel")
    viewed.clear()
    first = [fresh.client(key).get("/v1/products").content for key in (None, "shop", "auditor", None)]
    assert (len(set(first)), viewed) == (1, ["umbrella", "parcel"])
    fresh.quote()
    fresh.look()
    changed = fresh.client().get("/v1/products").json()["products"]
    assert [each["quotes"] for each in changed] == [1, 0]
    assert len(viewed) == 4
    fresh.client("admin").post("/v1/products/umbrella/freeze")
    assert [each["status"] for each in fresh.client().get("/v1/products").json()["products"]] == ["frozen", "open"]


def test_the_unit_cost_is_in_the_admins_list_alone(fresh: Running) -> None:
    fresh.create(name="parcel", unit_cost=2.0)
    seen = {key: fresh.client(key).get("/v1/products").json()["products"][1] for key in ("admin", "shop", None)}
    assert [seen[key].get("unit_cost") for key in ("admin", "shop", None)] == [2.0, None, None]


def test_figures_of_all_products_follow_their_quotes(fresh: Running) -> None:
    assert [each["quotes"] for each in fresh.client().get("/v1/privacy").json()["products"]] == [0]
    fresh.quote()
    fresh.look()
    assert [each["quotes"] for each in fresh.client().get("/v1/privacy").json()["products"]] == [1]


def test_a_list_that_could_not_be_made_is_made_at_the_next_request(
    fresh: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(products: Any) -> Any:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(reports, "privacy_of_all", fail)
        assert fresh.client().get("/v1/privacy").status_code == 500
    assert fresh.client().get("/v1/privacy").status_code == 200
