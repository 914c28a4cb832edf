"""What came of a simulated shop: prices, revenue, privacy. For examples/shop.py, which plays it.

Run: python examples/shop_report.py (explains the columns)
"""

from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from shoppers import PRICES, Attributes, Shopper, shopper

from hushprice.client import Client, Outcome, Quote

TYPICAL: dict[str, Attributes] = {
    "young, country, small cart": {"age": 25, "region": "country", "member": False, "cart": 20.0},
    "middle-aged, city, full cart": {"age": 45, "region": "city", "member": False, "cart": 80.0},
    "older member, city, full cart": {"age": 60, "region": "city", "member": True, "cart": 80.0},
}


class Sale(NamedTuple):
    """One visit."""

    shopper: Shopper
    quote: Quote
    outcome: Outcome
    bought: bool


def report(public: Client, operator: Client, product: str, reference: float, sales: list[Sale]) -> None:
    """Print it all. Best prices are known because the shoppers are simulated; no shop knows them."""
    console = Console(soft_wrap=True)
    console.print(_prices(public, product, reference), _revenue(reference, sales), sep="\n")
    sums, privacy = operator.figures(product)["revenue"], public.privacy(product)
    console.print(
        f"Sold a visit: {sums['personal_per_quote']:.2f} at personal prices, {sums['holdout_per_quote']:.2f} to the "
        f"holdout; difference {sums['difference']:+.2f} +- {sums['standard_error']:.2f}. Exact: for the operator only."
    )
    console.print(
        f"Privacy: epsilon claimed {privacy['claimed']['epsilon']:g}, proven {privacy['proven']['epsilon']:.3g}, spent "
        f"{privacy['spent']['epsilon']:.3g}; delta {privacy['claimed']['delta']:.2g}; {privacy['releases']} releases, "
        f"from {privacy['learned']:,} of {privacy['quotes']:,} visits."
    )
    away, late = sum(sale.quote.fallback for sale in sales), sum(sale.outcome.status == "late" for sale in sales)
    console.print(f"Visits at the local price because the service was away: {away}. Outcomes that came late: {late}.")


def _prices(public: Client, product: str, reference: float) -> Table:
    table = Table("shopper", "price at the start", "at the end", "best", title="Prices, EUR", title_justify="left")
    for name, attributes in TYPICAL.items():
        now = public.demand(product, **attributes)["best_price"]
        table.add_row(name, f"{reference:.2f}", f"{now:.2f}", f"{shopper(attributes).best_price:.2f}")
    return table


def _revenue(reference: float, sales: list[Sale]) -> Table:
    """Expected revenue of the first and the last fifth of visits, at the prices they got and at others."""
    title, columns = (
        "Expected revenue a visit, EUR",
        ("visits", "as priced", "reference", "best fixed", "best personal"),
    )
    table = Table(*columns, title=title, title_justify="left")
    fifth = max(1, len(sales) // 5)
    for name, part in (("first fifth", sales[:fifth]), ("last fifth", sales[-fifth:])):
        curves = np.array([PRICES * sale.shopper.demand for sale in part])
        priced = np.mean([sale.quote.price * sale.shopper.chance(sale.quote.price) for sale in part])
        before = np.interp(reference, PRICES, curves.mean(axis=0))
        row = (priced, before, curves.mean(axis=0).max(), curves.max(axis=1).mean())
        table.add_row(name, *(f"{value:.2f}" for value in row))
    return table


if __name__ == "__main__":
    print("As priced: what the service asked, its holdout included. Reference: the shop's old price for everybody.")
    print("Best fixed: the best one price for all. Best personal: by someone who knows demand exactly.")
