"""Bugs where the shop is not trusted: devices that say too much, shares that are none, too little noise."""

from __future__ import annotations

import math
from typing import Any

from tests.planted.planting import changed, together

from hushprice.client import device
from hushprice.client.device import Device
from hushprice.policies.cautious.private.aggregator import Aggregator
from hushprice.policies.cautious.private.reports import ReportLearner
from hushprice.policies.cautious.rules import CautiousRules
from hushprice.privacy import shuffle
from hushprice.service.aggregating.aggregator_store import AggregatorStore
from hushprice.trust import bits, drawn_price, question, shares

turned_half_as_often = changed(
    bits, "answer", lambda real: lambda asked, keep, *rest: real(asked, 0.5 + 0.5 * keep, *rest)
)
price_turned_half_as_often = changed(
    drawn_price, "happens", lambda real: lambda keep, draw: real(0.5 + 0.5 * keep, draw)
)
no_fair_bits = changed(ReportLearner, "_pad", lambda real: lambda self: None)
hidden_among_more = together(
    changed(shuffle, "keep_of", lambda real: lambda epsilon, delta, among: real(epsilon, delta, 4 * among)),
    changed(shuffle, "epsilon_of", lambda real: lambda keep, among, delta: real(keep, 4 * among, delta)),
)
shares_not_drawn = changed(
    shares, "split", lambda real: lambda whole, draw: ([0 for _ in whole], [value % 2**64 for value in whole])
)
noise_halved = changed(
    CautiousRules, "released_noise", lambda real: lambda self, choice: math.sqrt(0.5) * real(self, choice)
)

bits_kept_by_the_nearest_float = changed(bits, "_DOUBT", lambda real: 0)
any_numbers_are_taken = changed(device, "_LARGEST", lambda real: math.inf)


def _forgetful(real: Any) -> Any:
    """What was said of a quote is forgotten."""

    def report(self: Device, *given: Any, **told: Any) -> Any:
        self._said.clear()
        self._left = 1
        return real(self, *given, **told)

    return report


bits_drawn_again = changed(Device, "report", _forgetful)
other_bounds_are_taken = changed(
    AggregatorStore, "_check_share", lambda real: lambda self, share: self._event(share.product)
)
noise_left_to_the_other = changed(Aggregator, "_drawn", lambda real: lambda self, scale, at: 0)


def _unheld(real: Any) -> Any:
    """Demand of more than 1 passes into what is shared."""

    def residual(question: Any, record: Any) -> float:
        return float(question.believed(record.context, record.price) - record.demand) if record.readable else 0.0

    return residual


demand_not_held = changed(question, "residual", _unheld)
