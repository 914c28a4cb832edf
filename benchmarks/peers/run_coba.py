"""coba: LinUCB on one linear model of revenue in price, squared price and context."""

from __future__ import annotations

from coba.learners import LinUCBLearner
from driver import Entry, main
from instance import grid

FEATURES = [1, "a", "x", "aa", "ax", "aax"]


class LinUCB:
    """The action is its price."""

    def __init__(self, alpha: float, seed: int) -> None:
        self.learner = LinUCBLearner(alpha=alpha, features=FEATURES, seed=seed + 1)
        self.actions = [(float(price),) for price in grid()]
        self.chance = 1.0

    def price(self, x: list[float]) -> float:
        action, self.chance = self.learner.predict(x, self.actions)[:2]
        return float(action[0])

    def learn(self, x: list[float], price: float, bought: int) -> None:
        self.learner.learn(x, (price,), price * bought, self.chance)


ENTRIES = {
    "LinUCB": Entry(f"LinUCBLearner(alpha=1 (default), features={FEATURES})", lambda k, seed: LinUCB(1.0, seed)),
    "LinUCB, greedier": Entry(f"LinUCBLearner(alpha=0.3, features={FEATURES})", lambda k, seed: LinUCB(0.3, seed)),
}

if __name__ == "__main__":
    main(ENTRIES)
