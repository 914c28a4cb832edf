"""What a shop says to the service: the product, visitors who ask for prices, and who bought. For examples/shop.py.

Run: python examples/shop_visits.py (prints what is declared)
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from shoppers import FOLDER, Shoppers

from hushprice.client import Ask, Client, Quote

HORIZON = 100_000  # visitors that a shop plans with
WINDOW = 1.5  # seconds for an outcome; a real shop gives an hour. The door is closed as long after every batch: in a
# real shop the visitors of an hour are few beside those of a batch, here they would all get the prices of yesterday
TOGETHER = 100  # visitors asked for in one request
CROWD = 8  # requests at a time


def declared(name: str, shoppers: Shoppers) -> dict[str, Any]:
    """What the shop tells the service: what it knows, all of it public, and nothing of the world."""
    product = shoppers.product
    known = ("floor", "ceiling", "reference_price", "unit_cost", "conversion", "epsilon", "risk")
    return {field: getattr(product, field) for field in known} | {
        "name": name,
        "currency": "EUR",
        "schema": shoppers.schema.to_dict(),
        "horizon": HORIZON,
        "quote_seconds": WINDOW,
        "outcome_seconds": WINDOW,
    }


def wait_for_prices(admin: Client, name: str, came: int) -> int:
    """Until what earlier visitors taught is in the prices; returns after which visitor prices change next."""
    while True:
        end = admin.privacy(name)["next_release_after_slot"] or sys.maxsize  # None: learning has ended
        if end > came:
            return end
        time.sleep(0.1)


def sell(shop: Client, name: str, shoppers: Shoppers, contexts: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Prices, who bought, and how many outcomes came late. Who is not told of has not bought."""

    def visit(some: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        answers = shop.quotes([Ask(name, shoppers.attributes(each)) for each in some])
        quotes = [each for each in answers if isinstance(each, Quote)]
        if len(quotes) < len(answers):
            sys.exit("the service refused a quote")
        prices = np.array([quote.price for quote in quotes])
        bought = shoppers.buy(some, prices)
        told = [shop.outcome(quote, purchased=True) for quote, buys in zip(quotes, bought, strict=True) if buys]
        return prices, bought, sum(each.status == "late" for each in told)

    parts = [contexts[start : start + TOGETHER] for start in range(0, len(contexts), TOGETHER)]
    with ThreadPoolExecutor(CROWD) as crowd:
        prices, bought, late = zip(*crowd.map(visit, parts), strict=True)
    return np.concatenate(prices), np.concatenate(bought), sum(late)


if __name__ == "__main__":
    print(declared("few_buy", Shoppers(FOLDER / "few_buy.toml")))
