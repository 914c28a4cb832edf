"""Our rows of the table: the simulator's policies, and live pricers played like any peer."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from driver import SHORT, play
from instance import Instance

from hushprice.demand.features import main_effects
from hushprice.live.pricer import Pricer
from hushprice.policies.protocol import Policy
from hushprice.product import Product
from hushprice.shops.trials import run_shop
from hushprice.simulation.market import paper_market
from hushprice.simulation.run import prepare, run

EPSILON = 1.0  # eps1 + eps2, with delta1 + delta2 = 2/T^2: the defaults
PRIVATE = f"eps {EPSILON:g}, delta 2/T^2"
SIMULATED = (  # name, policy, calibration, privacy
    ("nonprivate, simulated", "nonprivate", None, "no"),
    ("noisy-newton, simulated", "noisy-newton", None, PRIVATE),
    ("noisy-newton without its noise", "noisy-newton", None, "no"),
    ("paper@tight, simulated", "paper", "tight", PRIVATE),
    ("paper@published, simulated", "paper", "published", PRIVATE),
    ("best fixed price in hindsight", "fixed", None, "a yardstick"),
    ("random price", "random", None, "reads nothing"),
)
LIVE = (
    ("nonprivate, live", "nonprivate", None, "no"),
    ("noisy-newton, live", "noisy-newton", None, PRIVATE),
    ("paper@tight, live", "paper", "tight", PRIVATE),
)
SHOPS = (  # name, what staying would have earned may be risked, privacy
    ("cautious, risk 0.02", 0.02, PRIVATE),
    ("cautious, risk 1", 1.0, PRIVATE),
)


class Live:
    """A pricer as a shop runs it, with noise from the operating system."""

    def __init__(self, policy: Policy, dimension: int, horizon: int) -> None:
        demand = paper_market(dimension).demand
        self.pricer = Pricer(policy=policy, demand=demand, features=main_effects(dimension - 1), horizon=horizon)
        self.open = ""

    def price(self, x: list[float]) -> float:
        quote = self.pricer.quote(x)
        self.open = quote.id
        return quote.price

    def learn(self, x: list[float], price: float, bought: int) -> None:
        self.pricer.observe(self.open, bought)


def first_periods(instance: Instance, horizon: int) -> Instance:
    """The same customers, fewer of them."""
    rows = ("contexts", "uniforms", "a", "b", "best_prices", "best_revenues")
    return replace(instance, **{name: getattr(instance, name)[:, :horizon] for name in rows})


class Customers:
    """One trial's customers as a world, prices in [0, 1]. After the last one they begin anew; nobody counts them."""

    def __init__(self, instance: Instance, trial: int) -> None:
        self._instance, self._trial = instance, trial

    def _at(self, start: int, count: int) -> np.ndarray:
        return np.arange(start, start + count) % self._instance.horizon

    def contexts(self, start: int, count: int, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(self._instance.contexts[self._trial, self._at(start, count)])

    def probabilities(self, start: int, contexts: np.ndarray, prices: np.ndarray) -> np.ndarray:
        at, given = self._at(start, len(prices)), self._instance
        return 1.0 / (1.0 + np.exp(-given.slope * (given.a[self._trial, at] + given.b[self._trial, at] * prices)))


def shop(risk: float, instance: Instance, seed: int) -> list[list[dict[str, Any]]]:
    """Policy cautious on the instance's customers, who buy with luck of their own; it is told that 0.5 is charged today
    and that a quarter buys then. Its regret and its CPU time at each horizon."""
    product = Product(
        floor=0.0,
        ceiling=1.0,
        reference_price=0.5,
        conversion=0.25,
        contexts=instance.contexts.shape[2],
        epsilon=EPSILON,
        risk=risk,
    )
    trials: list[list[dict[str, Any]]] = []
    for trial in range(instance.trials):
        trials.append([])
        for horizon in dict.fromkeys((min(SHORT, instance.horizon), instance.horizon)):
            started = time.process_time()
            found = run_shop(
                "cautious",
                product=product,
                world=Customers(instance, trial),
                horizon=horizon,
                trials=1,
                seed=seed + trial,
                keep_prices=True,
                workers=1,
            )
            regret = instance.average_regret(trial, found.prices[0])
            seconds = time.process_time() - started
            trials[-1].append({"rounds": horizon, "regret": regret, "seconds": seconds, "cut": False})
    return trials


def simulated(
    policy: str, calibration: str | None, instance: Instance, seed: int, limit: float, noise: bool = True
) -> list[list[dict[str, Any]]]:
    """The simulator's regret on the instance's customers, once for each horizon, and its CPU time a trial."""
    trials: list[list[dict[str, Any]]] = [[] for _ in range(instance.trials)]
    for horizon in dict.fromkeys((min(SHORT, instance.horizon), instance.horizon)):
        job = prepare(
            policy,
            horizon=horizon,
            dimension=instance.contexts.shape[2] + 1,
            epsilon=EPSILON,
            seed=seed,
            **_asked(calibration, noise),
        )
        run(job, trials=1, workers=1)  # compile
        started = time.process_time()
        result = run(job, trials=instance.trials, workers=1)
        seconds = (time.process_time() - started) / instance.trials
        for trial, regret in zip(trials, result.regret.tolist(), strict=True):
            trial.append({"rounds": horizon, "regret": regret, "seconds": seconds, "cut": False})
    return trials


def _asked(calibration: str | None, noise: bool) -> dict[str, Any]:
    """Settings that not every policy reads."""
    return ({} if calibration is None else {"calibration": calibration}) | ({} if noise else {"noise": False})


def live(
    policy: str, calibration: str | None, instance: Instance, seed: int, limit: float
) -> list[list[dict[str, Any]]]:
    """The live pricer, customer by customer, over SHORT periods: for its speed. Its regret is the simulated one's."""
    horizon, dimension = min(SHORT, instance.horizon), instance.contexts.shape[2] + 1
    given = _asked(calibration, noise=True)
    job = prepare(policy, horizon=horizon, dimension=dimension, epsilon=EPSILON, seed=seed, **given)
    if not isinstance(job.policy, Policy):
        raise TypeError(f"policy must be a built-in one, got {policy!r}")
    shown = first_periods(instance, horizon)
    return [play(Live(job.policy, dimension, horizon), shown, trial, limit) for trial in range(instance.trials)]


def on_the_grid(instance: Instance) -> list[list[dict[str, Any]]]:
    """A clairvoyant held to the peers' grid of prices; it is not timed."""
    lengths = dict.fromkeys((min(SHORT, instance.horizon), instance.horizon))
    return [
        [{"rounds": n, "regret": _grid_regret(instance, trial, n), "seconds": None, "cut": False} for n in lengths]
        for trial in range(instance.trials)
    ]


def _grid_regret(instance: Instance, trial: int, horizon: int) -> float:
    return instance.average_regret(trial, np.asarray(instance.best_on_grid(trial, horizon)))
