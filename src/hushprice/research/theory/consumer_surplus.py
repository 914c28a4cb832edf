"""subsec:discussion-consumer-surplus (fig:surplus): does weaker privacy leave customers more?"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from hushprice.research.theory.finding import CheckSize, FindingRow, TheoryFinding
from hushprice.research.theory.statistics import MISS, MeanInterval, all_of, mean_interval
from hushprice.simulation import contexts
from hushprice.simulation.market import Market, paper_market
from hushprice.simulation.run import simulate
from hushprice.types import FloatArray

NAME, LABEL = "consumer-surplus", "subsec:discussion-consumer-surplus"
POLICIES, YARDSTICKS = ("paper@published", "paper@tight"), ("nonprivate", "clairvoyant", "random")
MORE = 300  # trials of `published`, whose runs differ most: with 100 its interval just reached 0 at two seeds
BATCH = 100
SIGN = 1.0  # of the change of surplus with epsilon that the paper states; tests plant the other


class SurplusRun(NamedTuple):
    """What one policy did at one epsilon: arrays with one number a trial."""

    surplus: FloatArray
    price: FloatArray  # average price
    tracking: FloatArray  # correlation of the price with the best price for that customer: ability to discriminate
    at_average: FloatArray  # surplus had everyone paid the average price


def surplus_run(
    market: Market, policy: str, size: CheckSize, *, horizon: int, epsilon: float, trials: int
) -> SurplusRun:
    """A run with its prices kept, second half only: what is charged once something was learned.

    Prices are kept for BATCH trials at a time; each batch has customers of its own, the same for every policy and
    epsilon.
    """
    batches = [
        _batch(market, policy, size, seed=size.seed + 7919 * index, horizon=horizon, epsilon=epsilon, trials=count)
        for index, count in enumerate(_counts(trials))
    ]
    return SurplusRun(*map(np.concatenate, zip(*batches, strict=True)))


def _counts(trials: int) -> list[int]:
    return [min(BATCH, trials - done) for done in range(0, trials, BATCH)]


def _batch(
    market: Market, policy: str, size: CheckSize, *, seed: int, horizon: int, epsilon: float, trials: int
) -> tuple[FloatArray, ...]:
    name, _, calibration = policy.partition("@")
    extra: dict[str, Any] = {"calibration": calibration} if calibration else {}
    result = simulate(
        name,
        market=market,
        horizon=horizon,
        epsilon=epsilon,
        trials=trials,
        seed=seed,
        workers=size.workers,
        keep_prices=True,
        **extra,
    )
    assert result.prices is not None
    half, k = horizon // 2, market.features.contexts
    columns: list[tuple[float, float, float]] = []
    for trial, prices in enumerate(result.prices):
        x = np.empty((k, horizon))
        contexts.fill(market.stream(horizon), seed, trial, 1, horizon, x)
        base = market.demand.slope / np.sqrt(market.dimension) * market.theta
        taste = base[:-1] @ x  # utility is taste - base[-1] price + noise; the best price rises with taste alone
        late = prices[half:]
        spread = float(np.std(late))
        tracking = float(np.corrcoef(late, taste[half:])[0, 1]) if spread > 1e-9 else 0.0
        average = float(prices.mean())
        columns.append((average, tracking, float(np.logaddexp(0.0, taste - base[-1] * average).mean())))
    price, tracking_of, at_average = np.array(columns).T
    return result.surplus, price, tracking_of, at_average


@functools.lru_cache(maxsize=2)
def surplus_runs(size: CheckSize) -> dict[str, list[SurplusRun]]:
    """Every epsilon of `epsilons_of`, by policy, on the paper's market, d = 2; and three yardsticks, one cell each."""
    horizon, market = size.pick(50_000, 200_000), paper_market(2)

    def run(policy: str, epsilon: float) -> SurplusRun:
        trials = size.pick(30, MORE if policy == "paper@published" else 100)
        return surplus_run(market, policy, size, horizon=horizon, epsilon=epsilon, trials=trials)

    runs_by_policy = {policy: [run(policy, each) for each in epsilons_of(size)] for policy in POLICIES}
    return runs_by_policy | {name: [run(name, 1.0)] for name in YARDSTICKS}


def epsilons_of(size: CheckSize) -> tuple[float, ...]:
    """Total epsilons: twice what the axis of fig:surplus says."""
    return size.pick((0.2, 1.0, 4.0), (0.2, 0.4, 1.0, 2.0, 4.0))


def changes(size: CheckSize, runs_by_policy: dict[str, list[SurplusRun]], field: str) -> list[MeanInterval]:
    """Each policy's change over all epsilons, along a line in ln(epsilon) that is fitted trial by trial."""
    logs = np.log(np.array(epsilons_of(size)))
    centred = logs - logs.mean()
    weights = centred * (logs[-1] - logs[0]) / float(centred @ centred)
    return [
        mean_interval(weights @ np.array([getattr(one, field) for one in runs_by_policy[each]])) for each in POLICIES
    ]


def table(size: CheckSize, runs_by_policy: dict[str, list[SurplusRun]]) -> tuple[FindingRow, ...]:
    """One row for each policy and epsilon."""
    rows = [
        _row(each, f"{eps:g}", one)
        for each in POLICIES
        for eps, one in zip(epsilons_of(size), runs_by_policy[each], strict=True)
    ]
    return (*rows, *(_row(each, "-", runs_by_policy[each][0]) for each in YARDSTICKS))


def shown(intervals: list[MeanInterval]) -> str:
    """The changes in words, with sign and interval."""
    return " and ".join(f"{each.value:+.3f} [{each.low:+.3f}, {each.high:+.3f}]" for each in intervals)


def check(size: CheckSize) -> TheoryFinding:
    """Surplus against epsilon, on the same customers."""
    runs_by_policy = surplus_runs(size)
    change = changes(size, runs_by_policy, "surplus")
    answers: list[bool | None] = [None if each.low <= 0 <= each.high else SIGN * each.value > 0 for each in change]
    holds = all_of(answers)
    words = {True: "rises", False: "falls", None: "undecided"}
    word = ", ".join(f"{name} {words[answer]}" for name, answer in zip(POLICIES, answers, strict=True))
    free, best = (float(runs_by_policy[each][0].surplus.mean()) for each in ("nonprivate", "random"))
    return TheoryFinding(
        label=LABEL,
        name=NAME,
        statement="Average consumer surplus increases as epsilon increases.",
        quantity="change of average surplus from the smallest to the largest epsilon, paper@published",
        measured=change[0].value,
        bound=0.0,
        holds=holds,
        vacuous=False,
        false_alarm=len(change) * MISS / 2,
        explanation=f"Surplus: {word}. Changes from total epsilon {epsilons_of(size)[0]:g} to "
        f"{epsilons_of(size)[-1]:g} are {shown(change)}, towards the non-private {free:.3f}. Random prices leave "
        f"customers more, {best:.3f}.",
        rows=table(size, runs_by_policy),
    )


def _row(policy: str, epsilon: str, one: SurplusRun) -> FindingRow:
    surplus = mean_interval(one.surplus)
    return {
        "policy": policy,
        "total epsilon": epsilon,
        "surplus": round(surplus.value, 4),
        "low": round(surplus.low, 4),
        "high": round(surplus.high, 4),
        "average price": round(float(one.price.mean()), 4),
        "price follows taste": round(float(one.tracking.mean()), 3),
        "surplus at the average price": round(float(one.at_average.mean()), 4),
    }
