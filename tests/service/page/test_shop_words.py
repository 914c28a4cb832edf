"""The form that declares a product in a shop's words, and what the page of such a product says."""

from __future__ import annotations

from typing import Any

GIVEN = {
    "name": "transfer",
    "reference_price": "30",
    "floor": "24",
    "ceiling": "36",
    "unit_cost": "12",
    "conversion": "2",
    "elasticity": "1 to 3",
    "schema": "hours_ahead: 0 to 72\nregion: city, country\nmember: yes or no",
}


def _sign_in(page: Any, key: str) -> None:
    page.click("#sign-in")
    page.fill("#key", key)
    page.keyboard.press("Enter")


def test_a_product_is_declared_with_what_a_shop_knows(service: Any, visit: Any) -> None:
    tab = visit(expected=("Failed to load resource",))  # refusals, which the browser notes
    page = tab.open(service.url)
    tab.until("h1", "No product yet")
    assert page.locator("#declare").is_hidden()
    _sign_in(page, service.key("admin"))
    page.locator("#declare").click()
    assert page.locator("#declare-epsilon").is_hidden()  # folded
    for name, value in GIVEN.items():
        page.fill(f"#declare-{name}", value)
    page.fill("#declare-floor", "33")
    page.get_by_role("button", name="Create the product").click()
    tab.until("#declare-error", "floor must be below reference_price, 30.0, got 33.0")
    assert page.locator("#declare-floor").get_attribute("aria-invalid") == "true"
    page.fill("#declare-floor", "24")
    page.fill("#declare-elasticity", "-1.5")
    page.keyboard.press("Enter")
    tab.until("#declare-error", "elasticity must be a positive number, got -1.5")
    page.fill("#declare-elasticity", "1-3")
    page.fill("#declare-conversion", "")
    page.keyboard.press("Enter")
    tab.until("#declare-error", "is missing")
    page.fill("#declare-conversion", "2")
    page.keyboard.press("Enter")
    tab.until("h1", "transfer")

    tab.until("#fit-status", "learning")
    tab.until("#fit-words", "A coin sets")
    tab.until("#fit .row", "no release has told yet")
    page.locator("#demand .curve").first.wait_for(state="attached")
    page.locator("#demand svg .grid-line").first.wait_for(state="attached")
    levels = [each for each in page.locator("#demand svg text").all_text_contents() if each.endswith("%")]
    # 2 % buy: no flat line at the bottom of 0 to 100 %
    assert 2.0 <= max(float(each.removesuffix("%").strip()) for each in levels) <= 10.0

    quote = service.post("quotes", {"product": "transfer", "attributes": {"region": "moon"}})
    assert 24.0 <= quote["price"] <= 36.0


def test_whom_customers_trust_is_chosen_with_the_rest(service: Any, visit: Any) -> None:
    tab = visit(expected=("Failed to load resource",))
    page = tab.open(service.url)
    _sign_in(page, service.key("admin"))
    page.locator("#declare").click()
    page.get_by_text("Advanced").click()
    for name, value in (GIVEN | {"name": "private", "schema": "", "elasticity": ""}).items():
        page.fill(f"#declare-{name}", value)
    page.select_option("#declare-trust", "aggregated")
    page.fill("#declare-aggregators", "https://one.example")
    page.get_by_role("button", name="Create the product").click()
    tab.until("#declare-error", "Write two lines")
    key = "ab" * 32
    page.fill("#declare-aggregators", f"https://one.example {key}\n https://two.example  {key}")
    page.get_by_role("button", name="Create the product").click()
    tab.until("#declare-error", "aggregators")  # the same key twice is refused by the service
    page.fill("#declare-aggregators", "")
    page.select_option("#declare-trust", "local")
    page.get_by_role("button", name="Create the product").click()
    tab.until("h1", "private")
    tab.until("#summary", "trust local: nobody but a customer's own device sees a record")


def test_prices_that_moved_are_not_said_to_pay(service: Any, visit: Any) -> None:
    service.product(name="moved", reference_price=30, floor=24, ceiling=36, conversion=0.02)
    tab = visit()

    def moved(route: Any) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | {"status": "paying"})

    tab.page.route("**/v1/products/moved/health", moved)
    tab.open(f"{service.url}/#moved")
    tab.until("#fit-status", "prices moved")


def test_an_auditor_is_offered_no_form(service: Any, visit: Any) -> None:
    tab = visit()
    page = tab.open(service.url)
    _sign_in(page, service.key("auditor"))
    page.locator("#sign-out").wait_for(state="visible")
    page.locator("#live[data-state=good]").wait_for()
    assert page.locator("#declare").is_hidden()


def test_other_policies_have_no_such_card(service: Any, visit: Any, ride: dict[str, Any]) -> None:
    service.product(**ride)
    tab = visit()
    page = tab.open(f"{service.url}/#ride")
    tab.until("h1", "ride")
    assert page.locator("#fit").is_hidden()
