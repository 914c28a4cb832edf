"""Each trust model from its attackers' seats: research/audits/devices.py."""

from __future__ import annotations

from tests.policies.cautious.test_aggregator import test_each_adds_all_of_the_noise
from tests.policies.cautious.test_reports import AGGREGATED, LOCAL, SHUFFLE, rules_of

from hushprice.research.audits.devices import audit_trust


def _sound(trust: str) -> None:
    found = audit_trust(rules_of(trust))
    assert len(found) >= 2
    assert all(each.holds for each in found)


def devices_say_one_bit() -> None:
    _sound(LOCAL)


def shuffled_bits_hide() -> None:
    _sound(SHUFFLE)


def one_aggregator_learns_nothing() -> None:
    _sound(AGGREGATED)


def each_aggregator_adds_all_of_the_noise() -> None:
    test_each_adds_all_of_the_noise()
