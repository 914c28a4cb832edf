"""Hiding a customer from that customer's own price costs a share of revenue for ever (prop:anticipating-linear-regret).

Classical privacy (defn:eps-delta-privacy) counts p_t among what everybody sees, so given the past p_t may depend on x_t
no more than (epsilon, delta) allows. Take two kinds of customers with different best prices. Every (epsilon, delta)-
private function of one bit can be computed from a randomized response: with probability delta the bit itself, else the
bit told truly with probability e^eps / (1 + e^eps) (Kairouz, Oh and Viswanath, "The composition theorem for
differential privacy", IEEE Transactions on Information Theory 63, 2017). So no price loses less on average than

    (1 - delta) sum over h of min over p of sum over x of Pr[x] Pr[h heard | x] (best revenue of x - revenue of x at p),

in every period, even for a shop that knows theta*. A shop that knows theta* and hears x_t so attains it.

Differs from the paper: its proof, and the constant, are in a supplement; this one is ours and sharp, and needs neither
epsilon < ln 2 nor delta < 1/4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hushprice import checks
from hushprice.demand.families import Logistic
from hushprice.demand.features import main_effects
from hushprice.privacy.budget import EpsilonDelta
from hushprice.research.theory.finding import CheckSize, FindingRow, TheoryFinding
from hushprice.research.theory.statistics import MISS, mean_interval, power
from hushprice.simulation import contexts
from hushprice.simulation.market import Market
from hushprice.simulation.result import Mean
from hushprice.simulation.run import simulate
from hushprice.types import FloatArray

NAME, LABEL = "classical-privacy", "prop:anticipating-linear-regret"
RATE = 1.0  # power of T in the regret that the proposition states; tests plant others
SAFETY = 1.0  # factor on the floor; tests plant others
HEARS_BADLY = "best that hears badly"
KINDS = (0.0, 1.0)  # the two contexts
SHARES = (0.7, 0.3)
PRICES = np.linspace(0.0, 1.0, 20_001)
HORIZONS = (10**3, 10**4, 10**5, 10**6)
PROMISE = EpsilonDelta(0.69, 1e-12)  # just inside the proposition's epsilon < ln 2


@dataclass(frozen=True, slots=True)
class PolicyRegret:
    """Average regret of one policy over one horizon."""

    policy: str
    hides: str  # from whom the promise hides a customer's attributes
    horizon: int
    regret: Mean


def two_kinds() -> Market:
    """Two kinds of customers: demand of the second is so much higher that its best price is nearly twice the first's.

    The contexts, shares and theta* were chosen to make the loss large, so that short runs show it.
    """
    return Market(
        demand=Logistic(slope=4.0),
        features=main_effects(1),
        theta=np.array([0.72, 0.69]),
        contexts="segments",
        weights=SHARES,
        points=[[kind] for kind in KINDS],
        name="two kinds of customers",
    )


def loss_floor(promise: EpsilonDelta) -> float:
    """The average regret on `two_kinds` that no classically private policy goes below, whatever the horizon.

    >>> round(1e4 * loss_floor(EpsilonDelta(math.log(2), 0.25)), 1), round(1e4 * loss_floor(EpsilonDelta(20.0, 0.0)), 4)
    (63.6, 0.0)
    """
    return (1.0 - promise.delta) * float(_weighted_gaps(promise.epsilon).min(axis=1).sum())


def hearing_badly(promise: EpsilonDelta, horizon: int, seed: int, trial: int) -> float:
    """Average regret of the best classically private shop: knows theta*, hears x_t by the randomized response above."""
    checks.whole(1, horizon=horizon)
    kinds = np.empty((1, horizon))
    contexts.fill(two_kinds().stream(horizon), seed, trial, 1, horizon, kinds)
    second = (kinds[0] == KINDS[1]).astype(np.int64)
    coins = np.random.default_rng([seed, trial]).random((2, horizon))
    heard = np.where(coins[0] < _truth(promise.epsilon), second, 1 - second)
    answers = _weighted_gaps(promise.epsilon).argmin(axis=1)
    lost = _gaps()[second, answers[heard]]
    return float(np.where(coins[1] < promise.delta, 0.0, lost).mean())


def linear_regret(
    horizons: Sequence[int] = HORIZONS,
    *,
    promise: EpsilonDelta = PROMISE,
    trials: int = 10,
    seed: int = 0,
    workers: int | None = None,
) -> list[PolicyRegret]:
    """Classical against anticipating privacy on `two_kinds`: the first has regret linear in T, the second has not."""
    checks.whole(1, trials=trials)
    market = two_kinds()
    regrets: list[PolicyRegret] = []
    for horizon in horizons:
        best = np.array([hearing_badly(promise, horizon, seed, trial) for trial in range(trials)])
        regrets.append(PolicyRegret(HEARS_BADLY, "the own price too", horizon, Mean.of(best)))
        for policy, hides in (("fixed", "the own price too"), ("paper", "later prices"), ("nonprivate", "nobody")):
            result = simulate(
                policy,
                horizon=horizon,
                market=market,
                epsilon=promise.epsilon,
                delta=promise.delta,
                trials=trials,
                seed=seed,
                workers=workers,
            )
            regrets.append(PolicyRegret(result.label, hides, horizon, result.average_regret))
    return regrets


def check(size: CheckSize) -> TheoryFinding:
    """The power of T in the regret of the best classically private shop, and whether it loses what the floor says."""
    horizons, trials = size.pick((10**3, 10**4, 10**5), HORIZONS), size.pick(6, 10)
    samples = [  # customers of their own at each horizon: the slope's interval takes them to be independent
        np.array([hearing_badly(PROMISE, horizon, size.seed + 1000 * index, trial) for trial in range(trials)])
        for index, horizon in enumerate(horizons)
    ]
    growth = power(horizons, [horizon * sample for horizon, sample in zip(horizons, samples, strict=True)])
    floor, last = SAFETY * loss_floor(PROMISE), mean_interval(samples[-1])
    regrets = linear_regret(horizons, trials=trials, seed=size.seed, workers=size.workers)
    rows: list[FindingRow] = [
        {
            "T": each.horizon,
            "policy": each.policy,
            "hides x from": each.hides,
            "average regret x 1e4": None if each.regret.mean is None else round(1e4 * each.regret.mean, 2),
            "standard error": None
            if each.regret.standard_error is None
            else round(1e4 * each.regret.standard_error, 2),
        }
        for each in regrets
    ]
    later = {each.policy: each.regret.mean or 0.0 for each in regrets if each.horizon == horizons[-1]}
    return TheoryFinding(
        label=LABEL,
        name=NAME,
        statement="A policy that hides x_t from the own price p_t too, epsilon < ln 2, has regret linear in T on some "
        "market.",
        quantity="power of T in the regret of the best such policy (the paper: 1)",
        measured=growth.value,
        bound=RATE,
        holds=growth.low <= RATE <= growth.high and last.low <= floor <= last.high,
        vacuous=False,
        false_alarm=2 * MISS,
        explanation=f"On a market with two kinds of customers regret goes like T to the {growth}. No such policy "
        f"loses less than {1e4 * floor:.2f}e-4 a customer at epsilon = {PROMISE.epsilon:g}, and the best one, which "
        f"knows theta* and hears x_t by a randomized response, loses {1e4 * last.value:.2f}e-4 at T = "
        f"{horizons[-1]:,}. There the best price for all loses {1e4 * later['fixed (best in hindsight)']:.1f}e-4, and "
        f"the paper's policy, which hides x_t from later prices, {1e4 * later['paper (tight)']:.1f}e-4.",
        rows=tuple(rows),
    )


def _truth(epsilon: float) -> float:
    """How often a randomized response tells the truth."""
    return 1.0 / (1.0 + math.exp(-epsilon))


def _gaps() -> FloatArray:
    """Expected revenue lost with each kind of customer (rows) at each price (columns)."""
    market = two_kinds()
    u, v = (np.array(parts) for parts in zip(*(market.features.parts(np.array([kind])) for kind in KINDS), strict=True))
    line = (u @ market.theta)[:, None] + (v @ market.theta)[:, None] * PRICES
    revenue = PRICES * market.demand.mean(line)
    return np.asarray(revenue.max(axis=1, keepdims=True) - revenue)


def _weighted_gaps(epsilon: float) -> FloatArray:
    """For each kind heard (rows) and each price (columns): what is lost, times the chance of hearing it."""
    truth = _truth(epsilon)
    channel = np.array([[truth, 1.0 - truth], [1.0 - truth, truth]])  # [heard, kind]
    return (channel * np.array(SHARES)) @ _gaps()
