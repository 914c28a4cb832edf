"""Simulated shoppers of a product file: who comes, what they would do at a price, and which prices were best.

Run: python examples/shoppers.py
"""

from pathlib import Path

import numpy as np

from hushprice import load_product, load_world
from hushprice.demand.schema import Boolean, Number

FOLDER = Path(__file__).parent
SEED = 7  # of the shoppers alone: the service's noise is real, so that every run ends differently

Attributes = dict[str, str | bool | float]


class Shoppers:
    """Those of a file with a product and its world. What they would do, no shop knows."""

    def __init__(self, file: Path) -> None:
        self.product = load_product(file)
        assert self.product.schema is not None
        self.schema = self.product.schema
        self._world = load_world(file, self.product)
        self._draw = np.random.default_rng(SEED)
        self._came = 0

    def arrive(self, count: int) -> np.ndarray:
        """The contexts of the next ones, a row each."""
        self._came += count
        return np.asarray(self._world.contexts(self._came - count, count, self._draw))

    def attributes(self, context: np.ndarray) -> Attributes:
        """What the shop sees of one: the schema's encoding, read backwards."""
        told: Attributes = {}
        entries = iter(context.tolist())
        for each in self.schema.attributes:
            values = [next(entries) for _ in each.entries]
            if isinstance(each, Number):
                told[each.name] = each.low + 0.5 * (values[0] + 1.0) * (each.high - each.low)
            elif isinstance(each, Boolean):
                told[each.name] = values[0] > 0.0
            else:
                told[each.name] = each.levels[1 + values.index(1.0) if 1.0 in values else 0]
        return told

    def buy(self, contexts: np.ndarray, prices: np.ndarray) -> np.ndarray:
        """Who does, by chance."""
        return self._draw.random(len(prices)) < self._world.probabilities(0, contexts, prices)

    def earned(self, contexts: np.ndarray, prices: np.ndarray | float) -> np.ndarray:
        """What each is expected to bring at a price, after cost."""
        asked = np.broadcast_to(prices, len(contexts))
        return (asked - self.product.unit_cost) * self._world.probabilities(0, contexts, asked)

    def best(self, contexts: np.ndarray) -> tuple[float, float]:
        """What the best single price and the best personal prices earn of them, as shares of staying at today's."""
        prices = np.linspace(self.product.floor, self.product.ceiling, 141)
        table = np.array([self.earned(contexts, price) for price in prices])
        staying = self.earned(contexts, self.product.reference_price).mean()
        return float(table.mean(axis=1).max() / staying), float(table.max(axis=0).mean() / staying)


if __name__ == "__main__":
    for name in ("few_buy", "half_buy"):
        shoppers = Shoppers(FOLDER / f"{name}.toml")
        contexts = shoppers.arrive(2000)
        for context in contexts[:3]:
            print(f"{name}: {shoppers.attributes(context)}")
        single, personal = shoppers.best(contexts)
        print(f"{name}: the best single price earns {single:.3f} of today's, the best personal prices {personal:.3f}")
