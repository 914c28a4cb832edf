"""Bugs in what a warm start costs."""

from __future__ import annotations

from tests.planted.planting import changed

from hushprice.prior import Prior
from hushprice.privacy import loss

fit_forgotten = changed(Prior, "paid", lambda real: property(lambda self: None))
fit_costs_nothing = changed(loss, "_of_fit", lambda real: lambda event, count: loss.Loss())
