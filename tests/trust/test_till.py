"""A device's till charges what the service's tariff does, to the last digit."""

from __future__ import annotations

import itertools
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from hushprice.policies.cautious.policy import CautiousPolicy
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.service.shared.device_state import device_state
from hushprice.service.shared.product import Product, policy_of, quoter_of, tariff_of
from hushprice.service.shared.tariff import PriceRules

RULES = [PriceRules(), PriceRules(ladder=0.99), PriceRules(floor=9.0, ceiling=11.5, largest_step=1.25)]


@pytest.mark.parametrize(
    ("decimals", "step", "later"), [(2, None, 0), (0, None, 0), (2, 0.5, 2), (2, None, 1), (4, None, 2)]
)
def test_a_till_charges_what_the_tariff_does(decimals: int, step: float | None, later: int) -> None:
    product = Product(
        name="tea", currency="EUR", floor=8.0, ceiling=12.0, reference_price=10.0, conversion=0.4, contexts=2,
        decimals=decimals, step=step, trust="local",
    )  # fmt: skip
    policy, quoter, tariff = policy_of(product), quoter_of(product), tariff_of(product, RULES[later])
    assert isinstance(policy, CautiousPolicy)
    assert isinstance(quoter, CautiousQuoter)
    till = device_state(product, policy, quoter, tariff).till
    rng = np.random.default_rng(decimals)
    for relative in itertools.chain(rng.uniform(-1.1, 1.1, 2000).tolist(), np.linspace(-1.0, 1.0, 801).tolist()):
        charged = tariff.charge(policy.product.price_of(relative) / product.ceiling).charged
        assert f"{till.amount(till.charged(relative)):.{decimals}f}" == charged
    assert msgspec.json.decode(msgspec.json.encode(till), type=type(till)) == till
    free = replace(till, step=None)  # any price may be asked for: the tariff's rules alone hold
    for relative in np.linspace(-1.1, 1.1, 801).tolist():
        asked = min(max(round(10.0 + 2.0 * relative, 9), till.cheapest), till.dearest)
        assert f"{till.amount(free.charged(relative)):.{decimals}f}" == tariff.charge(asked / product.ceiling).charged
