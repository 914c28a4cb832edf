"""Every policy by name: building it, refusing what it does not read, finding the files of its folder."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping
from types import ModuleType
from typing import Any

from hushprice import checks
from hushprice.demand.features import FeatureMap
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput, first_line
from hushprice.policies import FOR_PRODUCTS, POLICIES
from hushprice.policies.protocol import PlainPolicy, Policy, Setting, part_of
from hushprice.policies.rival_parts import rival_policy
from hushprice.privacy.budget import EpsilonDelta
from hushprice.settings import PolicySettings

NAMES = tuple(name for name in POLICIES if name not in FOR_PRODUCTS)  # that a market can be simulated with

PlainFactory = Callable[[Setting], PlainPolicy]


def build(settings: PolicySettings, demand: Demand, features: FeatureMap) -> Policy:
    """The policy of that name. What is given and it does not read is refused, not ignored."""
    check_name(settings.policy)
    check_read(settings)
    module = _module(settings.policy)
    if _is_rival(module):
        return rival_policy.built(module.rival, settings, demand, features)
    policy: Policy = module.build(settings, demand, features)
    return policy


def check_name(name: object) -> None:
    """Refuse a name that is not in the list."""
    if name not in POLICIES:
        raise InvalidInput(f"policy must be one of {', '.join(POLICIES)}, or module:Class, got {name!r}")


def reads(name: str) -> tuple[str, ...]:
    """The settings that the policy reads, besides its budget. One of the user's own reads the budget alone."""
    own: tuple[str, ...] = _module(name).READS[name] if name in POLICIES else ()
    return own


def kernel_of(name: str) -> str | None:
    """What Policy.kernel will be, before the policy is built; None where trials run in plain Python alone."""
    if name not in POLICIES:
        return None
    module = _module(name)
    return rival_policy.KERNEL if _is_rival(module) else getattr(module, "KERNEL", None)


def check_read(settings: PolicySettings) -> None:
    """Refuse what is given and the policy does not read."""
    known = reads(settings.policy)
    for option, value in settings.given.items():
        if option not in known:
            raise InvalidInput(f"{option} is for {_readers(option)}, got {value!r} for policy {settings.policy!r}")


def read_by(policy: str, asked: Mapping[str, Any], policies: Collection[str]) -> dict[str, Any]:
    """The part of settings for several policies that is for this one: what another of them reads is left to it."""
    others = {option for other in policies for option in reads(other)} - set(reads(policy))
    return {name: value for name, value in asked.items() if name not in others}


def saved_form(name: str) -> ModuleType:
    """The `saved.py` of a policy's folder."""
    return _part(name, "saved")


def statements(name: str) -> ModuleType:
    """The `statements.py` of a policy's folder: what its certificates say."""
    return _part(name, "statements")


def _part(name: str, file: str) -> ModuleType:
    """A file of a policy's folder; rivals share theirs."""
    check_name(name)
    module = rival_policy.__name__ if ".rivals." in POLICIES[name] else POLICIES[name]
    return part_of(module.rpartition(".")[0], file, name)


def _readers(option: str) -> str:
    names = [f"'{name}'" for name in POLICIES if option in reads(name)]
    return f"policy {names[0]}" if len(names) == 1 else f"policies {', '.join(names[:-1])} and {names[-1]}"


def _module(name: str) -> Any:
    return importlib.import_module(POLICIES[name])


def _is_rival(module: Any) -> bool:
    """Rivals are made for a frame, all by the same steps; each has `rival` in the place of `build`."""
    return hasattr(module, "rival")


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
