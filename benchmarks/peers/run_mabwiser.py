"""MABWiser: LinUCB with a ridge regression of its own for every price."""

from __future__ import annotations

from driver import Entry, main
from instance import grid
from mabwiser.mab import MAB, LearningPolicy


class LinUCB:
    """The library wants one `fit` before the first prediction: one made-up record of a zero context and no revenue."""

    def __init__(self, alpha: float, k: int, seed: int) -> None:
        prices = [float(price) for price in grid()]
        self.bandit = MAB(prices, LearningPolicy.LinUCB(alpha=alpha), seed=seed)
        self.bandit.fit([prices[0]], [0.0], [[0.0] * (k + 1)])

    def price(self, x: list[float]) -> float:
        return float(self.bandit.predict([[1.0, *x]]))

    def learn(self, x: list[float], price: float, bought: int) -> None:
        self.bandit.partial_fit([price], [price * bought], [[1.0, *x]])


ENTRIES = {
    "LinUCB": Entry("LinUCB(alpha=1 (default)); context [1, x]", lambda k, seed: LinUCB(1.0, k, seed)),
    "LinUCB, greedier": Entry("LinUCB(alpha=0.3); context [1, x]", lambda k, seed: LinUCB(0.3, k, seed)),
}

if __name__ == "__main__":
    main(ENTRIES)
