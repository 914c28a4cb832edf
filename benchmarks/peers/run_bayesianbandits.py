"""bayesianbandits: one Bayesian logistic model of the purchase in context and price; the reward is price times it."""

from __future__ import annotations

from typing import Any

import numpy as np
from bayesianbandits import (
    Arm,
    ArmColumnFeaturizer,
    BayesianGLM,
    LipschitzContextualAgent,
    ThompsonSampling,
    UpperConfidenceBound,
)
from driver import Entry, main
from instance import grid


def revenue_at(price: float) -> Any:
    """Samples of the purchase probability to samples of revenue."""
    return lambda samples: samples * price


class Logistic:
    """Learns from the purchase and not from revenue, so its model is the market's own: logistic in (x, price)."""

    def __init__(self, policy: Any, seed: int) -> None:
        arms = [Arm(float(price), reward_function=revenue_at(float(price))) for price in grid()]
        self.agent = LipschitzContextualAgent(
            arms, policy, ArmColumnFeaturizer("price"), BayesianGLM(link="logit"), random_seed=seed
        )

    def price(self, x: list[float]) -> float:
        (price,) = self.agent.pull(np.array([x]))
        return float(price)

    def learn(self, x: list[float], price: float, bought: int) -> None:
        self.agent.select_for_update(price).update(np.array([x]), np.array([bought]))


ENTRIES = {
    "logistic Thompson": Entry(
        'ThompsonSampling(), BayesianGLM(link="logit")',
        lambda k, seed: Logistic(ThompsonSampling(), seed),
        worth=500.0,  # the peer that is told as much as ours, so the long run is made though it is slow
    ),
    "logistic UCB": Entry(
        'UpperConfidenceBound(0.95), BayesianGLM(link="logit")',
        lambda k, seed: Logistic(UpperConfidenceBound(0.95), seed),
    ),
}

if __name__ == "__main__":
    main(ENTRIES)
