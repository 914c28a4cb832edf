"""Fits of a log: two neighbouring logs, and how well everything that a fit publishes tells them apart.

Both go through what the fit itself runs, whole numbers, grids and all, with noise from a script that counts what was
asked for. Given the releases before it, a release is a sum plus noise, so a pair's mu is read off exactly: how far the
sums are apart, in deviations of the noise that was asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from hushprice.logs.fit.fit_noise import FitNoise, calibrate_fit
from hushprice.logs.fit.passes_of_fit import FitState, Plan
from hushprice.logs.fit.score_plan import ScorePlan
from hushprice.logs.fit.whole_sums import Adding, published
from hushprice.logs.passes import run_pass
from hushprice.logs.rows import LogRows
from hushprice.noise import System
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import grid_of
from hushprice.privacy.loss import loss_of
from hushprice.product import Product
from hushprice.research.audits.finding import Measurement
from hushprice.types import FloatArray

_STEEP = 400.0  # of log-odds: all buy or nobody does
_SLACK = 1e-9
COMPANY = 40  # units besides the one that differs
_PLANNED = 4000  # units that plans are made for: then every instrument has a share of the length


@dataclass(frozen=True, slots=True, eq=False)
class OneUnit:
    """The rows of a row, or of a customer."""

    contexts: FloatArray
    prices: FloatArray
    demands: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class UnitsLog:
    """A log of units in memory; with customers if any has several rows."""

    units: tuple[OneUnit, ...]
    customers: bool

    @property
    def partitions(self) -> int:
        return 1

    def blocks(self, partition: int) -> Iterator[LogRows]:
        who = np.repeat(np.arange(len(self.units)), [len(each.prices) for each in self.units])
        yield LogRows(
            contexts=np.concatenate([each.contexts for each in self.units]),
            prices=np.concatenate([each.prices for each in self.units]),
            demands=np.concatenate([each.demands for each in self.units]),
            customers=who.astype(np.int64) if self.customers else None,
            propensities=None,
            first=0,
        )


@dataclass(frozen=True)
class AskedNoise(System):
    """Live noise that is always the same, and remembers the deviations it was asked for, in steps of the grid."""

    drawn: int = 0
    scales: list[float] = field(default_factory=list)

    def integers(self, scale: float, count: int) -> list[int]:
        self.scales.append(scale)
        return [self.drawn] * count


def unit_mu(plan: Plan | None, noise: float, size: int, rows: int, logs: tuple[UnitsLog, UnitsLog]) -> float:
    """How well one pass tells two logs apart, given everything before it."""
    asked, steps = AskedNoise(), AskedNoise(drawn=1)
    totals = [run_pass(log, Adding(rows, plan), size) for log in logs]
    first, other = (published(total, noise, asked, 0) for total in totals)
    step = published(totals[0], noise, steps, 0) - first  # of the grid, as it is added
    return float(np.linalg.norm((first - other) / (step * min(asked.scales))))


def audit_fit(
    product: Product, claimed: EpsilonDelta, *, rows: int = 1, pairs: int = 12, seed: int = 0
) -> list[Measurement]:
    """The largest mu of each description, of each score and of all together, over the worst pairs and random ones."""
    noise = calibrate_fit(claimed, contexts=product.contexts, rows=rows, live=True)
    random = np.random.default_rng(seed)
    company = tuple(_unit(product.contexts, random, rows) for _ in range(COMPANY))
    plans = _plans(product, noise, UnitsLog(company, rows > 1))
    sizes, deviations = zip(*noise.event.releases, strict=True)
    found: list[list[float]] = []
    for first, other, steep in _pairs(product.contexts, random, rows, pairs):
        logs = UnitsLog((first, *company), rows > 1), UnitsLog((other, *company), rows > 1)
        taken = [
            replace(plan, theta=steep) if isinstance(plan, ScorePlan) and steep is not None else plan for plan in plans
        ]
        found.append([unit_mu(*each, rows, logs) for each in zip(taken, deviations, sizes, strict=True)])
    loss = loss_of(noise.event, 1, noise.adjacency)
    allowed, seen = dict[str, float](), dict[str, float]()
    for i, (deviation, size) in enumerate(zip(deviations, sizes, strict=True)):
        allowed[f"release {i}"] = 1.0 / deviation + _charged(deviation, size, rows)
        seen[f"release {i}"] = max(each[i] for each in found)
    seen["all releases"], allowed["all releases"] = max(math.hypot(*each) for each in found), loss.mu
    return [
        Measurement(
            f"fit ({name}, {rows} rows a unit, {noise.adjacency.value})",
            seen[name],
            most,
            seen[name] <= most * (1.0 + _SLACK),
            f"largest mu of {len(found)} neighbouring pairs",
        )
        for name, most in allowed.items()
    ]


def _charged(noise: float, numbers: int, rows: int) -> float:
    """What cutting and rounding are charged for, in deviations (loss._of_log_fit)."""
    return 1e-9 + (2.0 * grid_of(noise) + 2.0**-37 * rows) * math.sqrt(numbers) / noise


def _plans(product: Product, noise: FitNoise, log: UnitsLog) -> list[Plan | None]:
    """What every pass of a fit of this log, without noise, adds up."""
    state, plans = FitState(product, noise, _PLANNED), list[Plan | None]()
    for number in range(state.passes):
        plan = state.next_plan()
        plans.append(plan)
        total = run_pass(log, Adding(noise.event.rows, plan), state.next_size())
        state.take(published(total, state.next_noise(), AskedNoise(), number), plan)
    return plans


def _unit(contexts: int, random: np.random.Generator, rows: int, scale: float = 0.5) -> OneUnit:
    count = int(random.integers(1, rows + 1))
    demands = random.choice([0.0, 0.4, 1.0], size=count)
    return OneUnit(scale * random.normal(size=(count, contexts)), scale * random.normal(size=count), demands)


def _pairs(
    contexts: int, random: np.random.Generator, rows: int, count: int
) -> Iterator[tuple[OneUnit, OneUnit, FloatArray | None]]:
    """Corner pairs, at a belief by which one was sure to buy and did not; then random ones, also out of all bounds."""
    for demand, many in ((1.0, rows), (0.0, rows), (1.0, 1)):
        theta = np.zeros(2 * contexts + 2)
        theta[contexts + 1], theta[0] = 50.0 * _STEEP, 49.5 * _STEEP  # between a relative price of 0.98 and one of 1
        sure, unsure = np.full(many, 0.98), np.ones(many)
        ones = np.ones((many, contexts))
        yield OneUnit(ones, unsure, np.full(many, demand)), OneUnit(ones, sure, np.full(many, 1.0 - demand)), theta
    yield OneUnit(np.ones((1, contexts)), np.ones(1), np.ones(1)), OneUnit(-ones[:1], np.ones(1), np.ones(1)), None
    for _ in range(count):
        scale = float(random.choice([0.5, 3.0, 1e6]))
        theta = float(random.choice([0.0, 1.0, 30.0])) * random.normal(size=2 * contexts + 2)
        yield _unit(contexts, random, rows, scale), _unit(contexts, random, rows, scale), theta
