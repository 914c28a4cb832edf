"""river: LinUCB with a linear model of its own for every price."""

from __future__ import annotations

from driver import Entry, main
from instance import GRID, grid
from river import bandit


class LinUCB:
    """Arms are numbers; the context has a constant beside x."""

    def __init__(self, seed: int) -> None:
        self.policy = bandit.LinUCBDisjoint(seed=seed)
        self.prices = [float(price) for price in grid()]
        self.arms = list(range(GRID))
        self.arm, self.context = 0, {"one": 1.0}

    def price(self, x: list[float]) -> float:
        self.context = {"one": 1.0, **{f"x{j}": value for j, value in enumerate(x)}}
        self.arm = self.policy.pull(self.arms, context=self.context)
        return self.prices[self.arm]

    def learn(self, x: list[float], price: float, bought: int) -> None:
        self.policy.update(self.arm, self.context, price * bought)


ENTRIES = {
    "LinUCB": Entry(
        "LinUCBDisjoint(), all defaults; context [1, x]",
        lambda k, seed: LinUCB(seed),
        worth=500.0,  # its speed is near the usual mark, and chance would decide whether the long run is made
    )
}

if __name__ == "__main__":
    main(ENTRIES)
