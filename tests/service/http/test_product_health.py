"""How a product does, over real connections: the call, the metrics, and the line in the log."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from tests.service.http.running import Running
from tests.service.http.test_cautious import SCARF, learn, quoted

from hushprice.policies.cautious.pricing import health as pricing_health
from hushprice.service.quoting import product_health
from hushprice.service.quoting.product_health import in_the_log

HAT: dict[str, Any] = {**SCARF, "most": None, "holdout": 0.3, "unit_cost": 5.0}


def test_before_anything_is_released_it_says_what_prices_do_and_what_is_not_known(fresh: Running) -> None:
    assert fresh.client("admin").post("/v1/products", json=HAT).status_code == 201
    found = fresh.client().get("/v1/products/scarf/health").json()
    assert (found["status"], found["label"], found["batches"]) == ("learning", "public", 0)
    assert found["words"].startswith("A coin sets ")
    assert found["conversion"] is None
    assert found["not_known"] == [
        "conversion",
        "recent_conversion",
        "at_dearer_price",
        "at_cheaper_price",
        "by_believed_demand",
        "gain",
    ]


def test_after_a_release_it_is_believed_against_observed(
    fresh: Running, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin, shop, anybody = fresh.client("admin"), fresh.client("shop"), fresh.client()
    assert admin.post("/v1/products", json=HAT).status_code == 201
    given = quoted(fresh)
    for quote in given[:40]:
        assert shop.post(f"/v1/quotes/{quote['id']}/outcome", json={"purchased": True}).status_code == 200
    learn(fresh)
    found = anybody.get("/v1/products/scarf/health").json()
    assert (found["label"], found["batches"], found["recent_batches"]) == ("noised", 1, 1)
    fit = found["conversion"]
    assert fit["believed"] == pytest.approx(0.4, abs=0.02)
    assert fit["observed"]["low"] < 40 / 48 < fit["observed"]["high"]
    assert found["recent_conversion"] == fit
    assert fit["customers"] == sum(each["price"] != 25.0 for each in given[:48])
    # What a visit earns tells the unit cost, which is for admins.
    assert found["earnings"] is None
    told = admin.get("/v1/products/scarf/health").json()
    assert told["earnings"]["holdout"]["estimate"] == pytest.approx(20.0 * 40 / 48, abs=8.0)

    text = admin.get("/metrics").text
    assert f'hushprice_product_status{{product="scarf",status="{found["status"]}"}} 1' in text
    assert f'hushprice_conversion{{product="scarf",of="observed"}} {fit["observed"]["estimate"]:g}' in text
    believed = found["by_believed_demand"]
    assert ('hushprice_calibration{product="scarf",of="believed"}' in text) == (believed is not None)
    assert 'hushprice_self_freezes_total{product="scarf"} 0' in text
    assert f'hushprice_misfit{{product="scarf"}} {int(found["misfit"])}' in text

    caplog.set_level(logging.INFO, "hushprice")
    monkeypatch.setattr(pricing_health, "MISFIT", -1.0)
    admin.post("/v1/products/scarf/freeze")
    admin.post("/v1/products/scarf/resume")
    said = anybody.get("/v1/products/scarf/health").json()
    assert said["misfit"]
    assert "was believed, beyond noise and chance" in said["words"]
    odd = "product scarf: visitors lately buy otherwise than believed, beyond noise and chance"
    assert caplog.messages.count(odd) == 1
    monkeypatch.undo()
    admin.post("/v1/products/scarf/freeze")
    assert f"product scarf is now frozen, and was {in_the_log(found['status'])}" in caplog.messages
    frozen = anybody.get("/v1/products/scarf/health").json()
    assert (frozen["status"], frozen["words"]) == (
        "frozen",
        "Everybody pays today's price, 25.00, until the product is resumed.",
    )


def test_the_log_does_not_say_that_prices_which_moved_earn_more() -> None:
    assert [in_the_log(each) for each in ("learning", "paying", None)] == ["learning", "at moved prices", None]


def test_policies_that_release_nothing_of_the_kind_have_none(fresh: Running) -> None:
    answer = fresh.client().get("/v1/products/umbrella/health")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "no_health")
    assert "hushprice_product_status{" not in fresh.client("admin").get("/metrics").text


def test_it_is_worked_out_once_a_release(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are asked for of all products at once, and quotes wait meanwhile."""
    worked, real = [], product_health._worked_out

    def work_out(priced: Any, *, with_cost: bool) -> Any:
        worked.append((priced.status, with_cost))
        return real(priced, with_cost=with_cost)

    admin, anybody = fresh.client("admin"), fresh.client()
    assert admin.post("/v1/products", json=HAT).status_code == 201
    monkeypatch.setattr(product_health, "_worked_out", work_out)
    for _ in range(3):
        first = anybody.get("/v1/products/scarf/health").json()
        assert first["status"] == "learning"
        assert admin.get("/v1/products/scarf/health").json()["status"] == "learning"
        assert "hushprice_product_status{" in admin.get("/metrics").text
    assert worked == [("open", False), ("open", True)]
    fresh.quote(product="scarf", attributes=None, context=[0.5, 0.5])
    fresh.look()
    assert anybody.get("/v1/products/scarf/health").json() == first
    assert len(worked) == 2
    admin.post("/v1/products/scarf/freeze")
    assert anybody.get("/v1/products/scarf/health").json()["status"] == "frozen"
