"""Sums over a log with noise: what every charged answer about a log is made of.

The ledger is charged and noise is drawn before a row is read. What a row adds is held to the unit ball as whole
numbers, which add up exactly, wherever and in whichever order (docs/proofs/log_values.md).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.logs.bounded import BoundedLog, bounded
from hushprice.logs.passes import run_pass
from hushprice.logs.rows import Log, LogRows
from hushprice.mechanisms.exact_sums import in_unit_balls
from hushprice.mechanisms.whole_numbers import UNIT_BITS, round_bits
from hushprice.privacy import accountant, sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import LogSums, grid_of
from hushprice.privacy.ledger import Entry, Ledger, loss_of_all
from hushprice.privacy.roots import brentq
from hushprice.types import FloatArray, IntArray

_MOST_ROWS = 1 << 20  # added in 64 bits: no number is above 2^40, so sums stay below 2^60
_MARGIN = 1e-8  # of epsilon, left over for another machine's last digits
Contribution = Callable[[LogRows], FloatArray]  # rows in, a vector a row out


class Integers(Protocol):
    """Where noise comes from: `noise.System`."""

    def integers(self, scale: float, count: int) -> list[int]: ...


@dataclass(frozen=True, slots=True)
class SumPrice:
    """One sum: how many numbers it has, and its part of the mu^2 that the budget buys."""

    entries: int
    part: float = 1.0


def open_sums(claimed: EpsilonDelta, shares: tuple[SumPrice, ...], *, rows: int) -> Ledger:
    """A ledger that allows these sums of a log, once each, with the least noise that the claim pays for."""
    checks.positive(epsilon=claimed.epsilon)
    checks.probability(delta=claimed.delta)
    checks.whole(1, rows=rows)
    return Ledger(adjacency=Adjacency.REPLACE_ONE, claimed=claimed, allowance=_calibrated(claimed, shares, rows))


@functools.lru_cache(maxsize=64)
def _calibrated(claimed: EpsilonDelta, shares: tuple[SumPrice, ...], rows: int) -> tuple[Entry, ...]:
    moved = sensitivity.of_log_sums(rows, Adjacency.REPLACE_ONE)

    def entries(log_mu: float) -> tuple[Entry, ...]:
        mu = math.exp(log_mu)
        return tuple(
            Entry(
                LogSums(rows=rows, entries=share.entries, noise=moved / (mu * math.sqrt(share.part)), live=True),
                1,
            )
            for share in shares
        )

    def excess(log_mu: float) -> float:
        proven = accountant.epsilon_of(loss_of_all(entries(log_mu), Adjacency.REPLACE_ONE), claimed.delta)
        return math.log(max(proven, 1e-300) / (claimed.epsilon * (1.0 - _MARGIN)))

    low, high = math.log(1e-6), math.log(100.0)
    if not excess(low) < 0.0 < excess(high):
        raise InvalidInput(f"epsilon {claimed.epsilon!r} at delta {claimed.delta!r} is out of reach")
    root = float(brentq(excess, low, high, xtol=1e-12, rtol=1e-12))
    while excess(root) > 0.0:  # errors are made to fall on the private side
        root -= 1e-10
    return entries(root)


def release_sum(log: Log, add: Contribution, ledger: Ledger, place: int, source: Integers) -> tuple[FloatArray, Ledger]:
    """The allowance's sum at `place`, with noise, and the ledger after it; of a person, the event's rows count."""
    event = (ledger.allowance or ())[place].event
    assert isinstance(event, LogSums)
    after = ledger.spend(event)  # a refusal means that nothing happened
    drawn = source.integers(event.noise / grid_of(event.noise), event.entries)
    if not (isinstance(log, BoundedLog) and log.most <= event.rows):
        log = bounded(log, most=event.rows)
    total = run_pass(log, functools.partial(_whole, add, event.entries), event.entries)
    shift = 1 - math.frexp(grid_of(event.noise))[1]
    made = [round_bits(value, UNIT_BITS - shift) + each for value, each in zip(total, drawn, strict=True)]
    return np.array([math.ldexp(value, -shift) for value in made]), after


def _whole(add: Contribution, entries: int, rows: LogRows) -> IntArray:
    """What a block adds, in units of 2^-40: every row's vector held to [0, 1] and to the unit ball on its own."""
    vectors = add(rows)
    if vectors.shape != (len(rows.prices), entries):
        raise InvalidInput(f"a row must add {entries} numbers, got shape {vectors.shape}")
    # fmin and fmax: a number that is none becomes 1, and is held like any other.
    held = np.fmax(np.fmin(vectors, 1.0), 0.0).T
    total = np.zeros(entries, dtype=object)
    for start in range(0, held.shape[1], _MOST_ROWS):
        total += in_unit_balls(held[:, start : start + _MOST_ROWS]).sum(axis=1).astype(object)
    return total


def noise_of(ledger: Ledger, place: int) -> float:
    """The deviation of an entry of the sum at `place`."""
    event = (ledger.allowance or ())[place].event
    assert isinstance(event, LogSums)
    return event.noise
