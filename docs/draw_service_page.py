"""Take the pictures of the service's page: a real service on SQLite, simulated shoppers, a real Chromium.

Run: python docs/draw_service_page.py [FOLDER]

Live noise cannot be seeded, so every run gives other pictures; the numbers in them are examples.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from playwright.sync_api import Page, sync_playwright

from hushprice.demand.families import Logistic
from hushprice.demand.features import with_intercept
from hushprice.demand.schema import Boolean, Category, Number, Schema

TARGET = Path(__file__).parent / "images"
PORT, OPERATOR_PORT = 18787, 18788
SHOPPERS, TOGETHER, PAUSE = 8_000, 50, 0.2  # seconds, so that releases come while people shop
CEILING, SLOPE = 60.0, 12.0
SCHEMA = Schema(
    attributes=(
        Number(name="hours_ahead", low=0, high=72),
        Number(name="luggage", low=0, high=6),
        Category(name="region", levels=("south", "north", "west")),
        Boolean(name="member"),
    )
)
PRODUCT: dict[str, Any] = {
    "name": "airport-transfer",
    "currency": "EUR",
    "ceiling": CEILING,
    "slope": SLOPE,
    "reference_price": 24,
    "epsilon": 2,
    "horizon": 100_000,
    "holdout": 0.1,
    "records_per_customer": 2,
    "rules": {"floor": 9},
    "quote_seconds": 2,
    "outcome_seconds": 2,  # a real shop gives an hour; here learning should be seen
    "schema": SCHEMA.to_dict(),
}
# Intercept, hours ahead, luggage, north, west, member, price: in a hurry and loaded with luggage one pays more.
THETA = np.array([0.36, -0.3, 0.15, 0.12, -0.06, -0.12, 0.8])
FEATURES = with_intercept(SCHEMA.dimension)


def shopper(draw: random.Random) -> dict[str, Any]:
    """Who comes along."""
    return {
        "hours_ahead": round(draw.uniform(0, 72), 1),
        "luggage": draw.randint(0, 6),
        "region": draw.choice(["south", "north", "west"]),
        "member": draw.random() < 0.4,
    }


def buys(draw: random.Random, attributes: dict[str, Any], price: float) -> bool:
    """As THETA has it, which the service does not know."""
    u, v = FEATURES.parts(SCHEMA.encode(attributes).context)
    return draw.random() < float(Logistic(slope=SLOPE).mean(u @ THETA + price / CEILING * (v @ THETA)))


def drive(client: httpx.Client, keys: dict[str, str]) -> None:
    """The shoppers, some at a time; some outcomes are never told, and some are told twice."""
    draw = random.Random(7)
    shop = {"Authorization": f"Bearer {keys['shop']}"}
    client.post("/v1/products", json=PRODUCT, headers={"Authorization": f"Bearer {keys['admin']}"}).raise_for_status()
    for first in range(0, SHOPPERS, TOGETHER):
        people = [shopper(draw) for _ in range(TOGETHER)]
        time.sleep(PAUSE)
        names = [f"customer-{(first + index) * 2 // 5}" for index in range(TOGETHER)]
        asked = [
            {"product": PRODUCT["name"], "attributes": each, "customer": name}
            for each, name in zip(people, names, strict=True)
        ]
        quotes = (
            client.post("/v1/quotes/batch", json={"quotes": asked}, headers=shop).raise_for_status().json()["quotes"]
        )
        for each, quote in zip(people, quotes, strict=True):
            told = {"purchased": buys(draw, each, quote["price"])}
            for _ in range(draw.choices([0, 1, 2], [12, 86, 2])[0]):
                client.post(f"/v1/quotes/{quote['id']}/outcome", json=told, headers=shop).raise_for_status()


def picture(page: Page, url: str, file: Path, ready: str) -> None:
    """The whole page, once it shows `ready`."""
    page.goto(f"{url}/#{PRODUCT['name']}")
    page.locator(ready).first.wait_for(state="visible", timeout=30_000)
    page.wait_for_timeout(2_500)  # the demand curve follows the map
    page.screenshot(path=file, full_page=True)


def take(target: Path, keys: dict[str, str]) -> None:
    """Both pictures."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
        picture(page, f"http://127.0.0.1:{PORT}", target / "service_page.png", "#map svg")
        page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="dark")
        page.add_init_script(f"sessionStorage.setItem('hushprice-key', '{keys['admin']}')")
        picture(page, f"http://127.0.0.1:{OPERATOR_PORT}", target / "service_page_operator.png", "#operator svg")
        browser.close()


def main(target: Path) -> None:
    """Start a service in a folder of its own, drive it, take the pictures, end it."""
    with tempfile.TemporaryDirectory() as folder:
        flags = ["--store", f"{folder}/shop.db", "--port", str(PORT), "--operator-port", str(OPERATOR_PORT)]
        settings = {**os.environ, "HUSHPRICE_RATE_PER_SECOND": "100000"}
        command = [sys.executable, "-c", "from hushprice.cli import main; main()", "serve", *flags]
        service = subprocess.Popen(command, env=settings)
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{PORT}", timeout=30) as client:
                wait_until_ready(client)
                keys = tomllib.loads(Path(folder, "shop.db.keys.toml").read_text())["keys"]
                drive(client, keys)
                time.sleep(PRODUCT["outcome_seconds"] + 2)
                take(target, keys)
        finally:
            service.terminate()
            service.wait(timeout=30)


def wait_until_ready(client: httpx.Client) -> None:
    """Both sides of the service are up."""
    for _ in range(600):
        try:
            if client.get("/readyz/learning").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise SystemExit("the service did not start")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
