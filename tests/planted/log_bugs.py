"""Bugs in charged answers about a log: what a row is held to, how many rows count, what is charged."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.planted.planting import Between, changed

from hushprice.logs import private_sums
from hushprice.logs.price_policy import PricePolicy
from hushprice.mechanisms.whole_numbers import UNIT_BITS
from hushprice.policies.cautious.pricing.shop_model import with_constant
from hushprice.privacy import sensitivity
from hushprice.privacy.ledger import Ledger

sensitivity_of_one_row = changed(sensitivity, "of_log_sums", lambda real: lambda rows, adjacency: 1.0)
replaced_counted_as_zeroed_out = changed(sensitivity, "of_log_sums", lambda real: lambda rows, adjacency: float(rows))
rows_not_bounded = changed(private_sums, "bounded", lambda real: lambda log, most: log)
numbers_below_nought = changed(
    private_sums,
    "np",
    lambda real: Between(real, fmax=lambda real, values, least: np.nan_to_num(np.maximum(values, -1.0))),
)
length_not_held = changed(
    private_sums,
    "in_unit_balls",
    lambda real: lambda vectors: np.trunc(np.ldexp(3.0 * vectors, UNIT_BITS)).astype(np.int64),
)
released_unpaid = changed(Ledger, "spend", lambda real: lambda self, event, count=1: self)


def _multiplied(self: Any, theta: Any, contexts: Any) -> Any:
    return self.model.lines(theta, with_constant(contexts))


rows_multiplied_together = changed(PricePolicy, "_lines", lambda real: _multiplied)
