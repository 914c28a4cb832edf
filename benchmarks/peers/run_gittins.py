"""gittins: the price is a feature of each candidate; one shared model, its own exploration."""

from __future__ import annotations

import gittins
from driver import Entry, main
from instance import grid


class Gittins:
    """Every decision is resolved at once, one second after the last."""

    def __init__(self) -> None:
        self.state = gittins.create(bits=12, horizon=3600.0)
        self.prices = [float(price) for price in grid()]
        self.candidates = [(f"p_{i}", {"price": price, "arm": f"k_{i}"}) for i, price in enumerate(self.prices)]
        self.now, self.open = 0.0, ""

    def price(self, x: list[float]) -> float:
        self.now += 1.0
        context = {f"x{j}": value for j, value in enumerate(x)}
        record = gittins.decide(self.state, context, self.candidates, self.now, "peers")
        self.open = record.decision_id
        return self.prices[record.chosen]

    def learn(self, x: list[float], price: float, bought: int) -> None:
        gittins.learn(self.state, self.open, price * bought, self.now)


ENTRIES = {"defaults": Entry("create(bits=12, horizon=3600); price and arm as features", lambda k, seed: Gittins())}

if __name__ == "__main__":
    main(ENTRIES)
