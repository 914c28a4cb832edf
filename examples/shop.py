"""A shop with the pricing service behind it: a few thousand simulated shoppers, over HTTP, in about a minute.

Run: python examples/shop.py (or `make shop`; with --exit, or `make shop EXIT=1`, it does not stay up)
"""

import argparse
import contextlib
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.progress import track
from shop_report import Sale, report
from shop_service import serve
from shoppers import CEILING, SCHEMA, SLOPE, arrive

from hushprice.client import Client

PRODUCT = "grinder"
REFERENCE = 16.0  # EUR: what the shop has always asked. A holdout of customers still gets it, to compare with
WINDOW = 1.0  # seconds for an outcome. A real shop gives hours; here learning should be seen
SEED = 7  # of the shoppers alone: the service's noise is real, and different in every run


def main() -> None:
    """Start the service, sell, show what came of it, and stay up for a look."""
    parser = argparse.ArgumentParser(description="A simulated shop behind the pricing service.")
    parser.add_argument("--shoppers", type=int, default=6000, help="how many come")
    parser.add_argument("--exit", action="store_true", help="end after the report; on free ports, not 8787 and 8788")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hushprice-shop-") as folder, serve(Path(folder), options.exit) as service:
        with Client(service.url, service.keys["admin"], timeout=30.0) as admin:
            create_product(admin, options.shoppers)
            with Client(service.url, service.keys["shop"], reference_prices={PRODUCT: REFERENCE}) as shop:
                sales = sell(shop, options.shoppers)
            wait_for_learner(admin, options.shoppers)
            with Client(service.operator_url, service.keys["admin"], timeout=30.0) as operator:
                report(admin, operator, PRODUCT, REFERENCE, sales)
        print(f"Page: {service.url}/   the same with the operator's panels: {service.operator_url}/")
        print(f"Keys: {service.keys_file}   (the operator signs in with the one called admin)")
        if not options.exit:
            print("The shop stays open for a look. Ctrl-C closes it and removes its folder.")
            with contextlib.suppress(KeyboardInterrupt):
                service.process.wait()


def create_product(admin: Client, horizon: int) -> None:
    """Everything here is public, and fixed before the first shopper comes."""
    admin.create_product(
        name=PRODUCT,
        currency="EUR",
        ceiling=CEILING,
        reference_price=REFERENCE,
        schema=SCHEMA.to_dict(),
        slope=SLOPE,
        epsilon=2.0,
        horizon=horizon,
        holdout=0.1,
        quote_seconds=WINDOW,
        outcome_seconds=WINDOW,
        rules={"floor": 10.0, "ladder": 0.99},
    )


def sell(shop: Client, count: int) -> list[Sale]:
    """Every shopper asks for a price, and buys or not; eight at a time."""

    def visit(number: int) -> Sale:
        shopper = arrive(number, SEED)
        quote = shop.quote(PRODUCT, shopper.attributes, customer=f"shopper-{number}")
        bought = shopper.luck < shopper.chance(quote.price)
        return Sale(shopper, quote, shop.outcome(quote, purchased=bought), bought)

    with ThreadPoolExecutor(8) as crowd:
        return list(track(crowd.map(visit, range(count)), "Shoppers", total=count))


def wait_for_learner(admin: Client, count: int) -> None:
    """Until every release is out whose last visit is over. The first run after an update compiles, and waits longer."""
    end = time.monotonic() + 120.0
    while (admin.privacy(PRODUCT)["next_release_after_slot"] or count + 1) <= count and time.monotonic() < end:
        time.sleep(0.2)


if __name__ == "__main__":
    main()
