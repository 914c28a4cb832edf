"""The plain-Python engine: one customer at a time through the live pricer itself, or through a policy of your own.

Slow and readable. It runs parts the kernels cannot (a user's own demand family, feature map or policy), and it is the
reference the compiled engine is tested against: the same tape gives the same prices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hushprice import checks
from hushprice.demand import family, welfare
from hushprice.errors import InvalidInput
from hushprice.live.pricer import Pricer
from hushprice.noise import Tape
from hushprice.numerics import tape
from hushprice.policies.baselines import Clairvoyant, FixedPrice, RandomPrices
from hushprice.policies.catalog import make_plain
from hushprice.policies.protocol import Policy, Setting
from hushprice.price_search import coefficients
from hushprice.price_search import plain as dense
from hushprice.simulation import contexts, tally
from hushprice.simulation.hindsight import narrow
from hushprice.simulation.market import Market
from hushprice.simulation.trial import Job, Trial
from hushprice.types import FloatArray, IntArray

Quote = Callable[[int, FloatArray], float]  # period and context to price
Learn = Callable[[FloatArray, float, float], None]


@dataclass(frozen=True, slots=True)
class _TrialTape(Tape):
    """Noise of one trial, exploration prices of the trial whose customers come."""

    customers: int

    def uniform(self, stream: int, period: int) -> float:
        return float(tape.uniform(self.seed, self.customers, period, stream))


def run_plain(job: Job, number: int, control: IntArray, counter: int) -> Trial:
    """One trial, period by period."""
    market, horizon = job.market, job.horizon
    stream = market.stream(horizon)
    quote, learn, pricer = _agent(job, number)
    totals = np.zeros(tally.TOTALS)
    regret_at: list[float] = []
    estimate_periods: list[int] = []
    prices = np.zeros(horizon if job.keep_prices else 0)
    checkpoints = set(job.checkpoints.tolist())
    seed, customers = job.seed, job.customer_trial(number)
    version = 0
    for period in range(1, horizon + 1):
        if control[0] != 0:
            raise KeyboardInterrupt
        column = np.empty((max(stream.size, 1), 1))
        contexts.fill(stream, seed, customers, period, 1, column)
        x = column[: stream.size, 0]
        changed = job.change if job.change is not None and job.change.period == period else None
        if changed is not None and changed.context is not None:
            x[:] = changed.context
        price = quote(period, x)
        checks.within(0.0, 1.0, price=price)
        a, b = _line(market, x)
        demand = _draw(market, a + b * price, seed, customers, period)
        if changed is not None and changed.demand is not None:
            demand = float(changed.demand)
        learn(x, price, demand)
        revenue = price * _mean(market, a + b * price)
        best = _clairvoyant(market, a, b)
        regret = best * _mean(market, a + b * best) - revenue
        totals[tally.REGRET] += regret
        if pricer is not None and not getattr(pricer.quoter, "ready", True):  # only noisy-newton tells the start apart
            totals[tally.START] += regret
        totals[tally.REVENUE] += revenue
        totals[tally.SURPLUS] += welfare.surplus(market.demand.family, market.demand.slope, a + b * price)
        if job.keep_prices:
            prices[period - 1] = price
        if pricer is not None and pricer.quoter.version > version:
            version = pricer.quoter.version
            estimate_periods.append(period)
        if period in checkpoints:
            regret_at.append(totals[tally.REGRET])
        control[counter] = period
    totals[tally.ESTIMATES] = version
    totals[tally.INDEFINITE] = 0 if pricer is None else getattr(pricer.quoter, "indefinite", 0)
    return Trial(totals, np.array(regret_at), np.array(estimate_periods, dtype=np.int64), prices)


def _agent(job: Job, number: int) -> tuple[Quote, Learn, Pricer | None]:
    """How this job's policy quotes and learns."""
    market, policy = job.market, job.policy
    source = _TrialTape(job.seed, number, job.customer_trial(number))
    if not isinstance(policy, Policy):
        setting = Setting(
            horizon=job.horizon,
            demand=market.demand,
            features=market.features,
            budget=job.budget,
            seed=job.seed,
            trial=number,
        )
        own = make_plain(policy, setting, getattr(policy, "__name__", "custom"))
        return lambda period, x: float(own.price(x)), own.learn, None
    if policy.learns:
        return _learning(job, policy, source)
    if isinstance(policy, Clairvoyant):
        return lambda period, x: _clairvoyant(market, *_line(market, x)), _forget, None
    if isinstance(policy, FixedPrice):
        price = _best_fixed(job, number) if policy.price is None else policy.price
        return lambda period, x: price, _forget, None
    if isinstance(policy, RandomPrices):
        return lambda period, x: source.uniform(tape.EXPLORATION, period), _forget, None
    raise InvalidInput(f"policy {policy.name!r} runs on engine 'compiled' alone")


def _best_fixed(job: Job, number: int) -> float:
    """The best fixed price in hindsight, in any market: every customer's demand line, then prices side by side."""
    market, stream = job.market, job.market.stream(job.horizon)
    contexts_of_all = np.empty((max(stream.size, 1), job.horizon))
    contexts.fill(stream, job.seed, job.customer_trial(number), 1, job.horizon, contexts_of_all)
    lines = [_line(market, x) for x in contexts_of_all[: stream.size].T]
    a, b = np.array(lines).T
    return narrow(lambda prices: np.array([np.sum(p * market.demand.mean(a + b * p)) for p in prices]))


def _learning(job: Job, policy: Policy, source: Tape) -> tuple[Quote, Learn, Pricer]:
    pricer = Pricer(
        policy=policy,
        demand=job.market.demand,
        features=job.market.features,
        horizon=job.horizon,
        source=source,
        simulation=True,
    )
    last = [""]

    def quote(period: int, x: FloatArray) -> float:
        given = pricer.quote(x)
        last[0] = given.id
        return given.price

    def learn(x: FloatArray, price: float, demand: float) -> None:
        pricer.observe(last[0], demand)

    return quote, learn, pricer


def _forget(x: FloatArray, price: float, demand: float) -> None:
    """Nothing: baselines do not learn."""


def _line(market: Market, x: FloatArray) -> tuple[float, float]:
    """phi'theta* = a + b p, by the step the kernels use, so that last digits agree."""
    u, v = market.features.parts(x)
    a, b = np.empty(1), np.empty(1)
    coefficients.demand_line(market.theta, u.reshape(-1, 1), v.reshape(-1, 1), 1, a, b)
    return float(a[0]), float(b[0])


def _mean(market: Market, z: float) -> float:
    if market.demand.family == family.CUSTOM:
        return float(market.demand.mean(np.array([z]))[0])
    return float(family.mean(market.demand.family, market.demand.slope, z))


def _clairvoyant(market: Market, a: float, b: float) -> float:
    if market.demand.family == family.CUSTOM:
        return dense.dense_price(market.demand, a, b, (0.0, 0.0, 0.0), width=0.0)
    return float(welfare.clairvoyant_price(market.demand.family, market.demand.slope, a, b))


def _draw(market: Market, z: float, seed: int, trial: int, period: int) -> float:
    first, second = tape.uniforms(seed, trial, period, tape.DEMAND, 0)
    if market.demand.family == family.CUSTOM:
        return float(market.demand.sample(np.array([z]), np.array([first]), np.array([second]))[0])
    return float(family.draw(market.demand.family, market.demand.slope, market.demand.bound, z, first, second))
