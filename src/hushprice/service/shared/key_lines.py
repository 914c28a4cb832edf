"""Keys as the command line lists them."""

from __future__ import annotations

from collections.abc import Iterator

from hushprice.service.shared.times import rfc3339
from hushprice.service.store import decisions
from hushprice.service.store.protocol import LearnerStore


def key_lines(store: LearnerStore) -> Iterator[str]:
    """A line each, its fields divided by tabs. A day is all that is known of a key's last use."""
    last_days, quotes = store.last_use(), store.key_use(decisions.today())
    for key in store.api_keys():
        expires = "never expires" if key.expires is None else f"expires {rfc3339(key.expires)[:10]}"
        last = last_days.get(key.identity)
        used = "never used" if last is None else f"last used {decisions.day_name(last)}"
        quota = f"{quotes.get(key.identity, 0)} of {key.quota or 'any number of'} quotes today"
        products = ",".join(key.products) or "all products"
        yield "\t".join((key.role, key.name, key.identity, expires, used, quota, products))
