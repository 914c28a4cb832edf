"""One calibration worked out for one setting: the pieces of its budget, its noise, and what that noise costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from hushprice import checks
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.policies.paper import published_noise
from hushprice.policies.paper.calibration import calibrate
from hushprice.policies.paper.noise import Noise, events
from hushprice.policies.paper.tight_noise import largest_deviation
from hushprice.policies.protocol import Constants
from hushprice.privacy import accountant, gaussian, sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta, PrivacyBudget
from hushprice.privacy.events import CovarianceStream, PerturbedEstimate
from hushprice.privacy.loss import compose, loss_of
from hushprice.privacy.sensitivity import LossBounds
from hushprice.privacy.streams import Tree


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One calibration worked out."""

    name: str
    budget: PrivacyBudget
    horizon: int
    adjacency: Adjacency
    assumed: Constants  # what the paper takes for granted
    losses: LossBounds  # what is true
    noise: Noise
    stream: CovarianceStream
    estimate: PerturbedEstimate
    calls: int

    @property
    def from_paper(self) -> bool:
        return self.name != "tight"

    @property
    def nodes(self) -> int:
        """Releases of the covariance stream that one record enters: a node a level, or the whole filter at once."""
        return self.stream.strategy.levels if isinstance(self.stream.strategy, Tree) else 1

    @property
    def node(self) -> EpsilonDelta:
        """The paper's share of one node (alg:private-cov, line 2)."""
        m, delta = self.nodes, self.budget.covariance.delta / (2 * self.nodes)
        spread = 2 * m * -math.log(delta)
        divisor = spread if self.name == "printed" else 2 * math.sqrt(spread)
        return EpsilonDelta(self.budget.covariance.epsilon / divisor, delta)

    @property
    def call(self) -> EpsilonDelta:
        """The paper's share of one estimate (alg:framework, line 3)."""
        return published_noise.per_estimate(self.budget.estimates, self.calls, halved=self.name == "printed")

    @property
    def mu(self) -> float:
        """The mu of the whole covariance stream."""
        return loss_of(self.stream, 1, self.adjacency).mu

    @property
    def alone(self) -> tuple[float, float]:
        """What one node and what one estimate cost with the noise they have, at the paper's delta for them."""
        node = gaussian.epsilon_of(self.budget.covariance.delta / (2 * self.nodes), self.mu / math.sqrt(self.nodes))
        loss = loss_of(self.estimate, 1, self.adjacency)
        return node, accountant.epsilon_of(loss, self.budget.estimates.delta / (2 * self.calls))

    def textbook(self, rule: Callable[[EpsilonDelta, int, float], EpsilonDelta]) -> float:
        """Epsilon of all nodes and estimates by a textbook rule; infinity where it overflows."""
        total = 0.0
        shares = (self.budget.covariance, self.budget.estimates)
        for share, count, epsilon in zip(shares, (self.nodes, self.calls), self.alone, strict=True):
            try:
                total += rule(EpsilonDelta(epsilon, share.delta / (2 * count)), count, share.delta / 2).epsilon
            except (OverflowError, InvalidInput):  # e^epsilon, or epsilon itself, is beyond every float
                return math.inf
        return total

    def epsilon(self, account: Callable[[Any, float], float]) -> float:
        """What everything costs together, by this accountant."""
        parts = (loss_of(self.stream, 1, self.adjacency), loss_of(self.estimate, self.calls, self.adjacency))
        return account(compose(parts), self.budget.total.delta)

    @property
    def proven(self) -> float:
        return self.epsilon(accountant.epsilon_of)

    @property
    def deviation(self) -> float:
        return largest_deviation(self.noise, self.horizon)


def work_out(
    name: str,
    budget: PrivacyBudget,
    *,
    horizon: int,
    dimension: int,
    max_estimates: int,
    ridge: float,
    demand: Demand,
    adjacency: Adjacency,
) -> Case:
    """Calibration `name` for this setting, with noise as it is drawn live."""
    losses = sensitivity.of_loss(demand)
    constants = Constants(bound=demand.bound, scale=demand.scale, curvature=demand.paper_curvature)
    noise = calibrate(
        name,
        budget,
        horizon=horizon,
        dimension=dimension,
        max_estimates=max_estimates,
        ridge=ridge,
        constants=constants,
        losses=losses,
        adjacency=adjacency,
    )
    stream, estimate = events(noise, horizon=horizon, dimension=dimension, losses=losses, live=True)
    assert isinstance(stream, CovarianceStream)  # something is claimed
    assert isinstance(estimate, PerturbedEstimate)
    return Case(
        name=name,
        budget=budget,
        horizon=horizon,
        adjacency=adjacency,
        assumed=replace(constants, scale=1.0) if name == "published" else constants,
        losses=losses,
        noise=noise,
        stream=stream,
        estimate=estimate,
        calls=max_estimates,
    )


# Composition as the paper has it, for comparison; nothing is proven by it, and accountant.py is tighter than both.


def basic(each: EpsilonDelta, count: int) -> EpsilonDelta:
    """k times epsilon and delta (fact:composition).

    >>> basic(EpsilonDelta(0.5, 1e-6), 4)
    EpsilonDelta(epsilon=2.0, delta=4e-06)
    """
    checks.whole(1, count=count)
    return EpsilonDelta(count * each.epsilon, min(1.0, count * each.delta))


def advanced(each: EpsilonDelta, count: int, slack: float) -> EpsilonDelta:
    """sqrt(2 k ln(1/slack)) e + k e (e^e - 1), at the price of another `slack` in delta (fact:composition, 2)."""
    checks.whole(1, count=count)
    checks.probability(slack=slack)
    epsilon = each.epsilon
    total = math.sqrt(-2 * count * math.log(slack)) * epsilon + count * epsilon * math.expm1(epsilon)
    return EpsilonDelta(total, min(1.0, count * each.delta + slack))
