"""The page of a service that has just been started, and of one that went away and came back closed."""

from __future__ import annotations

import json
import re
from typing import Any

AWAY = ("Failed to load resource", "ERR_")  # what the browser itself writes about requests that fail


def _body(command: str) -> Any:
    found = re.search(r"-d '(.*)'", command, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_from_an_empty_service_to_the_first_outcome(service: Any, visit: Any) -> None:
    tab = visit()
    page = tab.open(service.url)
    tab.until("h1", "No product yet")
    create, ask = page.locator("#empty pre").all_inner_texts()
    assert f"{service.url}/v1/products" in create

    service.post("products", {**_body(create), "outcome_seconds": 900}, "admin")
    tab.until("h1", "airport-transfer")
    assert page.locator("#empty").is_hidden()
    assert tab.text("#kpi-quotes .big") == "0"
    assert "No release yet" in tab.text("#history")
    tab.until("#timeline", "No release yet")  # drawings come when their width and their numbers are there
    tab.until("#pricemap", "everybody is quoted the reference price")
    tab.until("#demand-readout", "buy")

    drawn = page.wait_for_selector("#map svg")
    quote = service.post("quotes", _body(ask))
    tab.until("#kpi-quotes .big", "1")
    assert drawn.evaluate("each => each.isConnected")  # what has not changed is not drawn again
    assert service.post(f"quotes/{quote['id']}/outcome", {"purchased": True})["status"] == "recorded"

    service.post("products/airport-transfer/freeze", {}, "admin")
    tab.until("#summary .pill", "frozen")
    tab.until("#health .changes", "freeze")

    stopped = {"ready": True, "store": "up", "learner": "stopped", "products": 1}
    page.route("**/readyz", lambda route: route.fulfill(json=stopped))
    tab.until("#health .lights [data-state=bad]", "stopped: it died too often")
    assert page.locator("#health .lights [data-state=good]").count() == 2  # quotes go on


def test_an_address_that_names_no_product_shows_the_first_one(service: Any, visit: Any) -> None:
    tab = visit()
    for end in ("/#%", "/#%E0%A4%A", "/#nothing"):
        tab.open(f"{service.url}{end}")
        tab.until("h1", "airport-transfer")


def test_a_service_that_goes_away_is_said_and_asked_again(service: Any, visit: Any) -> None:
    tab = visit(expected=AWAY)
    page = tab.open(service.url)
    page.locator("#live[data-state=good]").wait_for()
    service.stop()
    try:
        page.locator("#away").wait_for(state="visible")
        assert "does not answer" in tab.text("#away")
        assert page.locator("#live").get_attribute("data-state") == "bad"
    finally:
        service.start(open_page=False)

    tab.until("h1", "This page is closed")  # nobody pressed a button
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    refused = {
        "": "Enter a key",
        "two words": "no spaces",
        "hp_auditor_wrong": "does not know this key",
        service.key("shop"): "not for reading",
    }
    for wrong, said in refused.items():
        page.fill("#key", wrong)
        page.keyboard.press("Enter")
        tab.until("#key-error", said)
    page.fill("#key", service.key("auditor"))
    page.keyboard.press("Enter")
    page.locator("#live[data-state=good]").wait_for()
    assert page.locator("#locked").is_hidden()
    assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
    assert service.key("auditor") not in page.content()

    page.click("#sign-out")
    tab.until("h1", "This page is closed")
    assert page.evaluate("sessionStorage.length") == 0
