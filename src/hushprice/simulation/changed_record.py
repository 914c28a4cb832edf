"""One record changed: the same run in two worlds that differ by one customer alone (defn:na-eps-delta-privacy)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.simulation.market import Market
from hushprice.simulation.world import KernelMarket


@dataclass(frozen=True, kw_only=True)
class GivenCustomer:
    """What the customer of `period` is like and buys, given instead of drawn; None leaves that part to the tape.

    Every other draw stays where it is on the tape, so two runs differ by this record and by what follows from it.
    """

    period: int
    context: Sequence[float] | None = None
    demand: float | None = None

    def check_fits(self, *, market: Market, horizon: int) -> None:
        """Refuse a record that the market or the horizon does not have."""
        checks.whole(1, period=self.period)
        checks.within(1, horizon, period=self.period)
        if self.context is not None:
            context = checks.vector(market.features.contexts, context=self.context)
            outside = np.flatnonzero(np.abs(context) > 1.0)
            if outside.size:
                raise InvalidInput(f"context[{outside[0]}] must lie in [-1, 1], got {float(context[outside[0]])!r}")
        if self.demand is not None:
            checks.within(-market.demand.bound, market.demand.bound, demand=self.demand)


def world_of(market: Market, horizon: int, change: GivenCustomer | None, customers: int | None) -> KernelMarket:
    """The market as the kernels take it, with the one record changed and the customers of one trial for all."""
    world = market.world(horizon)
    if change is not None:
        world = world._replace(
            changed=change.period,
            changed_x=np.array([] if change.context is None else change.context, dtype=np.float64),
            changed_demand=math.nan if change.demand is None else float(change.demand),
        )
    return world if customers is None else world._replace(customers=customers)
