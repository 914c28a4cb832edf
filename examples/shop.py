"""A shop with the pricing service behind it: a few thousand simulated shoppers, over HTTP, in under a minute.

Run: python examples/shop.py (or `make shop`; with --exit, or `make shop EXIT=1`, it does not stay up)
"""

import argparse
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.progress import track
from shop_report import Sale, report
from shop_service import serve
from shoppers import CEILING, SCHEMA, SLOPE, arrive

from hushprice.client import Client

NAME = "grinder"
SEED = 7  # of the shoppers alone: the service's noise is real, and different in every run
REFERENCE = 12.0  # EUR: what the shop has always asked, and what a holdout still gets
WINDOW = 5.0  # seconds for an outcome. A real shop gives an hour; here learning should be seen
PRODUCT = {  # all of it public, and fixed before the first shopper comes
    "name": NAME,
    "currency": "EUR",
    "ceiling": CEILING,
    "reference_price": REFERENCE,
    "schema": SCHEMA.to_dict(),
    "slope": SLOPE,
    "epsilon": 2.0,  # a few thousand shoppers are few; a shop with more can promise more
    "holdout": 0.1,
    "quote_seconds": WINDOW,
    "outcome_seconds": WINDOW,
    "rules": {"floor": 10.0, "ladder": 0.99},
}


def main() -> None:
    """Start the service, sell, show what came of it, and stay up for a look."""
    parser = argparse.ArgumentParser(description="A simulated shop behind the pricing service.")
    parser.add_argument("--shoppers", type=int, default=6000, help="how many come")
    parser.add_argument("--exit", action="store_true", help="end after the report; on free ports, not 8787 and 8788")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hushprice-shop-") as folder, serve(Path(folder), options.exit) as service:
        with Client(service.url, service.keys["admin"], timeout=30.0) as admin:
            admin.create_product(**PRODUCT, horizon=20_000)
            with Client(service.url, service.keys["shop"], timeout=30.0, reference_prices={NAME: REFERENCE}) as shop:
                sales = sell(shop, options.shoppers)
            wait_for_learner(admin, options.shoppers)
            with Client(service.operator_url, service.keys["admin"], timeout=30.0) as operator:
                report(admin, operator, NAME, REFERENCE, sales)
        print(f"Page: {service.url}/   the same with the operator's panels: {service.operator_url}/")
        print(f"Keys: {service.keys_file}   (the operator signs in with the one called admin)")
        if not options.exit:
            print("The shop stays open for a look. Ctrl-C closes it and removes its folder.")
            service.wait()


def sell(shop: Client, count: int) -> list[Sale]:
    """Every shopper asks for a price, and buys or not; eight at a time."""

    def visit(number: int) -> Sale:
        shopper = arrive(number, SEED)
        quote = shop.quote(NAME, shopper.attributes)
        bought = shopper.luck < shopper.chance(quote.price)
        return Sale(shopper, quote, shop.outcome(quote, purchased=bought), bought)

    with ThreadPoolExecutor(8) as crowd:
        return list(track(crowd.map(visit, range(count)), "Shoppers", total=count))


def wait_for_learner(admin: Client, count: int) -> None:
    """Until every release is out whose last visit is over; where the learner had to compile first, that is a while."""
    while (admin.privacy(NAME)["next_release_after_slot"] or count + 1) <= count:
        time.sleep(0.2)


if __name__ == "__main__":
    main()
