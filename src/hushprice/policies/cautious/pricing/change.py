"""Has demand changed? What could be lost before it is noticed, and when it is noticed.

A belief says nothing about a world that changes overnight. So two changes are kept in mind, at any moment in the past:
customers' price response becomes _TIMES as large, or as small, as believed and as expected at first. Every release
speaks for or against them (a likelihood ratio). A change that the releases since do not exclude may have happened, and
what it would have cost counts against the promise. Changes by _HALFWAY are noticed too: under a larger one, what was
sold after them is as unlikely as if nothing had changed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from hushprice.policies.cautious.pricing.belief import (
    Belief,
    ReleasedBatch,
    Rule,
    misfit_of,
    score_model,
    score_variance,
)
from hushprice.policies.cautious.pricing.instruments import used_entries
from hushprice.policies.cautious.pricing.shop_model import ShopModel, with_constant
from hushprice.types import FloatArray

CHANGES = 4  # steeper, flatter; and half as much of each
MINDED = 2  # of them, the first: what the promise counts
_TIMES = 3.0
_HALFWAY = math.sqrt(_TIMES)
_TOLERANCE = 0.1  # of demand: what no model gets right, and no cause for alarm
_SURPRISE = 1e-6  # a release this unlikely says that demand has changed
_CERTAIN = 5.0  # log-likelihood by which releases must speak for a change
_EXCLUDED = -0.5  # and against it


@dataclass(frozen=True, slots=True)
class Change:
    """What a batch's release says about one of the changes, and what a customer of it earned if it was there."""

    evidence: float  # log-likelihood ratio, positive for the change
    gain: float  # over staying, as a share of it


def changed_thetas(model: ShopModel, people: FloatArray, theta: FloatArray) -> list[FloatArray]:
    """Demand after each of the changes: the same customers, at today's price as likely to buy as before."""
    _, response = model.lines(theta, with_constant(people))
    mean = float(response.mean())
    thetas = []
    most, least = max(model.response, mean), min(model.response, mean)
    for target in (_TIMES * most, least / _TIMES, _HALFWAY * most, least / _HALFWAY):
        thetas.append(theta.copy())
        thetas[-1][model.contexts + 1] += target - mean
    return thetas


def gain_under(model: ShopModel, people: FloatArray, theta: FloatArray, both: tuple[FloatArray, FloatArray]) -> float:
    """What prices earn over staying, were demand by theta."""
    level, response = model.lines(theta, with_constant(people))
    earned = model.earned(level, response, both[0]) + model.earned(level, response, both[1])
    return float(0.5 * earned / model.earned(level, response, 0.0) - 1.0)


def changes_of(model: ShopModel, people: FloatArray, batch: ReleasedBatch, belief: Belief) -> list[Change]:
    """What a release, of customers priced by this belief, says about the changes."""
    used = used_entries(model.contexts, batch.rule.choice)
    found = score_model(model, people, batch.rule, belief.theta, belief.theta, count=batch.rule.count)
    spread = found.jacobian @ belief.covariance @ found.jacobian.T
    spread += score_variance(found, misfit_of(found, belief.covariance), batch.noise)
    # Expected under the belief: nothing, but where chances to buy are held to bounds.
    spread, score = spread[np.ix_(used, used)], (batch.score - found.expected)[used]
    weighed = np.linalg.solve(spread, score)
    evidence = []
    for theta in changed_thetas(model, people, belief.theta):
        changed = score_model(model, people, batch.rule, belief.theta, theta, count=batch.rule.count)
        shift = (changed.expected - found.expected)[used]
        evidence.append(float(weighed @ shift - 0.5 * shift @ np.linalg.solve(spread, shift)))
    gains = gains_changed(model, people, belief, batch.rule)
    return [Change(*each) for each in zip(evidence, gains, strict=True)]


def gains_changed(model: ShopModel, people: FloatArray, belief: Belief, rule: Rule) -> list[float]:
    """What a rule earns over staying after each of the changes."""
    thetas = changed_thetas(model, people, belief.theta)
    return [believed_gain(model, people, theta, rule, belief.theta) for theta in thetas]


def believed_gain(model: ShopModel, people: FloatArray, theta: FloatArray, rule: Rule, priced_by: FloatArray) -> float:
    """What customers priced by one theta earned over staying, were demand by another."""
    level, response = model.lines(priced_by, with_constant(people))
    both = model.coin_prices(level, response, rule.move, rule.spread, rule.offset)
    return gain_under(model, people, theta, both)


def surprising(model: ShopModel, people: FloatArray, batch: ReleasedBatch, belief: Belief, alarms: int = 0) -> bool:
    """Is this release too unlikely under the belief its customers were priced by, whatever the change?

    After `alarms` of them it is likelier that the model does not fit, and more is tolerated.
    """
    used = used_entries(model.contexts, batch.rule.choice)
    found = score_model(model, people, batch.rule, belief.theta, belief.theta, count=batch.rule.count)
    tolerance = _TOLERANCE * (1 + alarms)
    misfit = misfit_of(found, belief.covariance) + tolerance * tolerance * found.size
    # Laplace noise is often far out: twice its deviation is counted.
    spread = found.jacobian @ belief.covariance @ found.jacobian.T + score_variance(found, misfit, 2.0 * batch.noise)
    spread, score = spread[np.ix_(used, used)], (batch.score - found.expected)[used]
    return bool(chdtrc(score.size, score @ np.linalg.solve(spread, score)) < _SURPRISE)


def certain_since(changes: list[list[Change]], alarms: int = 0) -> tuple[int, int] | None:
    """The batch at which a change is certain to have happened, if one is, and which; `changes` has a list a batch.

    Every alarm so far asks for more evidence: it is likelier then that the model does not fit.
    """
    best, found = _CERTAIN * (1.0 + 0.5 * alarms), None
    for which in range(CHANGES):
        evidence = 0.0
        for k in range(len(changes) - 1, -1, -1):
            evidence += changes[k][which].evidence
            if evidence > best:
                best, found = evidence, (k, which)
    return found


def worst_unnoticed(changes: list[list[Change]], counts: list[int], gained: FloatArray, which: int) -> float:
    """The least that all batches may have gained, were there a change that no release excludes.

    gained[k] is what the first k batches gained.
    """
    evidence, lost = 0.0, 0.0
    worst = float(gained[-1])
    for k in range(len(changes) - 1, -1, -1):
        evidence += changes[k][which].evidence
        lost += counts[k] * changes[k][which].gain
        if evidence >= _EXCLUDED:
            worst = min(worst, float(gained[k]) + lost)
    return worst
