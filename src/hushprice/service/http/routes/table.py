"""All calls of the public port, in one table: what is not in it does not exist."""

from __future__ import annotations

from hushprice.service.http.call import Call
from hushprice.service.http.routes import customers, health, outcomes, products, quotes, reports

# What the operator's port offers as well: nothing of it writes.
READS: tuple[Call, ...] = (*products.READS, *reports.READS, *health.READS)
CALLS: tuple[Call, ...] = (*quotes.CALLS, *outcomes.CALLS, *products.CALLS, *customers.CALLS, *READS)
