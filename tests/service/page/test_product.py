"""The page of a product: it follows releases, works from the keyboard, fits a phone, and labels its numbers."""

from __future__ import annotations

from typing import Any

import pytest

from hushprice.policies.verification import verify
from hushprice.privacy.certificates.certificate import Certificate

# Texts with a digit that is neither a name nor code, and no label near. Numbers in a drawing or a table are labelled
# by the head of their card.
UNLABELLED = """() => {
    const found = [];
    const walker = document.createTreeWalker(document.getElementById("main"), NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode, parent = node.parentElement;
        if (!/\\d/.test(node.data) || !parent.checkVisibility()) continue;
        if (parent.closest("h1, code, pre, select")) continue;
        const near = parent.closest(".row, .kpi, .part, .stage, .aside, .facts, .labelled");
        if (near ? near.querySelector(".tag") : parent.closest(".card")?.querySelector(".card-head .tag")) continue;
        found.push(node.data);
    }
    return found;
}"""
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def shop(service: Any, ride: dict[str, Any], rider: dict[str, Any]) -> Any:
    """A product with a release, one with a single feature, and one that learns nothing."""
    service.product(**ride)
    service.sell("ride", 100, rider, bought=60)
    service.product(name="tour", schema={"attributes": [{"kind": "number", "name": "guests", "low": 1, "high": 9}]})
    service.product(name="fixed", contexts=2, policy="fixed")
    service.released("ride")
    return service


def _tab_to(page: Any, identity: str) -> None:
    """With the keyboard alone."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == identity:
            return
    raise AssertionError(f"the tab key never reaches #{identity}")


def test_a_release_appears_while_the_page_is_open(service: Any, visit: Any, ride: Any, rider: Any) -> None:
    service.product(**{**ride, "name": "bus"})
    tab = visit()
    page = tab.open(f"{service.url}/#bus")
    tab.until("#timeline", "No release yet")
    assert tab.text("#kpi-spent .big") == "ε 0.000"
    service.sell("bus", 100, rider, bought=50)
    tab.until("#history tbody tr", "score")
    tab.until("#timeline .version", "1")
    # The page's questions are answered one by one: a release that comes between two is in one answer and not in the
    # other, until the page asks again.
    page.wait_for_function("Number(document.querySelector('#kpi-versions .big').textContent) >= 1")
    assert tab.text("#kpi-quotes .big") == "100"
    assert float(tab.text("#kpi-spent .big").removeprefix("ε ")) > 7
    assert page.locator("#timeline .mark-score").count() >= 1


def test_a_product_says_whom_its_customers_trust_and_what_to_think_over(service: Any, visit: Any) -> None:
    shop = {"conversion": 0.1, "floor": 20.0, "ceiling": 30.0, "reference_price": 25.0, "slope": None}
    for name, contexts in (("tea", 2), ("milk", 0)):
        service.product(**shop, name=name, contexts=contexts, trust="local")
    tab = visit()
    page = tab.open(f"{service.url}/#tea")
    tab.until("#summary .facts", "trust local: nobody but a customer's own device sees a record")
    assert page.locator("#summary .facts .tag").first.text_content() == "public"
    tab.until("#doubts", "risk may be passed")  # with attributes
    tab = visit()
    page = tab.open(f"{service.url}/#milk")
    tab.until("#summary .facts", "trust local")
    assert not page.locator("#doubts").is_visible()


def test_the_price_map_is_read_with_the_keyboard_alone(shop: Any, visit: Any) -> None:
    tab = visit()
    page = tab.open(f"{shop.url}/#ride")
    tab.until("#map-readout", "hours_ahead")
    tab.until("#demand-readout", "buy")
    _tab_to(page, "map-x")
    page.keyboard.press("ArrowDown")  # hours_ahead -> region, which was the other axis: that moves on
    tab.until("#map-readout", "region")
    assert page.input_value("#map-x") == "region"
    assert page.input_value("#map-y") != "region"
    _tab_to(page, "map-y")
    page.keyboard.press("End")
    tab.until("#map-readout", "member")

    _tab_to(page, "map")
    seen = set()
    for key in ("ArrowLeft", "ArrowLeft", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
        seen.add(tab.text("#map-readout").split(":")[0])
    assert {"region south, member yes", "region south, member no", "region west, member yes"} <= seen
    tab.until("#demand .point", "region west, member yes")
    _tab_to(page, "price-slider")
    page.keyboard.press("Home")
    tab.until("#demand-readout", "At €0.00")


def test_releases_are_read_with_the_keyboard_alone(shop: Any, visit: Any) -> None:
    tab = visit()
    page = tab.open(f"{shop.url}/#ride")
    tab.until("#timeline .readout", "Release")
    page.locator("#timeline [tabindex='0']").focus()
    page.keyboard.press("Home")
    tab.until("#timeline .readout", "Release 1, curvature")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("Release 1, curvature")
    page.keyboard.press("ArrowRight")
    tab.until("#timeline .readout", "Release 2")


def test_one_feature_is_a_line_and_a_fixed_policy_has_no_curve(shop: Any, visit: Any) -> None:
    tab = visit()
    page = tab.open(f"{shop.url}/#tour")
    tab.until("#map-readout", "guests")
    page.locator("#map .curve").wait_for(state="attached")  # drawn when its width is known
    assert page.locator("#map .curve").count() == 1
    assert page.locator("#map-y").is_hidden()
    page.select_option("#product", "fixed")
    tab.until("#pricemap .note", "policy is fixed")
    tab.until("#demand", "no curve")


def test_a_declared_text_stays_a_text(service: Any, visit: Any) -> None:
    markup = "<img src=x onerror=alert(1)>"
    region = {"kind": "category", "name": "<b>region</b>", "levels": ["south", markup]}
    service.product(name="markup", schema={"attributes": [region, {"kind": "boolean", "name": "member"}]})
    tab = visit()
    page = tab.open(f"{service.url}/#markup")
    tab.until("#map-readout", f"<b>region</b> {markup}")
    tab.until("#demand-readout", "buy")
    assert page.locator("main img, main b b, #pricemap b").count() == 0


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_sticks_out_and_every_number_is_labelled(width: int, shop: Any, visit: Any) -> None:
    tab = visit(width, color_scheme="dark" if width < 600 else "light", reduced_motion="reduce")
    page = tab.open(f"{shop.url}/#ride")
    tab.until("#demand-readout", "buy")
    assert page.evaluate(OVERFLOW) <= 0
    assert page.evaluate(UNLABELLED) == []
    page.evaluate("document.querySelector('#kpi-quotes .tag').remove()")
    assert page.evaluate(UNLABELLED) != []  # the check would see a missing label


def test_the_certificate_is_one_press_away(shop: Any, visit: Any) -> None:
    tab = visit()
    page = tab.open(f"{shop.url}/#ride")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the certificate").click()
    assert download.value.suggested_filename == "ride.certificate.json"
    tab.until("#privacy", "hushprice verify ride.certificate.json")
    found = verify(Certificate.read(download.value.path()))  # what the page says about it is true
    assert tab.text(".part-proven .value") == f"ε {found.proven.epsilon:.3f}"


def test_without_an_admin_key_no_raw_figure_is_asked_for(shop: Any, visit: Any) -> None:
    for url in (shop.url, shop.operator_url):
        tab = visit()
        page = tab.open(f"{url}/#ride")
        tab.until("#demand-readout", "buy")
        page.click("#sign-in")
        page.fill("#key", shop.key("auditor"))
        page.keyboard.press("Enter")
        tab.until("#account", "signed in")
        tab.until("#notice", "admin key")
        assert not [each for each in tab.asked if "/operator/" in each]
        assert page.locator("#operator").inner_text() == ""
        assert page.locator("main .tag-operator-only:visible").count() == 0
        assert "4.50" not in tab.text("main")  # the unit cost


def test_the_operator_sees_raw_figures_until_signing_out(shop: Any, visit: Any) -> None:
    tab = visit()
    page = tab.open(f"{shop.operator_url}/#ride")
    page.click("#sign-in")
    page.fill("#key", shop.key("admin"))
    page.keyboard.press("Enter")
    tab.until("#operator h2", "For the operator")
    assert tab.text("#funnel-quoted .value") == "100"
    assert tab.text("#funnel-bought .value").startswith("60,")
    assert tab.text("#funnel-declined .value").startswith("40,")
    assert "a quote with personal prices" in tab.text("#operator .verdict")
    assert "±" in tab.text("#operator .verdict")
    page.locator("#operator .personal-dot").first.wait_for(state="attached")  # drawn when its width is known
    assert page.locator("#operator .personal-dot").count() == 1
    bars = page.locator("#operator .personal.error-bar, #operator .holdout.error-bar")
    assert bars.count() == 2
    assert all(bars.nth(n).bounding_box()["height"] > 1 for n in range(2))
    assert "unit cost €4.50" in tab.text("#summary")
    tab.until("[aria-label='Quotes by API key'] td", "shop")
    assert "100 1 %" in " ".join(tab.text("[aria-label='Quotes by API key'] tbody").split())
    assert "No alarm" in tab.text("#operator")
    assert page.evaluate(UNLABELLED) == []
    page.set_viewport_size({"width": 390, "height": 900})
    page.wait_for_function(f"innerWidth === 390 && {OVERFLOW} <= 0")  # the drawings take their new width
    page.click("#sign-out")
    page.locator("#operator").wait_for(state="hidden")
    assert page.locator("#operator").inner_text() == ""
    tab.until("#sign-in", "Sign in")


def test_an_admin_on_the_public_port_is_sent_to_the_other(shop: Any, visit: Any) -> None:
    tab = visit()
    page = tab.open(f"{shop.url}/#ride")
    page.click("#sign-in")
    page.fill("#key", shop.key("admin"))
    page.keyboard.press("Enter")
    tab.until("#notice", "operator's port")
    assert page.locator("#operator").inner_text() == ""
