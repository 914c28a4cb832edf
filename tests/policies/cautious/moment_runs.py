"""Learners of policy cautious with little in their way: rules of a small product, wild records, sums without noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushprice.noise import NoiseSource, System, Tape
from hushprice.policies.cautious.pricing.shop_model import ShopModel
from hushprice.policies.cautious.private.learner import CautiousLearner
from hushprice.policies.cautious.rules import CautiousRules, cautious
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.types import FloatArray

TAPE = Tape(3, 0)
CLAIMED = EpsilonDelta(1.0, 1e-6)


class Silent(System):
    """The system's noise, left out."""

    def integers(self, scale: float, count: int) -> list[int]:
        return [0] * count

    laplace_integers = integers


def rules(
    contexts: int = 2, *, level: float = -3.9, adjacency: Adjacency = Adjacency.REPLACE_ONE, drawn: bool = True
) -> CautiousRules:
    model = ShopModel(contexts=contexts, margin=5.0, level=level, response=0.2, lowest=-1.0, highest=1.0)
    return cautious(CLAIMED, model=model, risk=0.02, horizon=1000, adjacency=adjacency, drawn=drawn)


def learner(contexts: int = 2, *, choice: int = 1, source: NoiseSource = TAPE, **given: Any) -> CautiousLearner:
    return CautiousLearner(rules=rules(contexts, **given), source=source, choice=choice)


def wild(random: np.random.Generator, count: int, contexts: int) -> tuple[FloatArray, ...]:
    """Contexts, prices, coins, demands and who is in the holdout, some far out of all bounds."""
    scale = random.choice([0.3, 1.0, 5.0, 1e200], size=count)
    return (
        scale[:, None] * random.normal(size=(count, contexts)),
        scale * random.normal(size=count),
        random.choice([-1.0, 1.0], size=count),
        random.choice([0.0, 0.3, 1.0, -1e200, 1e200], size=count),
        random.random(count) < 0.3,
    )


def belief(random: np.random.Generator, contexts: int) -> FloatArray:
    return np.asarray(random.choice([0.0, 1.0, 100.0]) * random.normal(size=2 * contexts + 2))
