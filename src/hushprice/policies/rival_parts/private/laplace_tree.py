"""The side that reads records: a binary tree of sales for each price, with Laplace noise on every node."""

from __future__ import annotations

import math

import numpy as np

from hushprice.policies.rival_parts.private.arithmetic import Source, arithmetic_of
from hushprice.privacy.events import LaplaceSums
from hushprice.types import FloatArray


class LaplaceTree:
    """Noisy sums of the sales at one price, after any number of them; a sale is in one node of each level.

    A node's noise is drawn once, when the node closes (docs/proofs/pure.md, 1).
    """

    def __init__(self, event: LaplaceSums | None, levels: int, source: Source) -> None:
        self._scale, self._arithmetic = 0.0 if event is None else event.scale, arithmetic_of(event, source)
        self._exact, self._noisy = [0] * levels, [0.0] * levels  # sensitive: the first
        self._count, self.newest = 0, 0.0  # the node that closed last, with its noise: all there is to publish

    def absorb(self, sales: FloatArray) -> None:
        """Take these sales, each held to [0, 1]; what cannot be read counts as none."""
        held = np.where(np.isfinite(sales), np.clip(sales, 0.0, 1.0), 0.0)
        numbers, drawn = self._arithmetic, self._arithmetic.laplace(held.size, self._scale)
        for sold, noise in zip(numbers.exact(held).tolist(), drawn, strict=True):
            self._count += 1
            level = (self._count & -self._count).bit_length() - 1
            node = sold + numbers.add(self._exact[:level])
            self.newest = numbers.publish(node, noise, self._scale)
            self._exact[level], self._noisy[level] = node, self.newest
            for below in range(level):
                self._exact[below], self._noisy[below] = 0, 0.0

    def release(self) -> float:
        """The noisy sum so far. Asking again tells nothing new."""
        return math.fsum(self._noisy)

    def __repr__(self) -> str:
        return "LaplaceTree(<sensitive>)"
