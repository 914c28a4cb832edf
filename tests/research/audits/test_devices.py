"""From each attacker's seat: what is seen is within what is charged, and where it should be, close to it."""

from __future__ import annotations

import pytest
from tests.policies.cautious.test_reports import AGGREGATED, CENTRAL, LOCAL, SHUFFLE, rules_of

from hushprice.policies.cautious.rules import without_noise
from hushprice.research.audits.devices import audit_trust


@pytest.mark.parametrize(
    ("trust", "contexts", "sharp"),
    [
        (LOCAL, 0, 0.999),
        (LOCAL, 2, 0.999),
        (SHUFFLE, 0, 0.9),
        (SHUFFLE, 2, 0.9),
        (AGGREGATED, 0, 0.5),
        (AGGREGATED, 2, 0.9),
    ],
)
def test_no_seat_sees_more_than_is_charged(trust: str, contexts: int, sharp: float) -> None:
    watched = 2000 if trust == LOCAL else 400  # seats that are not exact need runs to see much
    found = {each.name: each for each in audit_trust(rules_of(trust, contexts), watched=watched)}
    assert all(each.holds for each in found.values()), found
    seen = [each.found / each.allowed for each in found.values() if each.allowed > 0.0]
    assert max(seen) > sharp
    if trust == LOCAL:
        assert found["a watcher of prices: releases"].found > 0.5  # one bit is all there is


def test_nothing_is_measured_where_the_shop_is_trusted_or_nothing_is_claimed() -> None:
    assert audit_trust(rules_of(CENTRAL)) == audit_trust(without_noise(rules_of(LOCAL))) == []
