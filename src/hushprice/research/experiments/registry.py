"""Every experiment by its LaTeX label, in the order in which `all` runs them: the quick tables first."""

from __future__ import annotations

from collections.abc import Sequence

from hushprice.errors import InvalidInput
from hushprice.research.experiments.consumer_surplus import ConsumerSurplus
from hushprice.research.experiments.experiment import Experiment
from hushprice.research.experiments.input_perturbation import InputPerturbation
from hushprice.research.experiments.price_of_privacy import PriceOfPrivacy
from hushprice.research.experiments.regret_over_delta import RegretOverDelta
from hushprice.research.experiments.regret_over_epsilon import RegretOverEpsilon
from hushprice.research.experiments.regret_over_horizon import RegretOverHorizon
from hushprice.research.experiments.uneven_epsilons import UnevenEpsilons

EXPERIMENTS: tuple[Experiment, ...] = (
    PriceOfPrivacy(),
    UnevenEpsilons(),
    InputPerturbation(),
    RegretOverHorizon(),
    RegretOverEpsilon(),
    ConsumerSurplus(),
    RegretOverDelta(),
)
ALL = "all"


def chosen(names: Sequence[str]) -> list[Experiment]:
    """The experiments of those names, with or without the LaTeX prefix, in the registry's order.

    >>> [each.label for each in chosen(["surplus", "tab:diffeps", "fig:surplus"])]
    ['tab:diffeps', 'fig:surplus']
    """
    labels = {alias: each.label for each in EXPERIMENTS for alias in (each.label, each.name)}
    for name in names:
        if name not in labels and name != ALL:
            known = ", ".join((*(each.label for each in EXPERIMENTS), ALL))
            raise InvalidInput(f"experiment must be one of {known}, got {name!r}")
    if not names:
        raise InvalidInput("experiment must be named, or 'all'")
    wanted = {labels[name] for name in names if name != ALL}
    return [each for each in EXPERIMENTS if ALL in names or each.label in wanted]
