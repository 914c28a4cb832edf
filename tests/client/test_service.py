"""The client against the service itself, as a shop, an admin and an auditor use it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.ports import free_ports
from tests.waiting import PATIENCE

from hushprice.client import Ask, Client, Conflict, Outcome, Refused, ServiceAway, UnknownQuote

PRODUCT = {"name": "coffee", "currency": "EUR", "ceiling": 40.0, "contexts": 2, "outcome_seconds": 900.0}


class Running(NamedTuple):
    """A service, its keys, and its process."""

    url: str
    operator_url: str
    keys: dict[str, str]
    process: subprocess.Popen[bytes]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("service")
    port, operator_port = free_ports(2)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HUSHPRICE_")}
    environment |= {"HUSHPRICE_PORT": str(port), "HUSHPRICE_OPERATOR_PORT": str(operator_port)}
    command = [str(Path(sys.executable).with_name("hushprice")), "serve"]
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        with Client(f"http://127.0.0.1:{port}", "none", timeout=5.0) as probe:
            end = time.monotonic() + PATIENCE
            while not _ready(probe):
                assert process.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < end
                time.sleep(0.2)
        keys = tomllib.loads((folder / "hushprice.db.keys.toml").read_text())["keys"]
        yield Running(f"http://127.0.0.1:{port}", f"http://127.0.0.1:{operator_port}", keys, process)
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _ready(probe: Client) -> bool:
    try:
        return bool(probe._call("GET", "/readyz/learning")["ready"])
    except ServiceAway:
        return False


def _soon(ask: Callable[[], Any]) -> Any:
    """What the learner's process answers once it knows of a new product."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(Refused):
            return ask()
        time.sleep(0.1)
    return ask()


@pytest.fixture(scope="module")
def admin(running: Running) -> Iterator[Client]:
    with Client(running.url, running.keys["admin"], timeout=60.0) as client:
        client.create_product(**PRODUCT)
        yield client


@pytest.fixture
def shop(running: Running, admin: Client) -> Iterator[Client]:
    with Client(running.url, running.keys["shop"], timeout=60.0) as client:
        yield client


def test_a_quote_and_its_outcome(shop):
    quote = shop.quote("coffee", context=[0.1, -0.4])
    assert (quote.product, quote.currency, quote.version, quote.fallback) == ("coffee", "EUR", 0, False)
    assert 0.0 < quote.price <= 40.0
    assert len(quote.id) == 32
    assert shop.outcome(quote, purchased=True) == Outcome("recorded")
    assert shop.outcome(quote, purchased=True) == Outcome("recorded", repeat=True)
    with pytest.raises(Conflict, match=r".") as caught:
        shop.outcome(quote, purchased=False)
    assert caught.value.code


def test_an_idempotency_key_repeats_a_quote_and_another_request_with_it_conflicts(shop):
    first = shop.quote("coffee", context=[0.0, 0.0], idempotency_key="basket")
    assert shop.quote("coffee", context=[0.0, 0.0], idempotency_key="basket") == first
    with pytest.raises(Conflict):
        shop.quote("coffee", context=[0.5, 0.0], idempotency_key="basket")


def test_quotes_of_others_and_of_nobody_are_unknown(shop, admin):
    quote = admin.quote("coffee", context=[0.0, 0.0])
    for id in (quote, "f" * 32):
        with pytest.raises(UnknownQuote):
            shop.outcome(id, purchased=True)


def test_a_batch_is_answered_in_its_order(shop):
    batch = [Ask("coffee", context=[0.0, 0.0]), Ask("tea", context=[0.0, 0.0]), Ask("coffee", context=[0.0])]
    good, unknown, short = shop.quotes(batch)
    assert good.id is not None
    assert isinstance(unknown, Refused)
    assert isinstance(short, Refused)
    assert (unknown.code, unknown.field) == ("unknown_product", "quotes.1.product")


def test_a_wrong_key_and_a_wrong_role_are_refused(running, shop):
    with Client(running.url, "wrong", timeout=60.0, reference_prices={"coffee": 1.0}) as stranger:
        with pytest.raises(Refused) as caught:
            stranger.quote("coffee", context=[0.0, 0.0])
        assert caught.value.status == 401
    with pytest.raises(Refused) as caught:
        shop.freeze("coffee")
    assert caught.value.status == 403


def test_an_admin_changes_a_product_and_everybody_reads_it(admin, running):
    admin.create_product(**{**PRODUCT, "name": "cocoa"})
    with pytest.raises(Conflict):
        admin.create_product(**{**PRODUCT, "name": "cocoa"})
    assert admin.freeze("cocoa")["status"] == "frozen"
    assert admin.resume("cocoa")["status"] == "open"
    admin.set_rules("cocoa", floor=5.0, ladder=0.99)
    admin.set_reference_price("cocoa", 10.5)
    with Client(running.url, running.keys["auditor"], timeout=60.0) as auditor:
        assert [change["what"] for change in auditor.report("cocoa")["changes"]] == [
            "freeze",
            "resume",
            "rules",
            "reference price",
        ]
        assert auditor.privacy("cocoa")["claimed"]["epsilon"] == 1.0
        assert {each["product"] for each in auditor.privacy()["products"]} >= {"coffee", "cocoa"}
        assert auditor.product("cocoa")["name"] == "cocoa"
        assert "cocoa" in [each["name"] for each in auditor.products()["products"]]
        assert auditor.prices("cocoa", steps=3)["currency"] == "EUR"
        assert len(auditor.demand("cocoa")["prices"]) > 2
    assert admin.forget("customer-1")["forgotten"]


def test_raw_figures_are_on_the_operators_port_alone(running, admin, shop):
    shop.quote("coffee", context=[0.0, 0.0])
    with Client(running.operator_url, running.keys["admin"], timeout=60.0) as operator:
        assert _soon(lambda: operator.figures("coffee"))["figures"]["quoted"] >= 1
    with pytest.raises(Refused) as caught:
        admin.figures("coffee")
    assert caught.value.status == 404
