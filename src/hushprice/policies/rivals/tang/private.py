"""The side that reads outcomes: prefix sums of vectors by a binary tree, with noise of density e^(-|b| / scale)."""

from __future__ import annotations

import numpy as np

from hushprice.types import FloatArray


class VectorTree:
    """Noise of a node is drawn when a release first needs it, and kept while it may be needed again."""

    def __init__(self, dimension: int, scale: float, rng: np.random.Generator) -> None:
        self._scale, self._rng = scale, rng
        self._sum, self._count = np.zeros(dimension), 0  # sensitive: the first
        self._drawn: dict[tuple[int, int], FloatArray] = {}

    def absorb(self, vectors: FloatArray) -> None:
        """Add these rows, a leaf each."""
        self._sum += vectors.sum(axis=0)
        self._count += len(vectors)

    def release(self) -> FloatArray:
        """The sum so far with the noise of the nodes that it is made of."""
        nodes = nodes_of(self._count)
        self._drawn = {node: self._drawn[node] if node in self._drawn else self._noise() for node in nodes}
        return self._sum + sum(self._drawn.values())

    def _noise(self) -> FloatArray:
        way = self._rng.standard_normal(self._sum.size)
        length = self._rng.gamma(self._sum.size, self._scale) if self._scale > 0.0 else 0.0
        return np.asarray(way / np.linalg.norm(way) * length)

    def __repr__(self) -> str:
        return "VectorTree(<sensitive>)"


def nodes_of(count: int) -> list[tuple[int, int]]:
    """(level, number) of the nodes that make up the first `count` leaves."""
    return [(level, count >> level) for level in range(count.bit_length()) if (count >> level) & 1]
