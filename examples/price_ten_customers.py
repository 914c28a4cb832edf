"""A shop with named attributes: ten customers, and outcomes that come in time, late, twice or never.

Run: python examples/price_ten_customers.py
"""

from collections.abc import Callable

from hushprice import open_pricer
from hushprice.demand.schema import Boolean, Category, Number, Schema
from hushprice.errors import HushpriceError

TOP_PRICE = 40.0  # hushprice quotes shares of the highest price the shop would ever ask

REGIONS = ("south", "north", "west")
# Bounds and levels are public knowledge, written down before the first customer. They are never read off the data.
SCHEMA = Schema(
    attributes=(
        Number(name="age", low=18, high=98),
        Category(name="region", levels=REGIONS),
        Boolean(name="member"),
    )
)
AGES = (25, 61, 40, 33, 78, 19, 52, 130, 45, 36)  # 130 is outside the bounds: it is clipped, and counted


def main() -> None:
    """Quote ten prices, report what came of them, and show the ledger."""
    pricer = open_pricer(
        horizon=10_000,  # how many customers will be learned from
        schema=SCHEMA,
        features="intercept",  # the levels' base case needs one
        epsilon=1.0,
        delay=2,  # customer n is learned when customer n + 3 arrives: outcomes have that long to come in
        reference_price=0.4,  # what everybody is offered, give or take, until enough is known
    )
    quotes = []
    for number, age in enumerate(AGES, start=1):
        quote = pricer.quote({"age": age, "region": REGIONS[number % 3], "member": number % 2 == 0})
        quotes.append(quote)
        print(f"customer {number:2}: offered {TOP_PRICE * quote.price:5.2f} (releases behind it: {quote.version})")
        if number not in (3, 4):  # customer 3 never answers, customer 4 answers late
            pricer.observe(quote.id, 1 if quote.price < 0.5 else 0)

    print("Nothing is released before enough customers have come to hide each of them, so these are around 0.4 of 40.")

    # Slot 4 was learned as "no purchase" when customer 7 arrived. The sale is noted and changes nothing.
    print("customer  4 buys after all:", pricer.observe(quotes[3].id, 1).value)
    refusals: dict[str, Callable[[], object]] = {
        "the same sale reported twice": lambda: pricer.observe(quotes[0].id, 1),
        "a sale nobody was quoted": lambda: pricer.observe("made-up", 1),
        "an attribute nobody declared": lambda: pricer.quote({"age": 30, "region": "south", "vip": True}),
    }
    for what, call in refusals.items():
        try:
            call()
        except HushpriceError as refusal:
            print(f"{what}: refused, {type(refusal).__name__}")

    ledger = pricer.ledger
    print(f"promised over all {pricer.horizon:,} customers: {ledger.claimed} under {ledger.adjacency.value} neighbours")
    for entry in ledger.allowance or ():
        print(f"  {type(entry.event).__name__}: {ledger.count(entry.event)} of {entry.count} spent")
    print(f"for the operator's eyes only: {pricer.clipped_attributes} attribute was out of bounds")


if __name__ == "__main__":
    main()
