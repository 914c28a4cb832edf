"""The tree against alg:private-cov written line by line, and against mistakes that a tree is easily made with.

Two streams tell everything apart: record n carries the unit vector e_n and no noise, or no record and the noise e_n. A
release then lists exactly which records, or which nodes' noise, it is the sum of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hushprice.mechanisms import tree
from hushprice.numerics.jit import COMPILED
from hushprice.privacy import streams

LONGEST = 300 if COMPILED else 130
Absorb = Callable[..., None]


def releases(absorb: Absorb, summands: np.ndarray, noises: np.ndarray) -> np.ndarray:
    """Every release of a stream, one row a record."""
    count, size = summands.shape
    levels = streams.tree(count + 1).levels
    exact, running = np.zeros((levels, size)), np.zeros((levels + 1, size))
    out = []
    for n in range(1, count + 1):
        absorb(exact, running, n, summands[n - 1], noises[n - 1])
        out.append(running[0].copy())
    return np.array(out)


def algorithm(summands: np.ndarray, noises: np.ndarray) -> np.ndarray:
    """alg:private-cov, lines 3 to 9, with m = ceil(log2 T) and T - 1 records."""
    m = int(np.ceil(np.log2(len(summands) + 1)))
    sigma = [np.zeros(summands.shape[1]) for _ in range(m)]
    sigma_hat = [np.zeros(summands.shape[1]) for _ in range(m)]
    out = []
    for n in range(1, len(summands) + 1):
        bits = [n // 2**level % 2 for level in range(m)]
        lowest = min(level for level in range(m) if bits[level] == 1)
        sigma[lowest] = summands[n - 1] + sum(sigma[:lowest], np.zeros(summands.shape[1]))
        for level in range(lowest):
            sigma[level] = np.zeros(summands.shape[1])
            sigma_hat[level] = np.zeros(summands.shape[1])
        sigma_hat[lowest] = sigma[lowest] + noises[n - 1]
        out.append(sum((bits[level] * sigma_hat[level] for level in range(m)), np.zeros(summands.shape[1])))
    return np.array(out)


def check(absorb: Absorb) -> None:
    """What every release must be the sum of: all records so far, and one noise per node that makes up n."""
    units, nothing = np.eye(LONGEST), np.zeros((LONGEST, LONGEST))
    np.testing.assert_array_equal(releases(absorb, units, nothing), np.tri(LONGEST))
    noises = releases(absorb, nothing, units)
    for n in range(1, LONGEST + 1):
        closed = {n >> level << level for level in range(n.bit_length())}  # last records of the nodes that make up n
        assert set(np.flatnonzero(noises[n - 1]) + 1) == closed
        assert np.sum(noises[n - 1]) == n.bit_count()
        np.testing.assert_array_equal(noises[n - 1][noises[n - 1] != 0.0], 1.0)


def reused(exact: Any, running: Any, count: int, summand: Any, noise: Any) -> None:
    """Planted: a node takes over the noise of the child that closed just before it."""
    again = noise if count % 2 == 1 else np.roll(noise, -1)
    tree.absorb(exact, running, count, summand, again)


def shifted(exact: Any, running: Any, count: int, summand: Any, noise: Any) -> None:
    """Planted: the node closes one level too low, so its last child is not merged into it."""
    level = max(0, (count & -count).bit_length() - 2)
    node = summand + exact[:level].sum(axis=0)
    exact[:level] = 0.0
    exact[level] = node
    running[: level + 1] = running[level + 1] + node + noise


def halved(exact: Any, running: Any, count: int, summand: Any, noise: Any) -> None:
    """Planted: half the noise."""
    tree.absorb(exact, running, count, summand, 0.5 * noise)


def doubled(exact: Any, running: Any, count: int, summand: Any, noise: Any) -> None:
    """Planted: a node's noise is added again when the next record arrives."""
    tree.absorb(exact, running, count, summand, noise + np.roll(noise, -1))


def test_releases_are_prefix_sums_with_one_noise_per_node() -> None:
    check(tree.absorb)


@pytest.mark.parametrize("planted", [reused, shifted, halved, doubled])
def test_planted_mistakes_are_caught(planted: Absorb) -> None:
    with pytest.raises(AssertionError):
        check(planted)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 64, 100])
def test_the_tree_is_the_papers(count: int) -> None:
    generator = np.random.default_rng(2)
    summands, noises = generator.normal(size=(2, count, 3))
    np.testing.assert_allclose(
        releases(tree.absorb, summands, noises), algorithm(summands, noises), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("horizon", [2, 3, 4, 5, 100, 128, 129])
def test_a_record_enters_at_most_one_node_of_each_level(horizon: int) -> None:
    levels, size = streams.tree(horizon).levels, horizon - 1
    exact, running = np.zeros((levels, size)), np.zeros((levels + 1, size))
    entered = np.zeros((levels, size))
    for n in range(1, horizon):
        tree.absorb(exact, running, n, np.eye(size)[n - 1], np.zeros(size))
        closed = (n & -n).bit_length() - 1
        entered[closed] += exact[closed]
    assert entered.max() <= 1.0
    assert entered.sum(axis=0).max() <= levels
    assert np.linalg.norm(entered, axis=0).max() <= streams.tree(horizon).column_norm(size)
    assert entered[0].sum() == (horizon - 1 + 1) // 2  # every odd record is a node of its own


def test_past_the_last_level_nothing_is_written() -> None:
    """n = 2^m would need a level the noise was not calibrated for; compiled code must not write there either."""
    room = np.zeros((2 + 3 + 3, 3))
    exact, running, guard = room[:2], room[2:5], room[5:]
    for n in range(1, 4):
        tree.absorb(exact, running, n, np.ones(3), np.zeros(3))
    before = room.copy()
    for n in (4, 5, 8, 2**40):
        tree.absorb(exact, running, n, np.ones(3), np.ones(3))
    np.testing.assert_array_equal(room, before)
    np.testing.assert_array_equal(running[0], 3.0)
    np.testing.assert_array_equal(guard, 0.0)


@pytest.mark.parametrize("first", [1, 2, 7, 64, 100])
@pytest.mark.parametrize("count", [1, 5, 33])
def test_many_records_at_once_are_the_same_records_one_by_one(first: int, count: int) -> None:
    rng = np.random.default_rng(first)
    summands, noises = rng.normal(size=(3, first + count)), rng.normal(size=(3, first + count))
    levels = 7  # records past 127 have no node, one by one and together
    scales = np.array([0.5, 0.3, 7.0])  # a deviation for every entry
    one = np.zeros((levels, 3)), np.zeros((levels + 1, 3))
    many = np.zeros((levels, 3)), np.zeros((levels + 1, 3))
    for n in range(1, first):
        for state in (one, many):
            tree.absorb(*state, n, summands[:, n].copy(), scales * noises[:, n])
    before = []
    for n in range(first, first + count):
        before.append(one[1][0].copy())
        tree.absorb(*one, n, summands[:, n].copy(), scales * noises[:, n])
    released = np.full((3, count), np.nan)
    columns = summands[:, first:].copy(), noises[:, first:].copy()
    tree.absorb_many(*many, first, count, *columns, scales, released)
    np.testing.assert_array_equal(released.T, before)
    for mine, theirs in zip(many, one, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("count", [1, 2, 7, 100, 127])
def test_no_release_has_more_noise_than_the_strategy_says_and_one_has_as_much(count: int) -> None:
    noises = releases(tree.absorb, np.zeros((count, count)), np.eye(count))
    assert np.linalg.norm(noises, axis=1).max() == pytest.approx(streams.tree(count + 1).row_norm(count), rel=1e-12)
