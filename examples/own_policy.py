"""A policy of your own: ask two prices either side of the middle, drop the worse end of the interval, repeat.

It never looks at the context and keeps exact sums, so it claims nothing: tables say NOT PRIVATE.

Run: python examples/own_policy.py
 or: PYTHONPATH=examples hushprice simulate --policy own_policy:HalfwayPolicy --horizon 2e4 --trials 4
"""

from hushprice import simulate
from hushprice.policies.protocol import Setting
from hushprice.types import FloatArray


class HalfwayPolicy:
    """Ask a quarter and three quarters up the interval in turn; after a round, drop what lies beyond the worse one."""

    def __init__(self, setting: Setting) -> None:
        self.low, self.high = 0.0, 1.0
        self.round = max(2, setting.horizon // 200)  # customers in the first round; each later round is twice as long
        self.asked = 0
        self.earned = [0.0, 0.0]  # by the lower and the upper price

    def price(self, context: FloatArray) -> float:
        """Public knowledge and what was learned so far decide; the customer's own context would be allowed too."""
        share = 0.25 if self.asked % 2 == 0 else 0.75
        return self.low + share * (self.high - self.low)

    def learn(self, context: FloatArray, price: float, demand: float) -> None:
        """One customer's answer; at the end of a round, a smaller interval."""
        self.earned[self.asked % 2] += price * demand
        self.asked += 1
        if self.asked == self.round:
            quarter = (self.high - self.low) / 4.0
            if self.earned[0] >= self.earned[1]:
                self.high -= quarter
            else:
                self.low += quarter
            self.round, self.asked, self.earned = 2 * self.round, 0, [0.0, 0.0]


def main() -> None:
    """Simulate it beside two yardsticks."""
    horizon = 10_000
    for policy in (HalfwayPolicy, "random", "fixed"):
        result = simulate(policy, horizon=horizon, dimension=2, trials=3, seed=5)
        name = "best fixed price" if result.hindsight else result.policy
        privacy = "NOT PRIVATE" if result.claimed is None else "reads no customer"
        print(f"{name:16} loses {1e4 * result.regret.mean():6.1f}e-4 per customer   {privacy}")


if __name__ == "__main__":
    main()
