"""What rivals' private sides tell, measured: streams exactly, pure ones by the largest ratio of chances."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.noise import System
from hushprice.policies.rival_parts.private.directions import coins_of, direction
from hushprice.policies.rival_parts.private.gram import GramReleaser, LiveGramReleaser
from hushprice.policies.rival_parts.private.laplace_tree import LaplaceTree
from hushprice.policies.rival_parts.private.sales import SalesReleaser
from hushprice.policies.rival_parts.private.sums import NoisySums, reports
from hushprice.policies.rival_parts.rival_policy import RivalPolicy
from hushprice.policies.rivals.ldp_mab.private import report
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import BitReports, CovarianceStream, DirectionReports, Event, GaussianSums, LaplaceSums
from hushprice.privacy.loss import loss_of
from hushprice.releases import CovarianceRelease
from hushprice.research.audits.finding import Measurement
from hushprice.research.audits.linear_gaussian import ScriptedStreamNoise, audit_stream
from hushprice.types import FloatArray

_COINS = 4001  # places of a coin that are tried, evenly spaced
_SLACK = 1e-3  # of ratios found by counting coins


def audit_rival(policy: RivalPolicy, *, steps: int = 15, longest: float = 1.0, seed: int = 0) -> list[Measurement]:
    """A measurement of each of the policy's events, against what loss.py charges; none where nothing is claimed.

    `longest` is the length of records that are fed to a stream: more than 1 asks whether they are held to the ball.
    """
    return [_measured(policy, event, steps, longest, seed) for event in policy.events]


def _measured(policy: RivalPolicy, event: Event, steps: int, longest: float, seed: int) -> Measurement:
    if isinstance(event, CovarianceStream):
        short, build = replace(event, steps=steps), _build(event, steps, longest)
        return audit_stream(short, policy.adjacency, build=build, seed=seed)
    loss = loss_of(event, 1, policy.adjacency)
    charged, detail = loss.pure, f"largest ln of a ratio of chances, to {100.0 * _SLACK:g} %"
    match event:
        case LaplaceSums():
            name, measured = "sums with Laplace noise", _sum_ratio(event, steps)
        case BitReports():
            name, measured = "reports of a bit", _bit_ratio(event, _even(policy))
        case DirectionReports():
            name, measured = "reports of a direction", _direction_ratio(event, _even(policy))
        case GaussianSums():
            name, measured = "sums with Gaussian noise", _gaussian_mu(policy, event)
            charged, detail = loss.mu, "distance of all sums in units of their noise"
        case _:
            raise InvalidInput(f"policy {policy.name!r} has releasers that no audit here knows")
    slack = 0.0 if isinstance(event, GaussianSums) else _SLACK  # which is found exactly
    held = measured <= charged * (1.0 + slack) + slack
    return Measurement(f"{name} ({policy.adjacency.value})", measured, charged, held, detail)


class _ManyScripted:
    """A script of noise that gives many periods at once, as the tape does."""

    def __init__(self, script: ScriptedStreamNoise) -> None:
        self._script = script

    def normals(self, stream: int, period: int, count: int) -> FloatArray:
        return self._script.normals(stream, period, count)

    def normals_many(self, stream: int, first: int, periods: int, count: int) -> FloatArray:
        return np.column_stack([self._script.normals(stream, first + i, count) for i in range(periods)])


class _Stretching:
    """A releaser that gets every record `longest` times as long as it was."""

    def __init__(self, releaser: GramReleaser | LiveGramReleaser, longest: float) -> None:
        self._releaser, self._longest = releaser, longest

    def absorb(self, phi: FloatArray) -> CovarianceRelease:
        return self._releaser.absorb(self._longest * phi)


def _build(event: CovarianceStream, steps: int, longest: float) -> Any:
    short = replace(event, steps=steps)
    if event.grid > 0.0:
        return lambda source: _Stretching(LiveGramReleaser(short, source), longest)
    return lambda source: _Stretching(GramReleaser(event.dimension, steps + 1, short, _ManyScripted(source)), longest)


class _Script:
    """Normals that are all the same number."""

    def __init__(self, number: float) -> None:
        self._number = number

    def standard_normal(self, size: int | tuple[int, ...]) -> FloatArray:
        return np.full(size, self._number)


def _gaussian_mu(policy: RivalPolicy, event: GaussianSums) -> float:
    """mu of everything that is released of two neighbours: as many sums as the releaser gives, its own noise in each.

    The records that differ point away from each other, as far as their vectors may, and are far longer than allowed.
    """
    angle = 2.0 * math.asin(0.5 * event.apart)
    row = np.array([[100.0, 0.0]])
    other = 100.0 * np.array([[math.cos(angle), math.sin(angle)]])
    if policy.adjacency is Adjacency.ZERO_OUT:
        other = np.zeros((1, 2))
    given = (row, 0.0), (row, 1.0), (other, 0.0)
    if event.live:
        event = replace(event, entries=max(event.entries, 2))  # as many as these rows have
    if event.rounds > 1:
        return math.sqrt(_all_sums(event, given))
    script = _LiveScript if event.live else _script
    told = _apart(*(reports(each, event, script(number))[0] for each, number in given))
    return math.sqrt(max(told, _all_sums(event, given)))


def _all_sums(event: GaussianSums, given: tuple[tuple[FloatArray, float], ...]) -> float:
    """mu^2 of all sums that a releaser gives before it refuses one."""
    script = _LiveScript if event.live else _script
    releasers, total = [NoisySums(event, script(number)) for _, number in given], 0.0
    for _ in range(event.rounds + 1):  # one more than there are
        try:
            total += _apart(*(each.of(row) for each, (row, _) in zip(releasers, given, strict=True)))
        except BudgetExhausted:
            break
    return total


def _apart(quiet: FloatArray, one: FloatArray, changed: FloatArray) -> float:
    """mu^2 of a sum without noise, the same where each number drawn is 1, and a neighbour's."""
    return float(np.sum((changed - quiet) ** 2) / np.mean(one - quiet) ** 2)


def _script(number: float) -> Any:
    return _Script(number)


@dataclass(frozen=True)
class _LiveScript(System):
    """Exact noise that is always the same number, in units of its scale."""

    number: float = 0.0

    def integers(self, scale: float, count: int) -> list[int]:
        return [round(self.number * scale)] * count

    laplace_integers = integers


class _Quiet:
    """Laplace noise of 0."""

    def laplace(self, size: int) -> FloatArray:
        return np.zeros(size)


def _quiet(event: LaplaceSums) -> Any:
    return _LiveScript(0.0) if event.live else _Quiet()


def _sum_ratio(event: LaplaceSums, steps: int) -> float:
    """Over everything released without its noise, how far two outcomes of one record move it, in units of the scale.

    Laplace noise on a number that moves by m has a log-ratio of m / scale at most, and reaches it.
    """
    count = min(steps, 2**event.levels - 1) if event.levels > 1 else steps
    released = _sales if event.levels == 1 else _nodes
    return max(
        float(np.abs(released(event, count, at, -1e9) - released(event, count, at, 1e9)).sum()) / event.scale
        for at in range(count)
    )


def _sales(event: LaplaceSums, count: int, position: int, outcome: float) -> FloatArray:
    """What a releaser of sums releases of records that sold nothing but for one."""
    releaser = SalesReleaser(5, event, _quiet(event))
    sales = np.zeros(count)
    sales[position] = outcome
    releaser.absorb(np.arange(count) % 5, sales)
    return releaser.release().score


def _nodes(event: LaplaceSums, count: int, position: int, outcome: float) -> FloatArray:
    """Every node that a tree closes."""
    tree = LaplaceTree(event, event.levels, _quiet(event))
    closed = np.empty(count)
    for at in range(count):
        tree.absorb(np.array([outcome if at == position else 0.0]))
        closed[at] = tree.newest
    return closed


class _EvenCoins:
    """Uniform numbers evenly spread over the unit interval, the same in every column, and normals that are all 1."""

    def random(self, size: int | tuple[int, int]) -> FloatArray:
        count, columns = size if isinstance(size, tuple) else (size, 1)
        spread = (np.arange(count) + 0.5) / count
        return np.repeat(spread[:, None], columns, axis=1) if isinstance(size, tuple) else spread

    def standard_normal(self, size: tuple[int, int]) -> FloatArray:
        return np.ones(size)


@dataclass(frozen=True)
class _EvenBits(System):
    """Live coins whose random bits are evenly spread, one after the other."""

    drawn: Iterator[int] = field(default_factory=itertools.count)

    def bits(self, count: int) -> int:
        return int((next(self.drawn) % _COINS + 0.5) / _COINS * 2**count)


def _even(policy: RivalPolicy) -> Any:
    return _EvenBits() if policy.live else _EvenCoins()


def _bit_ratio(event: BitReports, source: Any) -> float:
    """Coins evenly spread over the unit interval: how often each bit is reported as 1."""
    ones, zeros = (report(np.full(_COINS, bought), event, source).mean() for bought in (1.0, 0.0))
    return max(math.log(ones / zeros), math.log((1.0 - zeros) / (1.0 - ones)))


def _direction_ratio(event: DirectionReports, source: Any) -> float:
    """The largest log-ratio of the chances of a half-sphere, sent for two opposite gradients of length 1."""
    rng: Any = _EvenCoins()
    coins = coins_of(rng, source, _COINS, event.dimension, event.keep)
    gradient, out = np.zeros(event.dimension), np.empty(event.dimension)
    chances = []
    for side in (1.0, -1.0):
        gradient[0] = side
        inside = 0
        for row in coins:
            direction(gradient, row[:-2], 0.5, row[-1], event.keep, out)
            inside += out[0] > 0.0
        chances.append(inside / _COINS)
    return max(math.log(chances[0] / chances[1]), math.log((1.0 - chances[1]) / (1.0 - chances[0])))
