"""Simulated shoppers with a demand that only this file knows: who comes, what they would pay, which price is best.

The market was chosen so that a few thousand visits show something. It shows the service at work, and measures nothing.

Run: python examples/shoppers.py
"""

from typing import NamedTuple

import numpy as np

from hushprice.demand.families import Logistic
from hushprice.demand.features import with_intercept
from hushprice.demand.schema import Boolean, Category, Number, Schema

CEILING = 40.0  # EUR; the highest price the shop would ever ask
SLOPE = 10.0  # how steep demand can be. Declared to the service, like everything but THETA
SCHEMA = Schema(
    attributes=(
        Number(name="age", low=18, high=90),
        Category(name="region", levels=("city", "country")),
        Boolean(name="member"),
        Number(name="cart", low=0, high=150),  # what else is in it, EUR
    )
)
THETA = np.array([0.42, 0.20, -0.15, 0.22, 0.35, 0.76])  # intercept, the four attributes, price: the shop's secret
FEATURES = with_intercept(SCHEMA.dimension)
PRICES = np.linspace(0.0, CEILING, 801)

Attributes = dict[str, str | bool | int | float]


class Shopper(NamedTuple):
    """Who comes, how likely they buy at each of PRICES, and their luck: they buy where demand is above it."""

    attributes: Attributes
    demand: np.ndarray
    luck: float

    def chance(self, price: float) -> float:
        """Of a sale at this price."""
        return float(np.interp(price, PRICES, self.demand))

    @property
    def best_price(self) -> float:
        """What someone who knows THETA would ask."""
        return float(PRICES[np.argmax(PRICES * self.demand)])


def shopper(attributes: Attributes, luck: float = 0.5) -> Shopper:
    """One with these attributes."""
    u, v = FEATURES.parts(SCHEMA.encode(attributes).context)
    return Shopper(attributes, Logistic(slope=SLOPE).mean(u @ THETA + PRICES / CEILING * (v @ THETA)), luck)


def arrive(number: int, seed: int) -> Shopper:
    """The shopper of that number: the same one in every run with this seed."""
    draw = np.random.default_rng([seed, number])
    return shopper(
        {
            "age": int(np.clip(draw.normal(45, 16), 18, 90)),
            "region": "country" if draw.random() < 0.4 else "city",
            "member": bool(draw.random() < 0.35),
            "cart": round(min(150.0, draw.gamma(2.0, 38.0)), 2),
        },
        luck=draw.random(),
    )


if __name__ == "__main__":
    for each in (arrive(number, seed=0) for number in range(8)):
        print(
            f"{each.attributes}: best price {each.best_price:5.2f}, bought there by {each.chance(each.best_price):.0%}"
        )
