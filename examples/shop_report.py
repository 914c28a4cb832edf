"""What comes of a simulated shop, a line a batch, and one sentence at the end. For examples/shop.py, which plays it.

Run: python examples/shop_report.py (explains the columns)
"""

from typing import Any

import numpy as np
from shoppers import Shoppers

PROMISED = 1000  # visitors, after whom `risk` holds
_HEAD = f"{'visitors':>9}  {'members pay':>11}  {'others pay':>10}  {'lowest-highest':>14}  {'bought':>6}  of staying"


class Diary:
    """What a shop earned, as its shoppers were truly likely to buy: luck is left out, and no shop could know it."""

    def __init__(self, shoppers: Shoppers) -> None:
        self._shoppers = shoppers
        self._today = shoppers.product.reference_price
        self._contexts: list[np.ndarray] = []
        self._earned: list[np.ndarray] = []
        self._staying: list[np.ndarray] = []
        print(f"{_HEAD}\n{0:>9}  {self._today:>11.2f}  {self._today:>10.2f}")

    def add(self, contexts: np.ndarray, prices: np.ndarray, bought: np.ndarray) -> None:
        """A batch of visitors: print what they paid, and how the shop stands."""
        self._contexts.append(contexts)
        self._earned.append(self._shoppers.earned(contexts, prices))
        self._staying.append(self._shoppers.earned(contexts, self._today))
        member = contexts[:, self._shoppers.schema.names.index("member")] > 0.0
        shares = self._shares()
        print(
            f"{len(shares):>9,}  {prices[member].mean():>11.2f}  {prices[~member].mean():>10.2f}  "
            f"{prices.min():>7.2f}-{prices.max():<6.2f}  {bought.mean():>6.1%}  {shares[-1] - 1.0:>+10.2%}",
            flush=True,
        )

    def _shares(self) -> np.ndarray:
        """What was earned up to each visitor, as a share of what staying at today's price would have earned."""
        return np.asarray(np.cumsum(np.concatenate(self._earned)) / np.cumsum(np.concatenate(self._staying)))

    def summary(self, name: str, privacy: dict[str, Any]) -> str:
        """What was gained and what it cost; then, how far that is from what could be."""
        shares, earned, staying = self._shares(), np.concatenate(self._earned), np.concatenate(self._staying)
        gain, euros, fifth = shares[-1] - 1.0, (earned - staying).sum(), len(shares) // 5
        behind = max(0.0, 1.0 - shares[min(PROMISED, len(shares)) - 1 :].min())
        verdict = "" if gain > 0.0 else " It has not paid yet."
        best = self._shoppers.best(np.concatenate(self._contexts)[-fifth:])
        single, personal = (f"{share - 1.0:+.1%}" for share in best)
        return (
            f"{name}: {abs(gain):.1%} {'more' if gain > 0.0 else 'less'} was earned from {len(shares):,} visitors than "
            f"{self._today:.2f} for everybody would have earned ({euros:+,.0f} EUR), after {behind:.1%} less at the "
            f"worst moment (risk {self._shoppers.product.risk:.0%}), and it cost privacy of epsilon "
            f"{privacy['spent']['epsilon']:.3g} of {privacy['claimed']['epsilon']:g} promised, in "
            f"{privacy['releases']} releases.{verdict}\n"
            f"The last fifth earned {earned[-fifth:].sum() / staying[-fifth:].sum() - 1.0:+.1%}. Possible there, were "
            f"demand known: {single} with one price, {personal} with personal prices."
        )


if __name__ == "__main__":
    print("Members pay, others pay: mean prices in this batch. Lowest-highest: of all prices asked in it.")
    print("Bought: the share of visitors who did. Of staying: earned so far, against today's price for everybody.")
