"""Vowpal Wabbit: contextual bandit over the grid of prices (SquareCB), and CATS over the interval of prices."""

from __future__ import annotations

import random

import vowpalwabbit
from driver import Entry, main
from instance import GRID, grid

SQUARE = "--cb_explore_adf --squarecb --cb_type mtr -q UA -q AA --quiet"
CATS = "--cats 32 --bandwidth 0.05 --min_value 0 --max_value 1 --epsilon 0.05 --quiet"


class SquareCB:
    """One line a price; its features are the price and which price it is, crossed with the context and each other."""

    def __init__(self, options: str, seed: int) -> None:
        self.workspace = vowpalwabbit.Workspace(options)
        self.prices = [float(price) for price in grid()]
        self.actions = [f"|A p:{price} k_{i}:1" for i, price in enumerate(self.prices)]
        self.random = random.Random(seed)
        self.shared, self.chosen, self.chance = "", 0, 1.0

    def price(self, x: list[float]) -> float:
        self.shared = "shared |U " + " ".join(f"x{j}:{value}" for j, value in enumerate(x))
        chances = self.workspace.predict([self.shared, *self.actions])
        self.chosen = self.random.choices(range(GRID), weights=chances)[0]
        self.chance = chances[self.chosen] / sum(chances)
        return self.prices[self.chosen]

    def learn(self, x: list[float], price: float, bought: int) -> None:
        lines = [self.shared, *self.actions]
        lines[1 + self.chosen] = f"0:{-price * bought}:{self.chance} {self.actions[self.chosen]}"
        self.workspace.learn(lines)


class Cats:
    """A tree of 32 price cells, smoothed; the library draws the price itself."""

    def __init__(self, options: str, seed: int) -> None:
        self.workspace = vowpalwabbit.Workspace(f"{options} --random_seed {seed + 1}")
        self.line, self.density = "", 1.0

    def price(self, x: list[float]) -> float:
        self.line = "|U " + " ".join(f"x{j}:{value}" for j, value in enumerate(x))
        price, self.density = self.workspace.predict("ca " + self.line)
        return float(price)

    def learn(self, x: list[float], price: float, bought: int) -> None:
        self.workspace.learn(f"ca {price}:{-price * bought}:{self.density} {self.line}")


ENTRIES = {
    "SquareCB": Entry(f"defaults: {SQUARE}", lambda k, seed: SquareCB(SQUARE, seed)),
    "SquareCB, greedier": Entry(
        f"{SQUARE} --gamma_scale 1000", lambda k, seed: SquareCB(f"{SQUARE} --gamma_scale 1000", seed)
    ),
    "CATS": Entry(CATS, lambda k, seed: Cats(CATS, seed)),
}

if __name__ == "__main__":
    main(ENTRIES)
