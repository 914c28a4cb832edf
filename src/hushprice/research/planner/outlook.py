"""What one budget leads to, averaged over the prior: several forecasts on every market, each with its own draws."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from hushprice.policies.newton.rules import SHORTEST, NewtonRules
from hushprice.research.planner import forecast
from hushprice.simulation.market import Market
from hushprice.simulation.trial import newton_plan
from hushprice.simulation.world import TrialInput, TrialOutput
from hushprice.types import FloatArray, IntArray

LIMIT = 10**9  # customers; nothing is looked at beyond
DRAWS = 8  # forecasts a market, each with noise and customers of its own
_A_DECADE = 40  # checkpoints
_NONE = 1e-9  # noise too small to matter, where formulas divide by it
_MOST_RELEASES = 512


@dataclass(frozen=True, eq=False)
class Outlook:
    """Forecasts with the same rules, one row a market and draw."""

    rules: NewtonRules
    checkpoints: IntArray  # customers
    regret: FloatArray  # (markets, draws, checkpoints), cumulative
    ready: FloatArray  # (markets, draws) customers before the first personal price; infinite for never
    releases: tuple[IntArray, ...]  # a run each: the customers before each release

    def average_regret(self, customers: int) -> tuple[float, float]:
        """Regret a customer: the mean over the prior, and its standard error from what is drawn within each market."""
        runs = self.regret_of_markets(customers)
        error = math.sqrt(float(runs.var(axis=1, ddof=1).mean()) / runs.size)
        return float(runs.mean()), error

    def regret_of_markets(self, customers: int) -> FloatArray:
        """(markets, draws) regret a customer. `customers` must be one of the checkpoints."""
        at = int(np.searchsorted(self.checkpoints, customers))
        return self.regret[:, :, at] / customers

    def curve(self) -> FloatArray:
        """Mean cumulative regret at the checkpoints."""
        return np.asarray(self.regret.mean(axis=(0, 1)))

    def learning(self, customers: int) -> float:
        """The share of runs that quote personal prices to some of that many customers."""
        return float(np.mean(self.ready < customers))

    def crossing(self, bar: float) -> int | None:
        """After how many customers the mean cumulative regret falls below `bar` a customer; None within LIMIT."""
        excess = self.curve() - bar * self.checkpoints
        below = np.flatnonzero(excess <= 0.0)
        if below.size == 0:
            return None
        at = int(below[0])
        if at == 0:
            return int(self.checkpoints[0])
        share = excess[at - 1] / (excess[at - 1] - excess[at])
        return math.ceil(self.checkpoints[at - 1] + share * (self.checkpoints[at] - self.checkpoints[at - 1]))


def outlook(
    markets: Sequence[Market], rules: NewtonRules, customers: int, seed: int, workers: int | None = None
) -> Outlook:
    """Forecasts for every market up to LIMIT customers."""
    checkpoints = np.unique(np.append(np.geomspace(1, LIMIT, 9 * _A_DECADE + 1).round().astype(np.int64), customers))
    regret = np.zeros((len(markets), DRAWS, checkpoints.size))
    ready = np.zeros((len(markets), DRAWS))
    slots = np.zeros((len(markets), DRAWS, _MOST_RELEASES), dtype=np.int64)
    counts = np.zeros((len(markets), DRAWS), dtype=np.int64)

    def run(index: int) -> None:
        world, plan = markets[index].world(LIMIT), newton_plan(rules, markets[index])
        for draw in range(DRAWS):
            given = TrialInput(seed, DRAWS * index + draw, LIMIT, np.zeros(0, dtype=np.int64), 0)
            totals = np.zeros(forecast.TOTALS)
            output = TrialOutput(checkpoints, regret[index, draw], totals, slots[index, draw], np.zeros(0))
            forecast.forecast(world, plan, given, output)
            ready[index, draw] = totals[forecast.PERSONAL] if totals[forecast.PERSONAL] >= 0 else math.inf
            counts[index, draw] = min(int(totals[forecast.RELEASES]), _MOST_RELEASES)

    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        list(pool.map(run, range(len(markets))))
    made = tuple(slots[i, j, : counts[i, j]] for i in range(len(markets)) for j in range(DRAWS))
    return Outlook(rules, checkpoints, regret, ready, made)


def without_privacy(rules: NewtonRules) -> NewtonRules:
    """These rules without noise, and not expecting any: what privacy costs is the difference."""
    silent = replace(rules.noise, score=_NONE, curvature=_NONE)
    return replace(rules, noise=silent, first=SHORTEST * len(rules.center), drawn=False)
