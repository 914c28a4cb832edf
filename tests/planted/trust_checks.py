"""Each trust model from its attackers' seats: research/audits/devices.py."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.policies.cautious.test_aggregator import test_each_adds_all_of_the_noise
from tests.policies.cautious.test_reports import AGGREGATED, LOCAL, SHUFFLE, rules_of
from tests.service.aggregating.test_aggregator_store import (
    EVENT,
    test_a_share_of_numbers_held_to_other_bounds_is_refused,
)
from tests.trust.test_device_limits import (
    test_a_device_gives_one_bit_a_quote_whatever_it_is_asked_again,
    test_whether_a_device_answers_does_not_depend_on_its_record,
)
from tests.trust.test_devices import test_a_bit_is_kept_no_more_often_than_epsilon_allows

from hushprice.research.audits.devices import audit_trust


def _sound(trust: str) -> None:
    found = audit_trust(rules_of(trust), watched=400)
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


def bits_are_kept_no_more_often_than_claimed() -> None:
    test_a_bit_is_kept_no_more_often_than_epsilon_allows()


def every_customers_device_answers() -> None:
    test_whether_a_device_answers_does_not_depend_on_its_record()


def a_quote_gets_one_bit() -> None:
    test_a_device_gives_one_bit_a_quote_whatever_it_is_asked_again()


def aggregators_add_what_their_noise_was_bought_for() -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            test_a_share_of_numbers_held_to_other_bounds_is_refused(Path(folder), {"most": 2.0 * EVENT.most})
        except BaseException as problem:  # of pytest's, which is no Exception
            raise AssertionError("a share of wider numbers was taken") from problem
