"""Two shops with the pricing service behind them, and tens of thousands of simulated visitors, over HTTP.

In one 2 % of visitors buy, in the other half do. Both start at today's price, and the service learns batch by batch.

Run: python examples/shop.py (or `make shop`; with --exit, or `make shop EXIT=1`, it does not stay up)
"""

import argparse
import contextlib
import tempfile
import time
from pathlib import Path

from shop_report import Diary
from shop_service import serve
from shop_visits import declared, sell, wait_for_prices
from shoppers import FOLDER, Shoppers

from hushprice.client import Client

SHOPS = {"half_buy": 30_000, "few_buy": 50_000}  # visitors: where few buy, more of them are needed


def main() -> None:
    """Start the service, sell in both shops, say what came of it, and stay up for a look."""
    parser = argparse.ArgumentParser(description="Two simulated shops behind the pricing service.")
    parser.add_argument("--visitors", type=int, help="how many come to each shop, instead of 30,000 and 50,000")
    parser.add_argument("--exit", action="store_true", help="end after the report; on free ports, not 8787 and 8788")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hushprice-shop-") as folder, serve(Path(folder), options.exit) as service:
        with Client(service.url, service.keys["admin"], timeout=30.0) as admin:
            for name, visitors in SHOPS.items():
                with Client(service.url, service.keys["shop"], timeout=30.0) as shop:
                    play(name, admin, shop, options.visitors or visitors)
        print(f"Page: {service.url}/   the same with the operator's panels: {service.operator_url}/")
        print(f"Keys: {service.keys_file}   (the operator signs in with the one called admin)   Log: {service.log}")
        if not options.exit:
            print("The shops stay open for a look. Ctrl-C closes them and removes their folder.")
            with contextlib.suppress(KeyboardInterrupt):
                service.process.wait()


def play(name: str, admin: Client, shop: Client, visitors: int) -> None:
    """All visitors of one shop: a batch comes, its outcomes are told, the service learns, prices follow."""
    shoppers = Shoppers(FOLDER / f"{name}.toml")
    admin.create_product(**declared(name, shoppers))
    print(f"\n{name}: {visitors:,} visitors; {shoppers.product.conversion:.0%} are expected to buy at today's price")
    diary, came, late, begun = Diary(shoppers), 0, 0, time.monotonic()
    while came < visitors:
        end = wait_for_prices(admin, name, came)
        contexts = shoppers.arrive(min(end, visitors) - came)
        prices, bought, missed = sell(shop, name, shoppers, contexts)
        came, late = came + len(contexts), late + missed
        diary.add(contexts, prices, bought)
    print(f"{time.monotonic() - begun:.0f} seconds. Outcomes that came too late to be learned: {late}.")
    print(diary.summary(name, admin.privacy(name)))
    print(f"The same again, and longer: hushprice simulate --product examples/{name}.toml --horizon 2e5", flush=True)


if __name__ == "__main__":
    main()
