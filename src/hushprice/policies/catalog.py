"""Every policy by name: the one list the command line, the simulator and the tests read."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hushprice import checks
from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput, first_line
from hushprice.policies import baselines
from hushprice.policies.newton.policy import noisy_newton
from hushprice.policies.newton.rules import newton
from hushprice.policies.paper.calibration import CALIBRATIONS
from hushprice.policies.paper.policy import nonprivate, paper
from hushprice.policies.paper.rules import Tuning, numerical
from hushprice.policies.protocol import PlainPolicy, Policy, Setting
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta, PrivacyBudget

DEFAULT = "noisy-newton"
NAMES = ("paper", "noisy-newton", "nonprivate", "random", "fixed", "input-perturbation", "clairvoyant")

PlainFactory = Callable[[Setting], PlainPolicy]


def tune(
    *,
    horizon: int,
    dimension: int,
    policy: object = "paper",
    exploration_periods: int | None = None,
    ridge: float | None = None,
    width: float | None = None,
    max_estimates: int | None = None,
) -> Tuning:
    """The numerical section's tuning with the given entries replaced."""
    checks.whole(1, horizon=horizon)
    entries: dict[str, Any] = {
        "exploration_periods": exploration_periods,
        "ridge": ridge,
        "width": width,
        "max_estimates": max_estimates,
    }
    given = {name: value for name, value in entries.items() if value is not None}
    if given and policy == "noisy-newton":  # its rules are its own
        name, value = next(iter(given.items()))
        raise InvalidInput(f"{name} is for policies 'paper' and 'nonprivate', got {value!r} for {policy!r}")
    return replace(numerical(horizon, dimension), **given)


def build(
    name: str,
    *,
    horizon: int,
    demand: Demand,
    features: FeatureMap,
    budget: PrivacyBudget,
    tuning: Tuning,
    calibration: str = "tight",
    adjacency: Adjacency = Adjacency.REPLACE_ONE,
    price: float | None = None,
    reference_price: float | None = None,
    trigger: bool = True,
    bonus: bool = True,
    noise: bool = True,
    unit_cost: float = 0.0,
) -> Policy:
    """The built-in policy of that name. The last five are for noisy-newton: its parts can be turned off for study."""
    if name != "noisy-newton" and not (reference_price is None and trigger and bonus and noise and unit_cost == 0.0):
        raise InvalidInput(
            f"reference_price, trigger, bonus, noise and unit_cost are for policy 'noisy-newton', got {name!r}"
        )
    if price is not None and name != "fixed":
        raise InvalidInput(f"price is for policy 'fixed' alone, got {price!r} with policy {name!r}")
    if calibration not in CALIBRATIONS:  # also where the policy has no use for one
        raise InvalidInput(f"calibration must be one of {', '.join(CALIBRATIONS)}, got {calibration!r}")
    match name:
        case "paper":
            return paper(
                calibration,
                budget,
                horizon=horizon,
                dimension=features.dimension,
                demand=demand,
                tuning=tuning,
                adjacency=adjacency,
            )
        case "nonprivate":
            return nonprivate(tuning=tuning)
        case "random":
            return baselines.random()
        case "fixed":
            return baselines.fixed(price)
        case "clairvoyant":
            return baselines.clairvoyant()
        case "input-perturbation":
            return baselines.input_perturbation(budget.total.epsilon, contexts=features.contexts, tuning=tuning)
        case "noisy-newton":
            return noisy_newton(
                newton(
                    budget.total,
                    demand=demand,
                    features=features,
                    adjacency=adjacency,
                    reference_price=reference_price,
                    width=None if bonus else 0.0,
                    trigger=trigger,
                    drawn=noise,
                    unit_cost=unit_cost,
                ),
                demand=demand,
                dimension=features.dimension,
                adjacency=adjacency,
            )
    raise InvalidInput(f"policy must be one of {', '.join(NAMES)}, or module:Class, got {name!r}")


def plain(name: str) -> PlainFactory:
    """The class named `module:Class`, to be constructed with a Setting."""
    module, _, attribute = name.partition(":")
    try:
        factory = getattr(importlib.import_module(module), attribute)
    except Exception as problem:  # whatever the module does when it is imported
        raise InvalidInput(f"policy {name!r} cannot be imported: {first_line(problem)}") from problem
    if not isinstance(factory, type):
        raise InvalidInput(f"policy {name!r} must be a class, got {checks.shown(factory)}")
    for method in ("price", "learn"):
        if not callable(getattr(factory, method, None)):
            raise InvalidInput(f"policy {name!r} has no method {method!r}")
    _check_claim(factory, name)
    return factory


def make_plain(factory: PlainFactory, setting: Setting, name: str) -> PlainPolicy:
    """The plain policy for one trial; a constructor that does not take a Setting is refused by the policy's name."""
    _check_claim(factory, name)  # again, since a class may be given as such and not by its name
    try:
        return factory(setting)
    except TypeError as problem:
        raise InvalidInput(f"policy {name!r} cannot be made from a Setting: {first_line(problem)}") from problem


def _check_claim(factory: PlainFactory, name: str) -> None:
    claimed = getattr(factory, "claimed", None)
    if not (claimed is None or isinstance(claimed, EpsilonDelta)):
        raise InvalidInput(f"policy {name!r} must have an EpsilonDelta or None as claimed, got {checks.shown(claimed)}")
