"""A demand family of your own: every customer buys zero, one or two units.

Any law of the form exp{slope (y z - m(z)) + h(y)} will do (eq:exp-family). Write its functions and declare its
constants; `violations` compares the two. It runs on the plain-Python engine.

Run: python examples/own_demand_family.py
"""

import math

import numpy as np

from hushprice import Market, simulate
from hushprice.demand.conformance import violations
from hushprice.demand.family import CUSTOM
from hushprice.demand.features import main_effects
from hushprice.types import FloatArray


class TwoUnits:
    """Two independent decisions, each a purchase with probability 1 / (1 + e^(-slope z))."""

    name = "two units"
    family = CUSTOM
    slope = 2.0
    bound = 2.0  # B_Y: the most a customer can buy. Noise is sized by it, and records are clipped to it
    lowest = 0.0  # the least; records are clipped to [lowest, bound]
    scale = 2.0  # G: the slope lies in [1/G, G]
    subgaussian = math.sqrt(0.5)  # two independent variables on an interval of length 1
    curvature = (1 + math.cosh(2 * slope)) / slope  # K: 1/K <= f' <= K for |z| <= 2
    steepest = slope / 2  # the largest f' for |z| <= 2: what one record can add to the likelihood's curvature
    paper_curvature = curvature  # the paper has no example of this family
    largest_revenue = 2.0  # two units at the top price

    def mean(self, z: FloatArray) -> FloatArray:
        return 2.0 / (1.0 + np.exp(-self.slope * z))

    def mean_slope(self, z: FloatArray) -> FloatArray:
        chance = self.mean(z) / 2.0
        return 2.0 * self.slope * chance * (1.0 - chance)

    def log_partition(self, z: FloatArray) -> FloatArray:
        return np.asarray(2.0 / self.slope * np.logaddexp(0.0, self.slope * z))

    def log_base(self, y: FloatArray) -> FloatArray:
        return np.where(y == 1.0, math.log(2.0), np.where((y == 0.0) | (y == 2.0), 0.0, -np.inf))

    def log_likelihood(self, y: FloatArray, z: FloatArray) -> FloatArray:
        return self.slope * (y * z - self.log_partition(z)) + self.log_base(y)

    def sample(self, z: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        chance = self.mean(z) / 2.0
        return (first < chance).astype(np.float64) + (second < chance)


class Careless(TwoUnits):
    """Declares that nobody buys more than one. Noise sized for that would protect too little."""

    bound = 1.0


def main() -> None:
    """Check the declarations, then price for this demand."""
    print("TwoUnits breaks its word:", violations(TwoUnits()) or "nowhere")
    print("Careless breaks its word:", *violations(Careless()))
    market = Market(demand=TwoUnits(), features=main_effects(1), theta=np.array([0.4, 0.9]), name="two units")
    for policy in ("clairvoyant", "nonprivate", "random"):
        result = simulate(policy, market=market, horizon=1500, trials=2, seed=3, engine="python")
        print(f"{policy:12} earns {result.revenue.mean():.3f} per customer, loses {result.regret.mean():.3f}")


if __name__ == "__main__":
    main()
