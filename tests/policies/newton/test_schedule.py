"""Where batches and blocks end: every slot in one of each, and no direction waits for long."""

from __future__ import annotations

import inspect
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice.policies.newton.pricing import schedule
from hushprice.policies.newton.rules import BLOCKS, GROWTH, LEVELS

property_test = settings(deadline=None, derandomize=True)


def blocks_of(start: int, first: int, levels: int) -> list[int]:
    """The slots after which the batch after `start` is looked at, as the kernel goes through them."""
    end = schedule.batch_end(start, first, GROWTH)
    length = schedule.block_length(end - start, schedule.block_level(end - start, BLOCKS, levels))
    looks, look = [], start
    while look < end:
        look = min(look + length, end)
        looks.append(look)
    return looks


@property_test
@given(st.integers(1, 500), st.integers(0, LEVELS), st.integers(1, 20))
def test_every_slot_is_in_one_batch_and_one_block(first: int, levels: int, batches: int) -> None:
    start, seen = 0, 0
    for _ in range(batches):
        looks = blocks_of(start, first, levels)
        assert looks == sorted(set(looks))
        assert looks[0] > start == seen
        seen = start = looks[-1]


@property_test
@given(st.integers(1, 10**7), st.integers(0, LEVELS))
def test_a_batch_has_no_more_blocks_than_its_noise_was_made_for(start: int, levels: int) -> None:
    end = schedule.batch_end(start, 8, GROWTH)
    level = schedule.block_level(end - start, BLOCKS, levels)
    assert 0 <= level <= levels
    length = schedule.block_length(end - start, level)
    assert math.ceil((end - start) / length) <= 2**level
    assert length * 2**level >= end - start


@property_test
@given(st.integers(1, 10**12))
def test_a_batch_is_at_most_half_of_what_came_before_and_never_empty(start: int) -> None:
    end = schedule.batch_end(start, 8, GROWTH)
    assert start < end <= max(start + 1, math.ceil(1.5 * start))
    assert schedule.batch_end(0, start, GROWTH) == start


def test_the_wait_for_a_look_vanishes_beside_what_came_before() -> None:
    """A block is about sqrt(length) / BLOCKS records, until the most blocks are reached."""
    shares = []
    for start in (10**3, 10**4, 10**5, 10**6, 10**7):
        looks = blocks_of(start, 8, LEVELS)
        shares.append((looks[0] - start) / start)
        assert looks[0] - start <= math.sqrt(looks[-1] - start) / BLOCKS + 1
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] < 0.003


def test_the_level_is_the_least_that_gives_enough_blocks() -> None:
    for length in (1, 64, 65, 256, 257, 1024, 1025, 10**6):
        level = schedule.block_level(length, BLOCKS, 30)
        assert 2**level >= BLOCKS * math.sqrt(length)
        assert level == 0 or 2 ** (level - 1) < BLOCKS * math.sqrt(length)
        assert schedule.block_level(length, BLOCKS, 0) == 0


@pytest.mark.parametrize("rule", [schedule.batch_end, schedule.block_level, schedule.block_length])
def test_rules_ask_for_whole_numbers_and_constants_alone(rule: object) -> None:
    function = getattr(rule, "py_func", rule)
    assert set(inspect.signature(function).parameters) <= {
        "records",
        "first",
        "growth",
        "length",
        "share",
        "most",
        "level",
    }
