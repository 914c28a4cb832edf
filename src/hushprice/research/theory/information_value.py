"""subsec:discussion-seller-surplus: what one more attribute is worth to the seller, and what it costs under privacy."""

from __future__ import annotations

import math

import numpy as np

from hushprice.demand.families import Logistic
from hushprice.demand.features import main_effects
from hushprice.research.theory import runs, sample_releases
from hushprice.research.theory.finding import CheckSize, FindingRow, TheoryFinding
from hushprice.research.theory.statistics import MISS, MeanInterval, all_of, mean_interval, power
from hushprice.simulation.market import Market, paper_market
from hushprice.types import FloatArray

NAME, LABEL = "information-value", "subsec:discussion-seller-surplus"
SLOPE = 10.0
WEIGHTS = (-0.2, -0.16, -0.12, -0.08, -0.04)  # of the attributes, times the slope, in utility; the price's is below
PRICE_WEIGHT = 0.26
EPSILONS = (0.5, 2.0, 8.0)
SIGN = 1.0  # of the growth in d that the paper states; tests plant the other


def market_using(attributes: int) -> Market:
    """Demand when only the first attributes matter: what a seller who uses no more of them can hope to learn.

    The attributes left out are held at their mean, 0. Differs from a market where they go on varying unseen.
    """
    d = attributes + 1
    theta = math.sqrt(d) * np.array([*WEIGHTS[:attributes], PRICE_WEIGHT])
    return Market(
        demand=Logistic(slope=SLOPE), features=main_effects(attributes), theta=theta, name=f"{attributes} attributes"
    )


def best_revenue(attributes: int, *, count: int, seed: int) -> float:
    """Revenue of the best prices that use the first attributes only, while all five go on varying."""
    rng = np.random.default_rng([seed, 4])
    x = rng.uniform(-1.0, 1.0, (count, len(WEIGHTS)))
    weights = SLOPE * np.array(WEIGHTS)
    known, unknown = x[:, :attributes] @ weights[:attributes], x[:2000, attributes:] @ weights[attributes:]
    grid, prices = np.linspace(known.min(), known.max(), 60), np.linspace(0.0, 1.0, 401)
    best = [_best(at, unknown, prices) for at in grid]
    return float(np.interp(known, grid, best).mean())


def _best(known: float, unknown: FloatArray, prices: FloatArray) -> float:
    utility = known + unknown[:, None] - SLOPE * PRICE_WEIGHT * prices[None, :]
    return float((prices * (1.0 / (1.0 + np.exp(-utility))).mean(axis=0)).max())


def check(size: CheckSize) -> TheoryFinding:
    """Value and cost of each attribute; whether regret rises with d; whether epsilon = C d holds the privacy cost."""
    horizon, trials = size.pick(20_000, 100_000), size.pick(8, 16)
    count = size.pick(20_000, 200_000)
    values = [best_revenue(each, count=count, seed=size.seed) for each in range(len(WEIGHTS) + 1)]
    rows: list[FindingRow] = []
    best: dict[float, int] = {}
    for epsilon in EPSILONS:
        cells = [
            {"horizon": horizon, "epsilon": epsilon, "market": market_using(each)} for each in range(1, len(values))
        ]
        simulated = runs.results("paper@tight", cells, size, trials=trials)
        costs = [mean_interval(each.regret) for each in simulated]
        net = [values[each] - costs[each - 1].value for each in range(1, len(values))]
        best[epsilon] = 1 + int(np.argmax(net)) if max(net) > values[0] else 0
        for each, cost in enumerate(costs, start=1):
            rows.append(
                {
                    "epsilon": epsilon,
                    "attributes used": each,
                    "value x 1e4": round(1e4 * (values[each] - values[0]), 1),
                    "cost (regret) x 1e4": round(1e4 * cost.value, 1),
                    "cost low": round(1e4 * cost.low, 1),
                    "cost high": round(1e4 * cost.high, 1),
                    "worth it": "yes" if values[each] - cost.value > values[0] else "no",
                }
            )
    growth = regret_in_dimension(size, horizon, trials)
    cost_power = privacy_cost_at_scaled_epsilon(size, horizon, trials)
    answers: list[bool | None] = [_rises(each) for each in growth.values()]
    answers.append(True if cost_power.high <= 0.0 else (None if cost_power.low <= 0.0 else False))
    chosen = ", ".join(f"{count} at epsilon {epsilon:g}" for epsilon, count in best.items())
    return TheoryFinding(
        label=LABEL,
        name=NAME,
        statement="More covariates let the seller consider more, but lead to increased regret; with epsilon = C d the "
        "part of the regret that privacy causes stays constant.",
        quantity="power of d in the private policy's regret on the paper's market (the paper: above 0)",
        measured=growth["paper's market"].value,
        bound=0.0,
        holds=all_of(answers),
        vacuous=False,
        false_alarm=3 * MISS / 2,
        explanation=f"Regret goes like d to the {runs.shown(growth)}: more attributes cost more where demand is the "
        f"same, less on the paper's own market, where the average customer's best price climbs with d, to the cap 1 "
        f"from d = 6, which is where policies start. With epsilon = d the cost of privacy goes like d to the "
        f"{cost_power}, not constant where this excludes 0. Attributes worth using here (T = {horizon:,}): {chosen}.",
        rows=tuple(rows),
    )


def regret_in_dimension(size: CheckSize, horizon: int, trials: int) -> dict[str, MeanInterval]:
    """Powers of d in regret, epsilon fixed: the paper's market, and one whose demand does not change with d."""
    dimensions = (2, 3, 5, 8)
    powers = {}
    for name, market in (("paper's market", paper_market), ("same demand", sample_releases.plain_market)):
        cells = [{"horizon": horizon, "epsilon": 2.0, "market": market(each)} for each in dimensions]
        powers[name] = power(dimensions, runs.totals(runs.results("paper@tight", cells, size, trials=trials)))
    return powers


def privacy_cost_at_scaled_epsilon(size: CheckSize, horizon: int, trials: int) -> MeanInterval:
    """Power of d in regret beyond the non-private policy's, with epsilon = d, demand unchanged."""
    dimensions = (2, 3, 5, 8)
    cells = [
        {"horizon": horizon, "epsilon": float(each), "market": sample_releases.plain_market(each)}
        for each in dimensions
    ]
    private = runs.results("paper@tight", cells, size, trials=trials)
    free = runs.results("nonprivate", cells, size, trials=trials)
    extra = [a.regret - b.regret for a, b in zip(private, free, strict=True)]  # the same customers, trial by trial
    return power(dimensions, extra)


def _rises(interval: MeanInterval) -> bool | None:
    if SIGN * interval.value > 0 and interval.low * interval.high > 0:
        return True
    return False if interval.low * interval.high > 0 else None
