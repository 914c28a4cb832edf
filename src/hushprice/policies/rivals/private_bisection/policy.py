"""Which of L equal ranges holds the best price, then the same search in all of them at once, one of them meant.

The source's learner asks "is the value at least q?" and hears the truth. Here a question is which of two prices earns
more, and its answer is the average of many customers.
"""

from __future__ import annotations

import numpy as np

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, unprotected
from hushprice.types import FloatArray, IntArray

READS: dict[str, tuple[str, ...]] = {"private-bisection": ()}
COPIES = 4  # L: who sees every price, and no answer, is right with chance 1/L
ROUNDS = 4  # of the search in a range, each of which leaves two thirds of it
SHARE = 0.2  # of the customers are asked
_THIRDS = np.array([1.0, 2.0]) / 3.0


class Bisection:
    """One price for everybody. `copies` = 1 is the search that hides nothing."""

    def __init__(self, frame: Frame, rng: np.random.Generator, *, copies: int = COPIES) -> None:
        self._frame, self._copies = frame, copies
        self._wide = (frame.highest - frame.lowest) / copies
        stages = ROUNDS + (copies > 1)
        self._each = max(1, int(SHARE * frame.horizon) // (stages * 2 * copies))  # customers a price
        self.range = 0  # which one is meant, once it is known
        self._low, self._high = 0.0, 1.0  # of the search, as shares of a range
        self._round, self._at = 0 if copies > 1 else 1, 0
        self.kept: float | None = None
        self._ask()

    def _ask(self) -> None:
        """The prices of this round, the same places in every range."""
        places = self._low + (self._high - self._low) * _THIRDS
        starts = self._frame.lowest + self._wide * np.arange(self._copies)
        self.asked: FloatArray = (starts[:, None] + self._wide * places).ravel()
        self._sold, self._at = np.zeros(self.asked.size), 0

    @property
    def due(self) -> int:
        return self._each * self.asked.size - self._at if self.kept is None else 2**62

    def prices(self, customers: Customers) -> FloatArray:
        if self.kept is not None:
            return np.full(customers.size, self.kept)
        return np.asarray(self.asked[self._places(customers.size)])

    def _places(self, count: int) -> IntArray:
        return np.asarray((self._at + np.arange(count)) % self.asked.size)

    def learn(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        if self.kept is not None:
            return
        np.add.at(self._sold, self._places(len(demands)), demands)
        self._at += len(demands)
        if self._at == self._each * self.asked.size:
            self._answer((self._frame.margin + self.asked) * self._sold)

    def _answer(self, earned: FloatArray) -> None:
        if self._round == 0:
            self.range = int(np.argmax(earned.reshape(self._copies, 2).sum(axis=1)))
        else:
            left, right = earned.reshape(self._copies, 2)[self.range]
            third = (self._high - self._low) / 3.0
            self._low, self._high = (self._low, self._high - third) if left > right else (self._low + third, self._high)
        self._round += 1
        if self._round <= ROUNDS:
            self._ask()
        else:
            middle = 0.5 * (self._low + self._high)
            self.kept = float(self._frame.lowest + self._wide * (self.range + middle))


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    return unprotected(asked, frame, Bisection)
