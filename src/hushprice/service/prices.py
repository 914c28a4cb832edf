"""Prices in currency: price = ceiling x p, then the operator's rules, which are post-processing.

Rules read a price and public constants, never a customer, an earlier quote or a count. The record keeps the price that
was charged, so that demand is learned at the price people saw.
"""

from __future__ import annotations

import msgspec


class PriceRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All optional, all in currency. Applied in this order: largest step, floor and ceiling, ladder."""

    floor: float | None = None
    ceiling: float | None = None
    largest_step: float | None = None  # from the public reference price, to either side
    ladder: float | None = None  # such as 0.99: prices end in .99
